// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 variants=O0,O3,lineinfo
// libcu++: atomic references with scopes and orders, barriers, pipelines, numeric helpers.

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>

extern "C" __global__ void atomic_references(int *words, unsigned long long *wide, float *real)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> a(words[0]);
    cuda::atomic_ref<int, cuda::thread_scope_block> b(words[1]);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> c(wide[0]);
    a.fetch_add(1, cuda::memory_order_relaxed);
    b.fetch_max((int)threadIdx.x, cuda::memory_order_acq_rel);
    c.fetch_xor(1ull << (threadIdx.x & 63));
    int expected = 5;
    cuda::atomic_ref<int, cuda::thread_scope_device> d(words[2]);
    while (!d.compare_exchange_weak(expected, expected + 2, cuda::memory_order_release, cuda::memory_order_acquire)) {
    }
    cuda::atomic_ref<float, cuda::thread_scope_device>(real[0]).fetch_add(1.f);
    words[8 + threadIdx.x] = a.load(cuda::memory_order_acquire) >= 0;
}

extern "C" __global__ void split_barrier(const int *in, int *out)
{
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier bar;
    __shared__ int box[128];
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    box[threadIdx.x] = in[threadIdx.x];
    auto token = bar.arrive();
    int mine = in[threadIdx.x] * 2;
    bar.wait(std::move(token));
    out[threadIdx.x] = mine + box[127 - threadIdx.x];
}

extern "C" __global__ void pipelined_copy(const float4 *in, float4 *out, int batches)
{
    __shared__ float4 stage[2][64];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    int t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[0][t], &in[t], sizeof(float4), pipe);
    pipe.producer_commit();
    for (int b = 0; b < batches; ++b) {
        if (b + 1 < batches) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[(b + 1) & 1][t], &in[(b + 1) * 64 + t], sizeof(float4), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else {
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        }
        float4 v = stage[b & 1][t];
        out[b * 64 + t] = make_float4(v.w, v.z, v.y, v.x);
        pipe.consumer_release();
    }
}

extern "C" __global__ void standard_helpers(const unsigned *in, float *out)
{
    cuda::std::array<unsigned, 4> a = {in[threadIdx.x], 3u, 5u, 7u};
    cuda::std::complex<float> z(a[0] & 7, 1.f), w = z * z + cuda::std::conj(z);
    out[threadIdx.x] = cuda::std::popcount(a[0]) + cuda::std::countl_zero(a[0] | 1) + cuda::std::rotl(a[1], 3) + w.real() - w.imag();
}
