// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Dynamic shared memory cut into arrays of several types, beside static shared memory.

extern __shared__ __align__(16) unsigned char storage[];

extern "C" __global__ void carve(const float *in, float *out, unsigned *mask, int n)
{
    double *sums = (double *)storage;
    float *values = (float *)(sums + blockDim.x);
    unsigned short *order = (unsigned short *)(values + blockDim.x);
    __shared__ int largest;
    int t = threadIdx.x;
    if (t == 0)
        largest = -1;
    values[t] = t < n ? in[t] : 0.f;
    order[t] = (unsigned short)(blockDim.x - 1 - t);
    sums[t] = 0;
    __syncthreads();
    for (int i = 0; i <= t; ++i)
        sums[t] += values[order[i]];
    if (values[t] > 0.5f)
        atomicMax(&largest, t);
    int count = __syncthreads_count(values[t] > 0.5f);
    int any = __syncthreads_or(t == n), all = __syncthreads_and(t >= 0);
    out[t] = (float)sums[t] + count + any * 1000 + all * 2000;
    if (t == 0)
        mask[0] = largest;
}

extern "C" __global__ void queue_in_shared(const int *in, int *out, int n)
{
    __shared__ int head, items[128];
    if (threadIdx.x == 0)
        head = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (in[i] % 3 == 0)
            items[atomicAdd(&head, 1) & 127] = in[i];
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < min(head, 128); ++i)
        sum += items[i];
    if (threadIdx.x == 0)
        out[0] = sum, out[1] = head;
}
