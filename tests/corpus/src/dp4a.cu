// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Packed 8- and 16-bit dot products, and the SIMD-in-a-word intrinsics.

extern "C" __global__ void dot_int8(const int *a, const int *b, int *c, int words)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int i = 0; i < words; ++i)
        sum = __dp4a(a[row * words + i], b[i], sum);
    c[row] = sum;
}

extern "C" __global__ void dot_mixed(const unsigned *a, const unsigned *b, unsigned *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = __dp2a_lo(a[i], b[i], 1u), high = __dp2a_hi(a[i], b[i], 2u);
    c[i] = __dp4a(a[i], b[i], low) - high;
}

extern "C" __global__ void packed_bytes(const unsigned *a, const unsigned *b, unsigned *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = b[i];
    c[i] = __vadd4(x, y) ^ __vsubus4(x, y) ^ __vmaxs2(x, y) ^ __vabsdiffu4(x, y) ^ __vcmpgtu4(x, y) ^ __vavgu2(x, y) ^
           __vsadu4(x, y);
}
