// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// A register-blocked matrix product: 64x64 block tile, 4x4 results per thread, float4 loads, transposed A tile.

#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4

extern "C" __global__ void __launch_bounds__(256, 2)
    sgemm_blocked(int m, int n, int k, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c)
{
    __shared__ float as[BK][BM + 4];
    __shared__ __align__(16) float bs[BK][BN];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float *ablock = a + (size_t)blockIdx.y * BM * k;
    const float *bblock = b + blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int base = 0; base < k; base += BK) {
        for (int i = tid; i < BM * BK; i += 256)
            as[i % BK][i / BK] = ablock[(i / BK) * k + base + i % BK];
        for (int i = tid; i < BK * BN / 4; i += 256)
            *(float4 *)&bs[i / (BN / 4)][i % (BN / 4) * 4] =
                *(const float4 *)&bblock[(size_t)(base + i / (BN / 4)) * n + i % (BN / 4) * 4];
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float ar[TM], br[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i)
                ar[i] = as[kk][ty * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j)
                br[j] = bs[kk][tx * TN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += ar[i] * br[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        *(float4 *)&c[(size_t)(blockIdx.y * BM + ty * TM + i) * n + blockIdx.x * BN + tx * TN] = v;
    }
}
