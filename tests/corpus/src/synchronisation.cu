// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Timers, sleeping, fences, volatile accesses, a spin lock, a ticket barrier across the grid, cache hints, prefetch.

__device__ unsigned lock_word, arrived;

extern "C" __global__ void spin_lock(int *total, int rounds)
{
    if (threadIdx.x == 0) {
        for (int r = 0; r < rounds; ++r) {
            unsigned wait = 8;
            while (atomicCAS(&lock_word, 0u, 1u) != 0u) {
                __nanosleep(wait);
                wait = wait < 256 ? wait * 2 : wait;
            }
            __threadfence();
            *(volatile int *)total += 1;
            __threadfence();
            atomicExch(&lock_word, 0u);
        }
    }
}

extern "C" __global__ void last_block(const float *in, float *partial, float *out, int n)
{
    __shared__ bool is_last;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += in[blockIdx.x * n + i];
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s;
        __threadfence();
        is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; ++b)
            sum += ((volatile float *)partial)[b];
        *out = sum;
    }
}

extern "C" __global__ void timers(long long *out)
{
    long long start = clock64();
    unsigned c = clock();
    unsigned long long g;
    unsigned sm, warp, lanemask;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanemask));
    __threadfence_block();
    __threadfence_system();
    out[threadIdx.x] = clock64() - start + c + g + sm + warp + lanemask;
}

extern "C" __global__ void cache_hints(const float4 *in, float4 *out, const int *lookup, float4 *scratch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = __ldg(&in[i]), b = __ldcs(&in[i]), c = __ldcg(&in[i]), d = __ldlu(&in[i]), e = __ldcv(&in[i]);
    int k = __ldca(&lookup[i]);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i + 64));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in + i));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(scratch + (i & ~7)));
    a.x += b.x + c.x + d.x + e.x + k;
    if (i & 1)
        __stcs(&out[i], a);
    else if (i & 2)
        __stwt(&out[i], a);
    else
        __stcg(&out[i], a);
}

extern "C" __global__ void named_barriers(int *out)
{
    __shared__ int box[64];
    int t = threadIdx.x;
    if (t < 64) {
        box[t] = t * t;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[t] = box[63 - t];
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t] = box[t - 64];
    }
    int votes;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 5; barrier.cta.red.popc.aligned.u32 %0, 3, p; }" : "=r"(votes) : "r"(t));
    out[t] += votes;
}
