// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// y = a*x + y, with one element per thread, with a grid-stride loop, and with a strided walk that wastes sectors.

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_grid_stride(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_blocked(int n, int per_thread, float a, const float *__restrict__ x,
                                         float *__restrict__ y)
{
    long long first = (long long)(blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
    for (int k = 0; k < per_thread; ++k)
        if (first + k < n)
            y[first + k] = a * x[first + k] + y[first + k];
}

extern "C" __global__ void axpby_strided(int n, int stride, double a, double b, const double *x, double *y)
{
    unsigned step = blockDim.x * gridDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)n; i += step)
        y[(size_t)i * stride] = a * x[(size_t)i * stride] + b * y[(size_t)i * stride];
}
