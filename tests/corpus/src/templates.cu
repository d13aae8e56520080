// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Mangled names: templates over types, values and operations, namespaces, lambdas, constant-expression tables.

namespace oriole {
namespace detail {
template <int... Values> struct Sequence {};
template <typename T, int N> struct Array {
    T data[N];
    __device__ T &operator[](int i) { return data[i]; }
    __device__ const T &operator[](int i) const { return data[i]; }
};
struct Plus { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Maximum { template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T, typename Op, int Width> __device__ __noinline__ T butterfly(T v, Op op)
{
    if constexpr (Width > 1) {
        v = op(v, __shfl_xor_sync(~0u, v, Width / 2));
        return butterfly<T, Op, Width / 2>(v, op);
    }
    return v;
}
} // namespace detail

template <typename T, typename Op, int Items> __global__ void reduce_rows(const T *in, T *out, int rows, detail::Array<T, Items> bias, Op op)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    detail::Array<T, Items> items;
#pragma unroll
    for (int i = 0; i < Items; ++i)
        items[i] = in[(row * Items + i) * 32 + threadIdx.x] + bias[i];
    T v = items[0];
#pragma unroll
    for (int i = 1; i < Items; ++i)
        v = op(v, items[i]);
    v = detail::butterfly<T, Op, 32>(v, op);
    if (threadIdx.x == 0)
        out[row] = v;
}

template __global__ void reduce_rows<float, detail::Plus, 4>(const float *, float *, int, detail::Array<float, 4>, detail::Plus);
template __global__ void reduce_rows<int, detail::Maximum, 2>(const int *, int *, int, detail::Array<int, 2>, detail::Maximum);
template __global__ void reduce_rows<long long, detail::Plus, 1>(const long long *, long long *, int, detail::Array<long long, 1>, detail::Plus);

template <typename T> __device__ constexpr T power(T base, int n) { return n == 0 ? T(1) : base * power(base, n - 1); }
template <typename... Ts> __device__ auto sum(Ts... values) { return (values + ...); }

namespace {
__global__ void unnamed(int *p) { p[threadIdx.x] = sum(p[threadIdx.x], power(3, 4), (short)threadIdx.x); }
} // namespace
void *keep() { return (void *)unnamed; }
} // namespace oriole
