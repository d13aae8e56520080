// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Calls through pointers: a device table of functions, an argument-selected function, virtual methods.

typedef float (*Unary)(float);
__device__ __noinline__ float square(float x) { return x * x; }
__device__ __noinline__ float cube(float x) { return x * x * x; }
__device__ __noinline__ float negate(float x) { return -x; }
__device__ __noinline__ float half_of(float x) { return 0.5f * x; }
__device__ Unary table[4] = {square, cube, negate, half_of};
__constant__ Unary constant_table[2] = {negate, square};

extern "C" __global__ void call_table(const float *in, float *out, const int *which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[which[i] & 3](in[i]) + constant_table[i & 1](in[i]);
}

extern "C" __global__ void call_selected(float *data, int n)
{
    Unary f = n > 3 ? square : n < 0 ? cube : half_of;
    data[threadIdx.x] = f(data[threadIdx.x]);
}

struct Shape {
    float scale;
    __device__ Shape(float s) : scale(s) {}
    __device__ virtual float area(float x) const = 0;
    __device__ virtual int sides() const { return 0; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ Square(float s) : Shape(s) {}
    __device__ float area(float x) const override { return scale * x * x; }
    __device__ int sides() const override { return 4; }
};
struct Disc : Shape {
    float pi;
    __device__ Disc(float s) : Shape(s), pi(3.14159265f) {}
    __device__ float area(float x) const override { return scale * pi * x * x; }
};

__device__ __noinline__ float total(const Shape *shape, float x)
{
    return shape->area(x) + shape->sides();
}

extern "C" __global__ void call_virtual(const float *in, float *out)
{
    int i = threadIdx.x;
    Square square(2.f);
    Disc disc(0.5f);
    const Shape *shape = i & 1 ? (const Shape *)&square : &disc;
    out[i] = total(shape, in[i]);
}

template <typename F> __device__ __noinline__ int apply(F f, int x) { return f(f(x)); }

extern "C" __global__ void call_lambda(int *data, int k)
{
    int i = threadIdx.x;
    data[i] = apply([=](int x) { return x * k + i; }, data[i]) + apply([](int x) { return x ^ 21; }, i);
}
