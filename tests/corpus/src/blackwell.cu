// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_100a
// Blackwell (sm_100a): tensor memory allocation, tcgen05 products, loads, stores and copies; narrow float conversions;
// packed f32x2 arithmetic; 256-bit loads; three-input extrema.

__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __launch_bounds__(128) tcgen05_product(unsigned long long a, unsigned long long b, unsigned idesc, float *out)
{
    __shared__ unsigned base;
    __shared__ __align__(8) unsigned long long bar;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address(&base)), "r"(128) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&bar)));
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    unsigned d = base;
    if (threadIdx.x == 0) {
        for (int k = 0; k < 4; ++k)
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                         "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %5, %5, %5}, p;\n}" ::"r"(d),
                         "l"(a + 2 * k), "l"(b + 2 * k), "r"(idesc), "r"(k), "r"(0)
                         : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address(&bar)) : "memory");
    }
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(address(&bar)) : "memory");
    unsigned r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(d + ((threadIdx.x / 32) << 21)));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 8; ++i)
        out[threadIdx.x * 8 + i] = __uint_as_float(r[i]);
    asm volatile("tcgen05.st.sync.aligned.16x64b.x1.b32 [%0], {%1};" ::"r"(d), "r"(r[0]) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(d), "l"(a) : "memory");
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(d), "r"(128));
}

extern "C" __global__ void narrow_floats(const float *in, unsigned *out)
{
    int i = threadIdx.x;
    float a = in[2 * i], b = in[2 * i + 1];
    unsigned short e4m3, e2m3, e3m2, scale;
    unsigned e2m1;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e4m3) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(e2m3) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.relu.e3m2x2.f32 %0, %1, %2;" : "=h"(e3m2) : "f"(a), "f"(b));
    asm("cvt.rz.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(scale) : "f"(a), "f"(b));
    asm("{ .reg .b8 byte; cvt.rn.satfinite.e2m1x2.f32 byte, %1, %2; cvt.u32.u8 %0, byte; }" : "=r"(e2m1) : "f"(a), "f"(b));
    unsigned widened;
    asm("{ .reg .b8 byte; .reg .b16 rest; mov.b16 {byte, _}, %1; cvt.rn.f16x2.e2m1x2 %0, byte; }" : "=r"(widened) : "h"(scale));
    out[i] = (e4m3 | scale << 16) ^ (e2m3 | e3m2 << 16) ^ e2m1 ^ widened;
}

extern "C" __global__ void packed_pairs(const unsigned long long *x, const unsigned long long *y, unsigned long long *z, const float *in, float *out)
{
    int i = threadIdx.x;
    unsigned long long r = z[i];
    asm("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(r) : "l"(x[i]), "l"(y[i]));
    asm("add.rz.ftz.f32x2 %0, %0, %1;" : "+l"(r) : "l"(x[i]));
    asm("mul.rn.f32x2 %0, %0, %1;" : "+l"(r) : "l"(y[i]));
    z[i] = r;
    float v[8], m;
    asm volatile("ld.global.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7])
                 : "l"(in + 8 * i));
    asm("max.f32 %0, %1, %2, %3;" : "=f"(m) : "f"(v[0]), "f"(v[1]), "f"(v[2]));
    unsigned redux;
    asm volatile("redux.sync.max.abs.NaN.f32 %0, %1, 0xffffffff;" : "=f"(m) : "f"(m + v[3]));
    redux = __float_as_uint(m);
    asm volatile("st.global.v4.f64 [%0], {%1, %2, %3, %4};" ::"l"(out + 8 * i), "d"((double)v[4]), "d"((double)v[5]), "d"((double)v[6]), "d"((double)redux) : "memory");
}
