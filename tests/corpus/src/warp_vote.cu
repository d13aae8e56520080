// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Votes, matches, active masks, warp-aggregated atomics, elections, warp-level compaction.

extern "C" __global__ void votes(const int *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    unsigned ballot = __ballot_sync(~0u, v > 0);
    int all = __all_sync(~0u, v > -100), any = __any_sync(~0u, v == 0);
    unsigned same = __match_any_sync(~0u, v & 3);
    int every;
    unsigned full = __match_all_sync(~0u, v >> 20, &every);
    out[i] = ballot ^ (all << 1) ^ (any << 2) ^ same ^ full ^ (every << 3);
}

extern "C" __global__ void aggregated_increment(const int *in, int *positions, int *counter, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (in[i] & 1) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1, lane = threadIdx.x & 31, base = 0;
        if (lane == leader)
            base = atomicAdd(counter, __popc(active));
        base = __shfl_sync(active, base, leader);
        positions[i] = base + __popc(active & ((1u << lane) - 1));
    } else {
        positions[i] = -1;
    }
}

extern "C" __global__ void compact_warp(const float *in, float *out, int *lengths)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    float v = in[warp * 32 + lane];
    unsigned keep = __ballot_sync(~0u, v > 0.f);
    if (v > 0.f)
        out[warp * 32 + __popc(keep & ((1u << lane) - 1))] = v;
    if (lane == 0)
        lengths[warp] = __popc(keep);
    __syncwarp();
}

extern "C" __global__ void partial_masks(const int *in, int *out)
{
    int i = threadIdx.x, lane = i & 31, v = in[i], r;
    if (lane < 16) {
        r = __shfl_xor_sync(0x0000ffff, v, 5);
        r += __any_sync(0x0000ffff, v > 3);
        __syncwarp(0x0000ffff);
    } else {
        r = __shfl_down_sync(0xffff0000, v, 2);
        r -= __popc(__ballot_sync(0xffff0000, v & 1));
    }
    out[i] = r;
}
