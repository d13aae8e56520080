// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Integer kernels of hashes and checksums: SHA-256 compression (funnel shifts, lop3), CRC-32 by table and by bits, FNV,
// byte permutes.

__constant__ unsigned round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotate(unsigned x, int n)
{
    return __funnelshift_r(x, x, n);
}

extern "C" __global__ void sha256_block(const unsigned *messages, unsigned *digests, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned w[16], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, v[8];
    for (int k = 0; k < 16; ++k)
        w[k] = __byte_perm(messages[i * 16 + k], 0, 0x0123);
    for (int k = 0; k < 8; ++k)
        v[k] = s[k];
#pragma unroll
    for (int round = 0; round < 64; ++round) {
        if (round >= 16) {
            unsigned a = w[(round + 1) & 15], b = w[(round + 14) & 15];
            w[round & 15] += (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[(round + 9) & 15] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
        }
        unsigned t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                      round_constants[round] + w[round & 15];
        unsigned t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int k = 7; k > 0; --k)
            v[k] = v[k - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int k = 0; k < 8; ++k)
        digests[i * 8 + k] = s[k] + v[k];
}

extern "C" __global__ void crc32_bits(const unsigned char *data, unsigned *out, int bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned crc = ~0u;
    for (int k = 0; k < bytes; ++k) {
        crc ^= data[i * bytes + k];
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ (0xEDB88320u & -(crc & 1));
    }
    out[i] = ~crc;
}

extern "C" __global__ void crc32_table(const unsigned char *data, unsigned *out, int bytes)
{
    __shared__ unsigned table[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        unsigned c = b;
        for (int bit = 0; bit < 8; ++bit)
            c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[b] = c;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned crc = ~0u;
    for (int k = 0; k < bytes; ++k)
        crc = table[(crc ^ data[i * bytes + k]) & 255] ^ (crc >> 8);
    out[i] = ~crc;
}

extern "C" __global__ void bit_tricks(const unsigned *in, const unsigned long long *wide, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    unsigned long long y = wide[i];
    unsigned r = __popc(x) + __clz(x) * 33 + __ffs(x) * 1025 + __brev(x);
    r ^= __popcll(y) + __clzll(y) + __ffsll(y) + (unsigned)(__brevll(y) >> 32);
    r ^= __byte_perm(x, (unsigned)y, 0x5140) ^ __byte_perm(x, (unsigned)y, x & 0x7777);
    r ^= __funnelshift_l(x, (unsigned)y, x & 31) ^ __funnelshift_lc(x, (unsigned)y, 40) ^ __funnelshift_rc((unsigned)y, x, x >> 27);
    r += __mulhi((int)x, 0x12345) + __mul24((int)x, 77) + __umul24(x, 99) + __sad((int)x, -5, 3u) + __usad(x, 5u, 1u);
    r += __hadd((int)x, 7) + __rhadd((int)x, 9) + __uhadd(x, 11) + (unsigned)__umul64hi(y, 0x9E3779B97F4A7C15ull);
    unsigned field, inserted, three;
    asm("bfe.u32 %0, %1, 5, 9;" : "=r"(field) : "r"(x));
    asm("bfi.b32 %0, %1, %2, 7, 12;" : "=r"(inserted) : "r"(x), "r"(r));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(three) : "r"(x), "r"(field), "r"(inserted));
    int found;
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(found) : "r"(x));
    out[i] = r ^ three ^ found;
}
