// SPDX-License-Identifier: Apache-2.0 OR MIT
// The CUDA names that the corpus' sources need, so that clang compiles them without a toolkit. What clang has no builtin for
// is inline assembly, or a function of another module: both compilers leave those alone.
#pragma once
#include <__clang_cuda_builtin_vars.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __first_two(a, b, ...) a, b
#define __launch_bounds__(...) __attribute__((launch_bounds(__first_two(__VA_ARGS__, 0, 0))))
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ __attribute__((always_inline)) inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define INFINITY __builtin_inff()
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647

typedef unsigned long size_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
typedef long long clock_t;

#define FUNCTION static __device__ __forceinline__
#define VECTOR(T, name, bytes)                                                                                         \
    struct name##1 { T x; };                                                                                           \
    struct alignas(2 * bytes) name##2 { T x, y; };                                                                     \
    struct name##3 { T x, y, z; };                                                                                     \
    struct alignas(4 * bytes > 16 ? 16 : 4 * bytes) name##4 { T x, y, z, w; };                                         \
    FUNCTION name##1 make_##name##1(T x) { return {x}; }                                                               \
    FUNCTION name##2 make_##name##2(T x, T y) { return {x, y}; }                                                       \
    FUNCTION name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                               \
    FUNCTION name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTOR(signed char, char, 1)
VECTOR(unsigned char, uchar, 1)
VECTOR(short, short, 2)
VECTOR(unsigned short, ushort, 2)
VECTOR(int, int, 4)
VECTOR(unsigned, uint, 4)
VECTOR(long long, longlong, 8)
VECTOR(unsigned long long, ulonglong, 8)
VECTOR(float, float, 4)
VECTOR(double, double, 8)

// Integers.
#define INTEGERS(M) M(int) M(unsigned) M(long) M(unsigned long) M(long long) M(unsigned long long)
#define MIN_MAX(T)                                                                                                     \
    FUNCTION T min(T a, T b) { return a < b ? a : b; }                                                                 \
    FUNCTION T max(T a, T b) { return a > b ? a : b; }
INTEGERS(MIN_MAX)
#define FIXED(name, R, A, B)                                                                                           \
    FUNCTION R name(A a, B b)
