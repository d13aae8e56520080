// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Stencils in one, two and three dimensions; the last marches along z with a register queue.

extern "C" __global__ void stencil_1d(const float *in, float *out, int n)
{
    const int radius = 4;
    __shared__ float s[256 + 2 * radius];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + radius;
    s[t] = i < n ? in[i] : 0.f;
    if (threadIdx.x < radius) {
        s[t - radius] = i >= radius ? in[i - radius] : 0.f;
        s[t + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0.f;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = -radius; k <= radius; ++k)
        sum += s[t + k];
    if (i < n)
        out[i] = sum / (2 * radius + 1);
}

extern "C" __global__ void stencil_2d(const float *__restrict__ in, float *__restrict__ out, int width, int height,
                                      float alpha)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x <= 0 || y <= 0 || x >= width - 1 || y >= height - 1)
        return;
    int at = y * width + x;
    out[at] = in[at] + alpha * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4.f * in[at]);
}

extern "C" __global__ void stencil_3d(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; ++z) {
        at += plane;
        float above = in[at + plane];
        out[at] = 0.4f * here + 0.1f * (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]);
        below = here;
        here = above;
    }
}

extern "C" __global__ void life_step(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int alive = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy)
                alive += in[((y + dy + height) % height) * width + (x + dx + width) % width];
    out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}
