// Tiles in shared memory whose columns lie in one bank, and the same with rows that are padded by hand: one that several kernels share, one that
// is filled by asynchronous copies of words, one of matrices that are copied in pieces of 16 bytes, and one with rows of 160 bytes. Each kernel does
// it again and again, so that shared memory is what it waits for, and writes one number for each thread. The kernels `conflicting_…` and `padded_…`
// write the same.
//
// layouts.ptx is made of this by `nvcc -ptx -arch=sm_80 layouts.cu`; then `.version` is set to 8.0, for older drivers, and `.maxntid 128, 1, 1` is replaced by
// `.reqntid 32, 4, 1`, which there is no way to write in CUDA: only where blocks are known to have that shape is it known that no column is beyond the end
// of a row.
#include <cuda_pipeline_primitives.h>

// Declared outside of kernels: both pairs of kernels name them.
__shared__ unsigned shared_tile[32][32];
__shared__ unsigned shared_padded_tile[32][33];

template <int WIDTH>
__device__ void exchange(unsigned (&tile)[32][WIDTH], unsigned *out, const unsigned *in, int rounds, unsigned salt)
{
    unsigned value[4];
    int first = blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
    for (int part = 0; part < 4; part++)
        value[part] = in[first + part * 256] + salt;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        for (int part = 0; part < 4; part++)
            tile[threadIdx.y + part * 8][threadIdx.x] = value[part];
        __syncthreads();
        for (int part = 0; part < 4; part++)
            value[part] = tile[threadIdx.x][threadIdx.y + part * 8];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.y * 32 + threadIdx.x] = value[0] + 3 * value[1] + 5 * value[2] + 7 * value[3];
}

extern "C" __global__ void __launch_bounds__(256) conflicting_module(unsigned *out, const unsigned *in, int rounds)
{
    exchange<32>(shared_tile, out, in, rounds, 0);
}

extern "C" __global__ void __launch_bounds__(256) conflicting_module_too(unsigned *out, const unsigned *in, int rounds)
{
    exchange<32>(shared_tile, out, in, rounds, 1);
}

extern "C" __global__ void __launch_bounds__(256) padded_module(unsigned *out, const unsigned *in, int rounds)
{
    exchange<33>(shared_padded_tile, out, in, rounds, 0);
}

extern "C" __global__ void __launch_bounds__(256) padded_module_too(unsigned *out, const unsigned *in, int rounds)
{
    exchange<33>(shared_padded_tile, out, in, rounds, 1);
}

template <int WIDTH>
__device__ void words(unsigned *out, const unsigned *in, int rounds)
{
    __shared__ unsigned tile[32][WIDTH];
    int first = blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        for (int part = 0; part < 4; part++)
            __pipeline_memcpy_async(&tile[threadIdx.y + part * 8][threadIdx.x], &in[first + part * 256], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int part = 0; part < 4; part++)
            sum = sum * 3 + tile[threadIdx.x][threadIdx.y + part * 8];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.y * 32 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) conflicting_words(unsigned *out, const unsigned *in, int rounds)
{
    words<32>(out, in, rounds);
}

extern "C" __global__ void __launch_bounds__(256) padded_words(unsigned *out, const unsigned *in, int rounds)
{
    words<33>(out, in, rounds);
}

// 64 rows of 64 numbers of 16 bits, in pieces of 16 bytes.
template <int WIDTH>
__device__ void matrices(unsigned *out, const unsigned *in, int rounds)
{
    __shared__ __align__(16) unsigned short tile[64][WIDTH];
    int thread = threadIdx.y * 32 + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        for (int part = 0; part < 2; part++) {
            int piece = thread + part * 256;
            __pipeline_memcpy_async(&tile[piece / 8][piece % 8 * 8], &in[(blockIdx.x * 512 + piece) * 4], 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int part = 0; part < 4; part++) {
            unsigned number[4];
            unsigned row = (threadIdx.y % 2) * 32 + threadIdx.x;
            unsigned at = __cvta_generic_to_shared(&tile[row][(threadIdx.y / 2 + part * 2) % 8 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(number[0]), "=r"(number[1]), "=r"(number[2]), "=r"(number[3]) : "r"(at));
            sum = sum * 3 + number[0] + 5 * number[1] + 7 * number[2] + 11 * number[3];
        }
        __syncthreads();
    }
    out[blockIdx.x * 256 + thread] = sum;
}

extern "C" __global__ void __launch_bounds__(256) conflicting_matrices(unsigned *out, const unsigned *in, int rounds)
{
    matrices<64>(out, in, rounds);
}

extern "C" __global__ void __launch_bounds__(256) padded_matrices(unsigned *out, const unsigned *in, int rounds)
{
    matrices<72>(out, in, rounds);
}

// Rows of 40 words: every fourth lies in the same banks.
template <int WIDTH>
__device__ void rows(unsigned *out, const unsigned *in, int rounds)
{
    __shared__ unsigned tile[32][WIDTH];
#pragma unroll
    for (int row = 0; row < 32; row += 4) {
        const unsigned *from = &in[blockIdx.x * 1280 + (row + threadIdx.y) * 40 + threadIdx.x];
        tile[row + threadIdx.y][threadIdx.x] = from[0];
        if (threadIdx.x < 8)
            tile[row + threadIdx.y][threadIdx.x + 32] = from[32];
    }
    __syncthreads();
    unsigned sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; round++)
        for (int part = 0; part < 4; part++)
            sum = sum * 3 + tile[threadIdx.x][threadIdx.y + part * 8 + (round & 1) * 4];
    out[blockIdx.x * 128 + threadIdx.y * 32 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) conflicting_rows(unsigned *out, const unsigned *in, int rounds)
{
    rows<40>(out, in, rounds);
}

extern "C" __global__ void __launch_bounds__(128) padded_rows(unsigned *out, const unsigned *in, int rounds)
{
    rows<41>(out, in, rounds);
}
