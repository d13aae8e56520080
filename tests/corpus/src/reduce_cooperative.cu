// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// The same reductions written with cooperative groups.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void group_sum(const int *in, int *out, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        v += in[i];
    v = cg::reduce(tile, v, cg::plus<int>());
    if (tile.thread_rank() == 0)
        atomicAdd(out, v);
}

extern "C" __global__ void group_scan(const unsigned *in, unsigned *out)
{
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = cg::inclusive_scan(tile, in[i]) + tile.meta_group_rank();
}

extern "C" __global__ void coalesced_count(const int *in, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(count, active.size());
    }
}

extern "C" __global__ void labeled_minimum(const int *keys, const int *values, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto group = cg::labeled_partition(tile, keys[i]);
    out[i] = cg::reduce(group, values[i], cg::less<int>()) * 32 + group.size();
}

extern "C" __global__ void grid_sync_average(float *data, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 4; ++round) {
        for (int i = grid.thread_rank(); i + 1 < n; i += grid.size())
            if ((i & 1) == (round & 1))
                data[i] = data[i + 1] = 0.5f * (data[i] + data[i + 1]);
        grid.sync();
    }
}
