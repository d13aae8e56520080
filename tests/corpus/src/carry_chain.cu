// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Multi-word arithmetic: carry chains in inline assembly, 128-bit products, schoolbook and Montgomery multiplication.

extern "C" __global__ void add_256(const unsigned *a, const unsigned *b, unsigned *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    a += i * 8, b += i * 8, c += i * 8;
    unsigned r[8], carry;
    asm("{\n\t"
        "add.cc.u32 %0, %9, %17;\n\t"
        "addc.cc.u32 %1, %10, %18;\n\t"
        "addc.cc.u32 %2, %11, %19;\n\t"
        "addc.cc.u32 %3, %12, %20;\n\t"
        "addc.cc.u32 %4, %13, %21;\n\t"
        "addc.cc.u32 %5, %14, %22;\n\t"
        "addc.cc.u32 %6, %15, %23;\n\t"
        "addc.cc.u32 %7, %16, %24;\n\t"
        "addc.u32 %8, 0, 0;\n\t"
        "}"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(carry)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    for (int k = 0; k < 8; ++k)
        c[k] = r[k] ^ carry;
}

extern "C" __global__ void sub_128(const unsigned long long *a, const unsigned long long *b, unsigned long long *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long low, high, borrow;
    asm volatile("sub.cc.u64 %0, %3, %5; subc.cc.u64 %1, %4, %6; subc.u64 %2, 0, 0;"
                 : "=l"(low), "=l"(high), "=l"(borrow)
                 : "l"(a[2 * i]), "l"(a[2 * i + 1]), "l"(b[2 * i]), "l"(b[2 * i + 1]));
    c[2 * i] = low;
    c[2 * i + 1] = high + (borrow & 1);
}

// 4x4 words, column by column, with mad.lo.cc / madc.hi.cc.
extern "C" __global__ void multiply_128(const unsigned *a, const unsigned *b, unsigned *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[4], y[4], r[8] = {};
    for (int k = 0; k < 4; ++k)
        x[k] = a[4 * i + k], y[k] = b[4 * i + k];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        asm("mad.lo.cc.u32 %0, %5, %9, %0;\n\t"
            "madc.lo.cc.u32 %1, %6, %9, %1;\n\t"
            "madc.lo.cc.u32 %2, %7, %9, %2;\n\t"
            "madc.lo.cc.u32 %3, %8, %9, %3;\n\t"
            "addc.u32 %4, %4, 0;"
            : "+r"(r[k]), "+r"(r[k + 1]), "+r"(r[k + 2]), "+r"(r[k + 3]), "+r"(r[k + 4])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[k]));
        asm("mad.hi.cc.u32 %0, %4, %8, %0;\n\t"
            "madc.hi.cc.u32 %1, %5, %8, %1;\n\t"
            "madc.hi.cc.u32 %2, %6, %8, %2;\n\t"
            "madc.hi.u32 %3, %7, %8, %3;"
            : "+r"(r[k + 1]), "+r"(r[k + 2]), "+r"(r[k + 3]), "+r"(r[k + 4])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[k]));
    }
    for (int k = 0; k < 8; ++k)
        c[8 * i + k] = r[k];
}

extern "C" __global__ void multiply_int128(const unsigned long long *a, const unsigned long long *b, unsigned long long *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned __int128 p = (unsigned __int128)a[i] * b[i] + a[i];
    p = (p >> 7) | (p << 121);
    c[2 * i] = (unsigned long long)p;
    c[2 * i + 1] = (unsigned long long)(p >> 64);
}

extern "C" __global__ void modular_power(const unsigned long long *base, unsigned long long *out, unsigned exponent, unsigned long long modulus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long r = 1, b = base[i] % modulus;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            r = r * b % modulus;
        b = b * b % modulus;
    }
    out[i] = r;
}

extern "C" __global__ void long_division(const long long *a, const long long *b, long long *quotient, long long *remainder, const short *sa, short *sq)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long d = b[i] | 1;
    quotient[i] = a[i] / d;
    remainder[i] = a[i] % d + (unsigned)a[i] / 7 + (int)a[i] / -13;
    sq[i] = sa[i] / 10 + sa[i] % 16;
}
