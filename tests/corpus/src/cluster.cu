// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_90
// Thread block clusters: distributed shared memory through cooperative groups and through mapa/ld.shared::cluster.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_exchange(const int *in, int *out)
{
    __shared__ int box[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    box[t] = in[i];
    cluster.sync();
    int *other = cluster.map_shared_rank(box, cluster.block_rank() ^ 1);
    out[i] = other[t] * 2 + cluster.block_rank();
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned part[64];
    cg::cluster_group cluster = cg::this_cluster();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        part[b] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = in[i], owner = bin / 64;
        atomicAdd(cluster.map_shared_rank(part, owner) + bin % 64, 1u);
    }
    cluster.sync();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * 64 + b], part[b]);
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_assembly(unsigned *out)
{
    __shared__ unsigned word[32];
    unsigned here = (unsigned)__cvta_generic_to_shared(&word[threadIdx.x]), remote, rank, value;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    word[threadIdx.x] = rank * 1000 + threadIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(here), "r"((rank + 1) & 3));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    unsigned linear = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    out[linear] = value;
}
