// Transposes a matrix through shared memory, with rows of 32 floats, whose columns lie in one bank, and with rows of 33. The kernels
// named `often` exchange a tile again and again, so that shared memory is what they wait for.
//
// transpose.ptx is made of this by `nvcc -ptx -arch=sm_80 transpose.cu`.
template <int WIDTH>
__device__ void transpose(float *out, const float *in, int n)
{
    __shared__ float tile[32][WIDTH];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        tile[threadIdx.y + row][threadIdx.x] = in[(size_t)(y + row) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        out[(size_t)(y + row) * n + x] = tile[threadIdx.x][threadIdx.y + row];
}

template <int WIDTH>
__device__ void often(float *out, const float *in, int rounds)
{
    __shared__ float tile[32][WIDTH];
    size_t first = (size_t)blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
    float value[4];
    for (int part = 0; part < 4; part++)
        value[part] = in[first + part * 256];
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        for (int part = 0; part < 4; part++)
            tile[threadIdx.y + part * 8][threadIdx.x] = value[part];
        __syncthreads();
        for (int part = 0; part < 4; part++)
            value[part] = tile[threadIdx.x][threadIdx.y + part * 8];
        __syncthreads();
    }
    for (int part = 0; part < 4; part++)
        out[first + part * 256] = value[part];
}

extern "C" __global__ void __launch_bounds__(256) conflicting(float *out, const float *in, int n)
{
    transpose<32>(out, in, n);
}

extern "C" __global__ void __launch_bounds__(256) padded(float *out, const float *in, int n)
{
    transpose<33>(out, in, n);
}

extern "C" __global__ void __launch_bounds__(256) conflicting_often(float *out, const float *in, int rounds)
{
    often<32>(out, in, rounds);
}

extern "C" __global__ void __launch_bounds__(256) padded_often(float *out, const float *in, int rounds)
{
    often<33>(out, in, rounds);
}
