// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Tree reductions through shared memory, from the one with bank conflicts to the unrolled template.

extern "C" __global__ void reduce_interleaved(const int *in, int *out, int n)
{
    __shared__ int s[256];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        unsigned at = 2 * step * t;
        if (at < blockDim.x)
            s[at] += s[at + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_sequential(const float *in, float *out, int n)
{
    extern __shared__ float dynamic[];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    dynamic[t] = sum;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
        if (t < step)
            dynamic[t] += dynamic[t + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = dynamic[0];
}

template <typename T, int Threads> __device__ void reduce_unrolled(const T *in, T *out, int n)
{
    __shared__ T s[Threads];
    int t = threadIdx.x, i = blockIdx.x * (Threads * 2) + t;
    T v = i < n ? in[i] : T(0);
    if (i + Threads < n)
        v = max(v, in[i + Threads]);
    s[t] = v;
    __syncthreads();
#pragma unroll
    for (int step = Threads / 2; step > 0; step /= 2) {
        if (t < step)
            s[t] = max(s[t], s[t + step]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_max_unsigned(const unsigned *in, unsigned *out, int n)
{
    reduce_unrolled<unsigned, 128>(in, out, n);
}

extern "C" __global__ void reduce_max_double(const double *in, double *out, int n)
{
    reduce_unrolled<double, 128>(in, out, n);
}
