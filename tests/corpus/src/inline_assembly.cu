// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Inline assembly with its own scopes, registers, predicates and labels; immediates; shared and local declarations;
// memory operations of the memory model; multimem-free atomics and reductions; vectors; 128-bit moves.

extern "C" __global__ void scoped_registers(int *data)
{
    int v = data[threadIdx.x], r;
    asm("{\n\t.reg .pred p, q;\n\t.reg .b32 t<3>;\n\t"
        "setp.gt.s32 p|q, %1, 10;\n\t"
        "mov.b32 t0, %1;\n\t@p add.s32 t0, t0, 100;\n\t@!p mul.lo.s32 t0, t0, 3;\n\t"
        "{ .reg .b32 t0; mov.b32 t0, 7; xor.b32 t1, t0, %1; }\n\t"
        "selp.b32 t2, t0, t1, q;\n\tadd.s32 %0, t0, t2;\n\t}"
        : "=r"(r)
        : "r"(v));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; @p bra TAKEN_%=; add.s32 %0, %0, 1; TAKEN_%=: add.s32 %0, %0, 2; }" : "+r"(r) : "r"(v & 4));
    data[threadIdx.x] = r;
}

extern "C" __global__ void loop_in_assembly(unsigned *out, int n)
{
    unsigned sum = 0;
    asm volatile("{\n"
                 "  .reg .u32 i;\n"
                 "  .reg .pred more;\n"
                 "  mov.u32 i, 0;\n"
                 "$again:\n"
                 "  mad.lo.u32 %0, i, i, %0;   // a comment inside\n"
                 "  add.u32 i, i, 1;\n"
                 "  setp.lt.u32 more, i, %1;\n"
                 "  @more bra $again;\n"
                 "}"
                 : "+r"(sum)
                 : "r"(n));
    out[threadIdx.x] = sum + threadIdx.x;
}

extern "C" __global__ void declared_inside(float *out)
{
    float r;
    asm volatile("{ .shared .align 16 .b8 box[512]; .reg .b32 a; .reg .u32 t; mov.u32 t, %%tid.x; and.b32 t, t, 127; mov.u32 a, box; mad.lo.u32 a, t, 4, a; cvt.rn.f32.u32 %0, t; "
                 "st.shared.f32 [a], %0; bar.sync 0; xor.b32 t, t, 1; mov.u32 a, box; mad.lo.u32 a, t, 4, a; ld.shared.f32 %0, [a]; }"
                 : "=f"(r)::"memory");
    out[threadIdx.x] = r;
}

extern "C" __global__ void memory_model(int *p, unsigned long long *q, float *f)
{
    int t = threadIdx.x, v;
    unsigned long long w;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p + t) : "memory");
    asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(p + t), "r"(v + 1) : "memory");
    asm volatile("ld.relaxed.cta.global.u64 %0, [%1+8];" : "=l"(w) : "l"(q) : "memory");
    asm volatile("atom.global.acq_rel.gpu.add.u64 %0, [%1], 5;" : "=l"(w) : "l"(q) : "memory");
    asm volatile("red.global.relaxed.gpu.add.f32 [%0], 0f3F800000;" ::"l"(f) : "memory");
    asm volatile("fence.acq_rel.gpu; fence.sc.cta; membar.gl;" ::: "memory");
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(v) : "l"(p), "r"(v), "r"(7) : "memory");
    asm volatile("ld.weak.global.L1::evict_last.L2::128B.b32 %0, [%1];" : "=r"(v) : "l"(p));
    asm volatile("ld.volatile.global.v2.s32 {%0, %1}, [%2];" : "=r"(v), "=r"(t) : "l"(q));
    p[threadIdx.x] = v + t + (int)w;
}

extern "C" __global__ void odd_operands(const unsigned *in, unsigned *out, const double *d, double *e)
{
    int i = threadIdx.x;
    unsigned x = in[i], r, s;
    asm("mov.b32 %0, 0x7fffffff;" : "=r"(r));
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }" : "=r"(s) : "r"(x));
    asm("vadd.u32.u32.u32.add %0, %1.b1, %2.h0, %3;" : "=r"(r) : "r"(x), "r"(s), "r"(r));
    asm("vset4.u32.u32.lt %0, %1, %2, %3;" : "=r"(s) : "r"(x), "r"(s), "r"(r));
    asm("{ .reg .b32 a, b; .reg .b64 w; mov.b64 w, {%1, %2}; mov.b64 {a, b}, w; sub.s32 %0, a, b; }" : "=r"(r) : "r"(r), "r"(s));
    asm("prmt.b32.f4e %0, %1, %2, 3;" : "=r"(s) : "r"(x), "r"(r));
    asm("szext.wrap.u32 %0, %1, 5;" : "+r"(r) : "r"(s));
    asm("bmsk.clamp.b32 %0, %1, 4;" : "=r"(s) : "r"(x & 15));
    double t;
    asm("fma.rn.f64 %0, %1, 0d3FE0000000000000, 0d4000000000000000;" : "=d"(t) : "d"(d[i]));
    asm("{ .reg .pred fine; testp.finite.f64 fine, %1; @!fine mov.f64 %0, 0d0000000000000000; }" : "+d"(t) : "d"(t));
    e[i] = t;
    out[i] = r ^ s;
}
