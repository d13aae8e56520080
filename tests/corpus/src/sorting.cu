// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80
// Bitonic sorting in shared memory and across global memory, a radix-sort counting and scatter pass, odd-even merge.

extern "C" __global__ void bitonic_shared(int *keys, int *values)
{
    __shared__ int k[512], v[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    k[t] = keys[base + t], v[t] = values[base + t];
    k[t + 256] = keys[base + t + 256], v[t + 256] = values[base + t + 256];
    for (int size = 2; size <= 512; size <<= 1)
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (stride - 1)), j = i + stride;
            bool up = (i & size) == 0;
            if ((k[i] > k[j]) == up) {
                int key = k[i], value = v[i];
                k[i] = k[j], v[i] = v[j];
                k[j] = key, v[j] = value;
            }
        }
    __syncthreads();
    keys[base + t] = k[t], values[base + t] = v[t];
    keys[base + t + 256] = k[t + 256], values[base + t + 256] = v[t + 256];
}

extern "C" __global__ void bitonic_step(float *data, int j, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i) {
        float a = data[i], b = data[other];
        bool swap = (i & k) ? a < b : a > b;
        if (swap) {
            data[i] = b;
            data[other] = a;
        }
    }
}

// One 4-bit digit: stable order inside the block by ballots.
extern "C" __global__ void radix_pass(const unsigned *in, unsigned *out, unsigned *counts, int shift)
{
    __shared__ unsigned warp_counts[16][8], offsets[16];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, base = blockIdx.x * 256;
    unsigned key = in[base + t], digit = (key >> shift) & 15, peers = ~0u;
    if (t < 128)
        warp_counts[t / 8][t % 8] = 0;
    __syncthreads();
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
        unsigned ones = __ballot_sync(~0u, (digit >> bit) & 1);
        peers &= (digit >> bit) & 1 ? ones : ~ones;
    }
    unsigned rank = __popc(peers & ((1u << lane) - 1));
    if (rank == 0)
        warp_counts[digit][warp] = __popc(peers);
    __syncthreads();
    if (t < 16) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) {
            unsigned c = warp_counts[t][w];
            warp_counts[t][w] = sum;
            sum += c;
        }
        counts[blockIdx.x * 16 + t] = sum;
        unsigned start = 0;
        for (int d = 0; d < 16; ++d) {
            unsigned s = __shfl_sync(0xffff, sum, d);
            if (d < t)
                start += s;
        }
        offsets[t] = start;
    }
    __syncthreads();
    out[base + offsets[digit] + warp_counts[digit][warp] + rank] = key;
}

extern "C" __global__ void odd_even_merge(unsigned short *data, int n)
{
    __shared__ unsigned short s[256];
    int t = threadIdx.x;
    s[t] = t < n ? data[t] : 0xffff;
    __syncthreads();
    for (int round = 0; round < n; ++round) {
        int i = 2 * t + (round & 1);
        if (i + 1 < n && s[i] > s[i + 1]) {
            unsigned short keep = s[i];
            s[i] = s[i + 1];
            s[i + 1] = keep;
        }
        __syncthreads();
    }
    if (t < n)
        data[t] = s[t];
}
