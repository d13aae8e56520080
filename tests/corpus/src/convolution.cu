// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Convolutions and pooling: direct with channels, separable in shared memory, max pooling, im2col, bilinear resize.

extern "C" __global__ void conv2d_direct(const float *in, const float *weights, float *out, int channels, int height, int width, int filters)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, f = blockIdx.z;
    if (x >= width || y >= height || f >= filters)
        return;
    float sum = 0;
    for (int c = 0; c < channels; ++c)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int sy = y + dy, sx = x + dx;
                if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                    sum += in[(c * height + sy) * width + sx] * weights[((f * channels + c) * 3 + dy + 1) * 3 + dx + 1];
            }
    out[(f * height + y) * width + x] = sum;
}

extern "C" __global__ void conv_rows(const float *in, const float *kernel, float *out, int width)
{
    __shared__ float line[128 + 16];
    int t = threadIdx.x, x = blockIdx.x * 128 + t, y = blockIdx.y;
    for (int k = t; k < 128 + 16; k += blockDim.x) {
        int sx = min(max((int)(blockIdx.x * 128) + k - 8, 0), width - 1);
        line[k] = in[y * width + sx];
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 17; ++k)
        sum = fmaf(line[t + k], kernel[k], sum);
    if (x < width)
        out[y * width + x] = sum;
}

extern "C" __global__ void max_pool(const int *in, int *out, unsigned char *argmax, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width / 2 || y >= height / 2)
        return;
    int best = INT_MIN, at = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int v = in[(2 * y + k / 2) * width + 2 * x + k % 2];
        if (v > best)
            best = v, at = k;
    }
    out[y * (width / 2) + x] = best;
    argmax[y * (width / 2) + x] = at;
}

extern "C" __global__ void resize_bilinear(const uchar4 *in, uchar4 *out, int in_width, int in_height, int out_width, int out_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_width || y >= out_height)
        return;
    float fx = (x + 0.5f) * in_width / out_width - 0.5f, fy = (y + 0.5f) * in_height / out_height - 0.5f;
    int x0 = max(0, (int)floorf(fx)), y0 = max(0, (int)floorf(fy));
    int x1 = min(x0 + 1, in_width - 1), y1 = min(y0 + 1, in_height - 1);
    float ax = __saturatef(fx - x0), ay = __saturatef(fy - y0);
    uchar4 a = in[y0 * in_width + x0], b = in[y0 * in_width + x1], c = in[y1 * in_width + x0], d = in[y1 * in_width + x1];
    auto mix = [&](int p, int q, int r, int s) {
        return (unsigned char)__float2int_rn((p * (1 - ax) + q * ax) * (1 - ay) + (r * (1 - ax) + s * ax) * ay);
    };
    out[y * out_width + x] = make_uchar4(mix(a.x, b.x, c.x, d.x), mix(a.y, b.y, c.y, d.y), mix(a.z, b.z, c.z, d.z), 255);
}

extern "C" __global__ void kmeans_assign(const float *points, const float *centres, int *labels, int n, int k, int dims)
{
    extern __shared__ float cached[];
    for (int i = threadIdx.x; i < k * dims; i += blockDim.x)
        cached[i] = centres[i];
    __syncthreads();
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float best = INFINITY;
    int label = -1;
    for (int c = 0; c < k; ++c) {
        float distance = 0;
        for (int d = 0; d < dims; ++d) {
            float e = points[d * n + p] - cached[c * dims + d];
            distance += e * e;
        }
        if (distance < best)
            best = distance, label = c;
    }
    labels[p] = label;
}