FIXED(min, unsigned, int, unsigned) { return min((unsigned)a, b); }
FIXED(min, unsigned, unsigned, int) { return min(a, (unsigned)b); }
FIXED(max, unsigned, int, unsigned) { return max((unsigned)a, b); }
FIXED(max, unsigned, unsigned, int) { return max(a, (unsigned)b); }
FUNCTION int abs(int a) { return a < 0 ? -a : a; }
FUNCTION int __popc(unsigned a) { return __builtin_popcount(a); }
FUNCTION int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
FUNCTION int __clz(int a) { return a ? __builtin_clz(a) : 32; }
FUNCTION int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }
FUNCTION int __ffs(int a) { return __builtin_ffs(a); }
FUNCTION int __ffsll(long long a) { return __builtin_ffsll(a); }
FUNCTION unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
FUNCTION unsigned long long __brevll(unsigned long long a) { return __builtin_bitreverse64(a); }
FUNCTION unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return __nvvm_prmt(a, b, s); }
FUNCTION int __mulhi(int a, int b) { return ((long)a * b) >> 32; }
FUNCTION unsigned __umulhi(unsigned a, unsigned b) { return ((unsigned long)a * b) >> 32; }
FUNCTION long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
FUNCTION unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
FUNCTION int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
FUNCTION unsigned __umul24(unsigned a, unsigned b) { return __nvvm_mul24_ui(a, b); }
FUNCTION unsigned __sad(int a, int b, unsigned c) { return __nvvm_sad_i(a, b, c); }
FUNCTION unsigned __usad(unsigned a, unsigned b, unsigned c) { return __nvvm_sad_ui(a, b, c); }
FUNCTION int __hadd(int a, int b) { return ((long)a + b) >> 1; }
FUNCTION int __rhadd(int a, int b) { return ((long)a + b + 1) >> 1; }
FUNCTION unsigned __uhadd(unsigned a, unsigned b) { return ((unsigned long)a + b) >> 1; }
#define ASSEMBLY3(name, R, A, B, C, text)                                                                              \
    FUNCTION R name(A a, B b, C c)                                                                                     \
    {                                                                                                                  \
        R result;                                                                                                      \
        asm(text " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));                                          \
        return result;                                                                                                 \
    }
ASSEMBLY3(__funnelshift_l, unsigned, unsigned, unsigned, unsigned, "shf.l.wrap.b32")
ASSEMBLY3(__funnelshift_r, unsigned, unsigned, unsigned, unsigned, "shf.r.wrap.b32")
ASSEMBLY3(__funnelshift_lc, unsigned, unsigned, unsigned, unsigned, "shf.l.clamp.b32")
ASSEMBLY3(__funnelshift_rc, unsigned, unsigned, unsigned, unsigned, "shf.r.clamp.b32")
ASSEMBLY3(__dp4a, int, int, int, int, "dp4a.s32.s32")
ASSEMBLY3(__dp4a, unsigned, unsigned, unsigned, unsigned, "dp4a.u32.u32")
ASSEMBLY3(__dp2a_lo, int, int, int, int, "dp2a.lo.s32.s32")
ASSEMBLY3(__dp2a_hi, int, int, int, int, "dp2a.hi.s32.s32")
ASSEMBLY3(__dp2a_lo, unsigned, unsigned, unsigned, unsigned, "dp2a.lo.u32.u32")
ASSEMBLY3(__dp2a_hi, unsigned, unsigned, unsigned, unsigned, "dp2a.hi.u32.u32")
#define ELSEWHERE extern "C" __device__
ELSEWHERE unsigned __vabsdiffu4(unsigned, unsigned);
ELSEWHERE unsigned __vadd4(unsigned, unsigned);
ELSEWHERE unsigned __vavgu2(unsigned, unsigned);
ELSEWHERE unsigned __vcmpgtu4(unsigned, unsigned);
ELSEWHERE unsigned __vmaxs2(unsigned, unsigned);
ELSEWHERE unsigned __vsadu4(unsigned, unsigned);
ELSEWHERE unsigned __vsubus4(unsigned, unsigned);

// Floating point.
FUNCTION float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
FUNCTION float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
FUNCTION float max(float a, float b) { return __nvvm_fmax_f(a, b); }
FUNCTION float min(float a, float b) { return __nvvm_fmin_f(a, b); }
FUNCTION double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
FUNCTION double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
FUNCTION double max(double a, double b) { return __nvvm_fmax_d(a, b); }
FUNCTION double min(double a, double b) { return __nvvm_fmin_d(a, b); }
FUNCTION float sqrtf(float a) { return __nvvm_sqrt_rn_f(a); }
FUNCTION double sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
FUNCTION float rsqrtf(float a) { return __nvvm_rsqrt_approx_f(a); }
FUNCTION double rsqrt(double a) { return __nvvm_rsqrt_approx_d(a); }
FUNCTION float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
FUNCTION double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
FUNCTION float fabsf(float a) { return __builtin_fabsf(a); }
FUNCTION double fabs(double a) { return __builtin_fabs(a); }
FUNCTION float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
FUNCTION float floorf(float a) { return __builtin_floorf(a); }
FUNCTION float ceilf(float a) { return __builtin_ceilf(a); }
FUNCTION float truncf(float a) { return __builtin_truncf(a); }
FUNCTION float rintf(float a) { return __builtin_rintf(a); }
FUNCTION double floor(double a) { return __builtin_floor(a); }
FUNCTION bool isnan(float a) { return __builtin_isnan(a); }
FUNCTION bool isinf(float a) { return __builtin_isinf(a); }
FUNCTION float __saturatef(float a) { return __nvvm_saturate_f(a); }
FUNCTION float exp2f(float a) { return __nvvm_ex2_approx_f(a); }
FUNCTION float log2f(float a) { return __nvvm_lg2_approx_f(a); }
FUNCTION float expf(float a) { return exp2f(a * 1.4426950408889634f); }
FUNCTION float logf(float a) { return log2f(a) * 0.6931471805599453f; }
FUNCTION float __expf(float a) { return expf(a); }
FUNCTION float __logf(float a) { return logf(a); }
FUNCTION float sinf(float a) { return __nvvm_sin_approx_f(a); }
FUNCTION float cosf(float a) { return __nvvm_cos_approx_f(a); }
FUNCTION float __sinf(float a) { return sinf(a); }
FUNCTION float __cosf(float a) { return cosf(a); }
FUNCTION float tanf(float a) { return sinf(a) / cosf(a); }
FUNCTION float powf(float a, float b) { return exp2f(b * log2f(a)); }
FUNCTION void sincosf(float a, float *s, float *c) { *s = sinf(a), *c = cosf(a); }
FUNCTION void __sincosf(float a, float *s, float *c) { sincosf(a, s, c); }
FUNCTION void sincospif(float a, float *s, float *c) { sincosf(a * 3.14159265f, s, c); }
FUNCTION float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
#define FLOAT_ELSEWHERE(M)                                                                                             \
    M(asinf) M(cbrtf) M(erff) M(exp10f) M(expm1f) M(j0f) M(log1pf) M(normcdff) M(sinhf) M(tanhf) M(tgammaf) M(acosf)
#define DECLARE_FLOAT(name) ELSEWHERE float name(float);
FLOAT_ELSEWHERE(DECLARE_FLOAT)
#define DOUBLE_ELSEWHERE(M) M(exp) M(log) M(sin) M(cos) M(atan) M(cbrt) M(erf) M(normcdf)
#define DECLARE_DOUBLE(name) ELSEWHERE double name(double);
DOUBLE_ELSEWHERE(DECLARE_DOUBLE)
ELSEWHERE float atan2f(float, float);
ELSEWHERE float fmodf(float, float);
ELSEWHERE float hypotf(float, float);
ELSEWHERE float remainderf(float, float);
ELSEWHERE float ldexpf(float, int);
ELSEWHERE float frexpf(float, int *);
ELSEWHERE double fmod(double, double);
ELSEWHERE double pow(double, double);

// One rounding or conversion each.
#define ASSEMBLY1(name, R, r, A, a, text)                                                                              \
    FUNCTION R name(A x)                                                                                               \
    {                                                                                                                  \
        R result;                                                                                                      \
        asm(text " %0, %1;" : r(result) : a(x));                                                                       \
        return result;                                                                                                 \
    }
#define ASSEMBLY2(name, T, r, a, text)                                                                                 \
    FUNCTION T name(T x, T y)                                                                                          \
    {                                                                                                                  \
        T result;                                                                                                      \
        asm(text " %0, %1, %2;" : r(result) : a(x), a(y));                                                             \
        return result;                                                                                                 \
    }
ASSEMBLY1(__frcp_ru, float, "=f", float, "f", "rcp.rp.f32")
ASSEMBLY1(__fsqrt_rz, float, "=f", float, "f", "sqrt.rz.f32")
ASSEMBLY1(__drcp_rz, double, "=d", double, "d", "rcp.rz.f64")
ASSEMBLY1(__dsqrt_rd, double, "=d", double, "d", "sqrt.rm.f64")
ASSEMBLY1(__double2float_ru, float, "=f", double, "d", "cvt.rp.f32.f64")
ASSEMBLY1(__double2int_rn, int, "=r", double, "d", "cvt.rni.s32.f64")
ASSEMBLY1(__double2uint_rz, unsigned, "=r", double, "d", "cvt.rzi.u32.f64")
ASSEMBLY1(__double2ll_rd, long long, "=l", double, "d", "cvt.rmi.s64.f64")
ASSEMBLY1(__double2ull_ru, unsigned long long, "=l", double, "d", "cvt.rpi.u64.f64")
ASSEMBLY1(__float2int_rn, int, "=r", float, "f", "cvt.rni.s32.f32")
ASSEMBLY1(__float2int_ru, int, "=r", float, "f", "cvt.rpi.s32.f32")
ASSEMBLY1(__float2uint_rd, unsigned, "=r", float, "f", "cvt.rmi.u32.f32")
ASSEMBLY1(__int2float_rd, float, "=f", int, "r", "cvt.rm.f32.s32")
ASSEMBLY1(__uint2float_ru, float, "=f", unsigned, "r", "cvt.rp.f32.u32")
ASSEMBLY1(__uint2double_rn, double, "=d", unsigned, "r", "cvt.rn.f64.u32")
ASSEMBLY1(__ll2double_rd, double, "=d", long long, "l", "cvt.rm.f64.s64")
ASSEMBLY1(__ll2float_rz, float, "=f", long long, "l", "cvt.rz.f32.s64")
ASSEMBLY2(__fdiv_rd, float, "=f", "f", "div.rm.f32")
ASSEMBLY2(__fadd_rd, float, "=f", "f", "add.rm.f32")
ASSEMBLY2(__fmul_ru, float, "=f", "f", "mul.rp.f32")
ASSEMBLY2(__dadd_rn, double, "=d", "d", "add.rn.f64")
ASSEMBLY2(__dadd_ru, double, "=d", "d", "add.rp.f64")
ASSEMBLY2(__dmul_rd, double, "=d", "d", "mul.rm.f64")
ASSEMBLY2(__dmul_rz, double, "=d", "d", "mul.rz.f64")
ASSEMBLY2(__ddiv_rn, double, "=d", "d", "div.rn.f64")
FUNCTION double __fma_ru(double a, double b, double c) { return __nvvm_fma_rp_d(a, b, c); }
FUNCTION float __fmaf_rz(float a, float b, float c) { return __nvvm_fma_rz_f(a, b, c); }
FUNCTION float __int_as_float(int a) { return __builtin_bit_cast(float, a); }
FUNCTION float __uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }
FUNCTION int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
FUNCTION unsigned __float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
FUNCTION double __longlong_as_double(long long a) { return __builtin_bit_cast(double, a); }
FUNCTION long long __double_as_longlong(double a) { return __builtin_bit_cast(long long, a); }
FUNCTION double __hiloint2double(int h, int l) { return __longlong_as_double((long long)h << 32 | (unsigned)l); }
FUNCTION int __double2hiint(double a) { return __double_as_longlong(a) >> 32; }
FUNCTION int __double2loint(double a) { return __double_as_longlong(a); }

// Warps.
#define SHUFFLES(T, s)                                                                                                 \
    FUNCTION T __shfl_sync(unsigned m, T v, int l, int w = 32)                                                         \
    {                                                                                                                  \
        return __nvvm_shfl_sync_idx_##s(m, v, l, ((32 - w) << 8) | 31);                                                \
    }                                                                                                                  \
    FUNCTION T __shfl_up_sync(unsigned m, T v, int d, int w = 32)                                                      \
    {                                                                                                                  \
        return __nvvm_shfl_sync_up_##s(m, v, d, (32 - w) << 8);                                                        \
    }                                                                                                                  \
    FUNCTION T __shfl_down_sync(unsigned m, T v, int d, int w = 32)                                                    \
    {                                                                                                                  \
        return __nvvm_shfl_sync_down_##s(m, v, d, ((32 - w) << 8) | 31);                                               \
    }                                                                                                                  \
    FUNCTION T __shfl_xor_sync(unsigned m, T v, int d, int w = 32)                                                     \
    {                                                                                                                  \
        return __nvvm_shfl_sync_bfly_##s(m, v, d, ((32 - w) << 8) | 31);                                               \
    }
SHUFFLES(int, i32)
SHUFFLES(unsigned, i32)
SHUFFLES(float, f32)
#define HALVES(name)                                                                                                   \
    FUNCTION long long name(unsigned m, long long v, int l, int w = 32)                                                \
    {                                                                                                                  \
        unsigned high = name(m, (unsigned)(v >> 32), l, w), low = name(m, (unsigned)v, l, w);                          \
        return (long long)((unsigned long long)high << 32 | low);                                                      \
    }                                                                                                                  \
    FUNCTION unsigned long long name(unsigned m, unsigned long long v, int l, int w = 32)                              \
    {                                                                                                                  \
        return (unsigned long long)name(m, (long long)v, l, w);                                                        \
    }                                                                                                                  \
    FUNCTION double name(unsigned m, double v, int l, int w = 32)                                                      \
    {                                                                                                                  \
        return __longlong_as_double(name(m, __double_as_longlong(v), l, w));                                           \
    }
HALVES(__shfl_sync)
HALVES(__shfl_up_sync)
HALVES(__shfl_down_sync)
HALVES(__shfl_xor_sync)
FUNCTION unsigned __ballot_sync(unsigned m, int v) { return __nvvm_vote_ballot_sync(m, v); }
FUNCTION int __all_sync(unsigned m, int v) { return __nvvm_vote_all_sync(m, v); }
FUNCTION int __any_sync(unsigned m, int v) { return __nvvm_vote_any_sync(m, v); }
FUNCTION unsigned __match_any_sync(unsigned m, unsigned v) { return __nvvm_match_any_sync_i32(m, v); }
FUNCTION unsigned __match_all_sync(unsigned m, unsigned v, int *p) { return __nvvm_match_all_sync_i32p(m, v, p); }
FUNCTION void __syncwarp(unsigned m = ~0u) { __nvvm_bar_warp_sync(m); }
FUNCTION unsigned __activemask()
{
    unsigned result;
    asm volatile("activemask.b32 %0;" : "=r"(result));
    return result;
}
#define REDUCES(T, name, text)                                                                                         \
    FUNCTION T name(unsigned m, T v)                                                                                   \
    {                                                                                                                  \
        T result;                                                                                                      \
        asm volatile("redux.sync." text " %0, %1, %2;" : "=r"(result) : "r"(v), "r"(m));                               \
        return result;                                                                                                 \
    }
REDUCES(int, __reduce_add_sync, "add.s32")
REDUCES(unsigned, __reduce_add_sync, "add.u32")
REDUCES(int, __reduce_min_sync, "min.s32")
REDUCES(unsigned, __reduce_min_sync, "min.u32")
REDUCES(int, __reduce_max_sync, "max.s32")
REDUCES(unsigned, __reduce_max_sync, "max.u32")
REDUCES(unsigned, __reduce_and_sync, "and.b32")
REDUCES(unsigned, __reduce_or_sync, "or.b32")
REDUCES(unsigned, __reduce_xor_sync, "xor.b32")

// Blocks and memory.
FUNCTION int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
FUNCTION int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
FUNCTION int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
FUNCTION void __threadfence() { __nvvm_membar_gl(); }
FUNCTION void __threadfence_block() { __nvvm_membar_cta(); }
FUNCTION void __threadfence_system() { __nvvm_membar_sys(); }
FUNCTION size_t __cvta_generic_to_shared(const void *p) { return (size_t)(__attribute__((address_space(3))) const void *)p; }
FUNCTION clock_t clock64() { return __nvvm_read_ptx_sreg_clock64(); }
FUNCTION clock_t clock() { return (int)__nvvm_read_ptx_sreg_clock(); }
FUNCTION void __nanosleep(unsigned t) { asm volatile("nanosleep.u32 %0;" ::"r"(t)); }
#define ATOMICS(T)                                                                                                     \
    FUNCTION T atomicAdd(T *p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicAdd_block(T *p, T v) { return atomicAdd(p, v); }                                                  \
    FUNCTION T atomicAdd_system(T *p, T v) { return atomicAdd(p, v); }                                                 \
    FUNCTION T atomicSub(T *p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicMin(T *p, T v) { return __atomic_fetch_min(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicMax(T *p, T v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicAnd(T *p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicOr(T *p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }                               \
    FUNCTION T atomicXor(T *p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }                             \
    FUNCTION T atomicExch(T *p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }                           \
    FUNCTION T atomicCAS(T *p, T c, T v)                                                                               \
    {                                                                                                                  \
        __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                              \
        return c;                                                                                                      \
    }
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(unsigned long long)
FUNCTION float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
FUNCTION float atomicExch(float *p, float v) { return __int_as_float(atomicExch((int *)p, __float_as_int(v))); }
FUNCTION double atomicAdd(double *p, double v)
{
    double result;
    asm volatile("atom.add.f64 %0, [%1], %2;" : "=d"(result) : "l"(p), "d"(v) : "memory");
    return result;
}
FUNCTION unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
FUNCTION unsigned atomicDec(unsigned *p, unsigned v) { return __nvvm_atom_dec_gen_ui(p, v); }
FUNCTION int __ldg(const int *p) { return __nvvm_ldg_i(p); }
FUNCTION unsigned __ldg(const unsigned *p) { return __nvvm_ldg_ui(p); }
FUNCTION float __ldg(const float *p) { return __nvvm_ldg_f(p); }
#define CACHED_LOAD(name, T, r, text)                                                                                  \
    FUNCTION T name(const T *p)                                                                                        \
    {                                                                                                                  \
        T result;                                                                                                      \
        asm volatile("ld.global." text " %0, [%1];" : r(result) : "l"(p) : "memory");                                  \
        return result;                                                                                                 \
    }
#define CACHED_STORE(name, T, r, text)                                                                                 \
    FUNCTION void name(T *p, T v) { asm volatile("st.global." text " [%0], %1;" ::"l"(p), r(v) : "memory"); }
#define CACHED(T, r, t)                                                                                                \
    CACHED_LOAD(__ldca, T, "=" r, "ca." t)                                                                             \
    CACHED_LOAD(__ldcg, T, "=" r, "cg." t)                                                                             \
    CACHED_LOAD(__ldcs, T, "=" r, "cs." t)                                                                             \
    CACHED_LOAD(__ldlu, T, "=" r, "lu." t)                                                                             \
    CACHED_LOAD(__ldcv, T, "=" r, "cv." t)                                                                             \
    CACHED_STORE(__stcg, T, r, "cg." t)                                                                                \
    CACHED_STORE(__stcs, T, r, "cs." t)                                                                                \
    CACHED_STORE(__stwt, T, r, "wt." t)
CACHED(int, "r", "s32")
CACHED(unsigned, "r", "u32")
CACHED(float, "f", "f32")
#define CACHED_LOAD4(name, text)                                                                                       \
    FUNCTION float4 name(const float4 *p)                                                                              \
    {                                                                                                                  \
        float4 v;                                                                                                      \
        asm volatile("ld.global." text ".v4.f32 {%0, %1, %2, %3}, [%4];"                                               \
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)                                                      \
                     : "l"(p)                                                                                          \
                     : "memory");                                                                                      \
        return v;                                                                                                      \
    }
#define CACHED_STORE4(name, text)                                                                                      \
    FUNCTION void name(float4 *p, float4 v)                                                                            \
    {                                                                                                                  \
        asm volatile("st.global." text ".v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z),       \
                     "f"(v.w)                                                                                          \
                     : "memory");                                                                                      \
    }
CACHED_LOAD4(__ldg, "nc")
CACHED_LOAD4(__ldca, "ca")
CACHED_LOAD4(__ldcg, "cg")
CACHED_LOAD4(__ldcs, "cs")
CACHED_LOAD4(__ldlu, "lu")
CACHED_LOAD4(__ldcv, "cv")
CACHED_STORE4(__stcg, "cg")
CACHED_STORE4(__stcs, "cs")
CACHED_STORE4(__stwt, "wt")
