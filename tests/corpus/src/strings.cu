// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Bytes: substring search, line counting, base64, run lengths, UTF-8 validation, Levenshtein distance.

extern "C" __global__ void find_substring(const char *text, int length, const char *pattern, int plen, int *first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + plen > length)
        return;
    for (int k = 0; k < plen; ++k)
        if (text[i + k] != pattern[k])
            return;
    atomicMin(first, i);
}

extern "C" __global__ void base64_encode(const unsigned char *in, unsigned char *out, int triples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples)
        return;
    unsigned v = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned s = (v >> (18 - 6 * k)) & 63;
        out[4 * i + k] = s < 26 ? 'A' + s : s < 52 ? 'a' + s - 26 : s < 62 ? '0' + s - 52 : s == 62 ? '+' : '/';
    }
}

extern "C" __global__ void to_upper(uchar4 *text, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    uchar4 c = text[i];
    auto up = [](unsigned char x) { return x >= 'a' && x <= 'z' ? (unsigned char)(x - 32) : x; };
    text[i] = make_uchar4(up(c.x), up(c.y), up(c.z), up(c.w));
}

extern "C" __global__ void levenshtein(const char *a, const char *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a += i * 16, b += i * 16;
    unsigned char row[17];
    for (int j = 0; j <= n; ++j)
        row[j] = j;
    for (int y = 1; y <= n; ++y) {
        int diagonal = row[0];
        row[0] = y;
        for (int x = 1; x <= n; ++x) {
            int above = row[x];
            int best = min(min(row[x - 1], above) + 1, diagonal + (a[y - 1] != b[x - 1]));
            row[x] = best;
            diagonal = above;
        }
    }
    out[i] = row[n];
}

extern "C" __global__ void utf8_class(const unsigned char *in, signed char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned char c = in[i];
    out[i] = c < 0x80 ? 1 : c < 0xC2 ? -1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : -1;
}
