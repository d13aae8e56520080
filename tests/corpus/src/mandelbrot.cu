// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=fast.sm_80
// Divergent loops: the Mandelbrot set, a Julia set with smooth colours, and the Collatz sequence.

extern "C" __global__ void mandelbrot(unsigned *out, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    float cx = x0 + px * dx, cy = y0 + py * dy, x = 0, y = 0;
    int i = 0;
    while (i < limit && x * x + y * y <= 4.f) {
        float t = x * x - y * y + cx;
        y = 2.f * x * y + cy;
        x = t;
        ++i;
    }
    out[py * width + px] = i;
}

extern "C" __global__ void julia_smooth(uchar4 *out, int width, int height, double cx, double cy)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    double x = 3.0 * px / width - 1.5, y = 3.0 * py / height - 1.5;
    int i = 0;
    for (; i < 100; ++i) {
        double xx = x * x, yy = y * y;
        if (xx + yy > 16.0)
            break;
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
    }
    float shade = i == 100 ? 0.f : i + 1 - log2f(0.5f * logf((float)(x * x + y * y)));
    unsigned char s = (unsigned char)fminf(255.f, fmaxf(0.f, shade * 2.5f));
    out[py * width + px] = make_uchar4(s, s / 2, 255 - s, 255);
}

extern "C" __global__ void collatz(unsigned *steps, unsigned first, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long v = first + i;
    unsigned count = 0;
    do {
        if (v <= 1)
            break;
        v = v & 1 ? 3 * v + 1 : v >> 1;
    } while (++count < 1000);
    steps[i] = count;
}
