// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_90,O3.sm_100,brx.sm_80,brx.sm_90
// Control flow: a dense switch (brx.idx), a small interpreter, goto, nested loops with several exits, short circuits.

extern "C" __global__ void switch_dense(int *data, const int *codes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = data[i];
    switch (codes[i]) {
    case 0: v += 1; break;
    case 1: v *= 3; break;
    case 2: v ^= 0x55; // falls through
    case 3: v -= 9; break;
    case 4: v <<= 2; break;
    case 5: v = ~v; break;
    case 6: v /= 7; break;
    case 7: v = __popc(v); break;
    case 9: v = -v; break;
    default: v = 0; break;
    }
    data[i] = v;
}

extern "C" __global__ void interpreter(const unsigned char *program, int length, int *registers)
{
    int r[4] = {(int)threadIdx.x, registers[threadIdx.x], 1, 0};
    int pc = 0, fuel = 200;
    while (pc < length && fuel-- > 0) {
        unsigned char op = program[pc++];
        int d = (op >> 4) & 3, s = op >> 6;
        switch (op & 15) {
        case 0: r[d] += r[s]; break;
        case 1: r[d] -= r[s]; break;
        case 2: r[d] *= r[s]; break;
        case 3: r[d] = r[s]; break;
        case 4: r[d] = program[pc++ % length]; break;
        case 5: if (r[s] > 0) pc = (pc + 2) % length; break;
        case 6: r[d] >>= 1; break;
        case 7: r[d] |= r[s]; break;
        case 8: goto done;
        case 9: { int t = r[d]; r[d] = r[s]; r[s] = t; break; }
        default: continue;
        }
    }
done:
    registers[threadIdx.x] = r[0] + r[1] * 3 + r[2] * 5 + r[3] * 7;
}

extern "C" __global__ void irreducible(int *data, int n)
{
    int i = threadIdx.x, v = data[i], k = 0;
    if (v & 1)
        goto inside;
again:
    v += 3;
    if (v > 1000)
        goto out;
inside:
    v = v * 2 - k;
    if (++k < n)
        goto again;
out:
    data[i] = v;
}

extern "C" __global__ void nested_exits(const int *grid, int *out, int width, int height, int target)
{
    int found = -1;
    for (int y = threadIdx.x; y < height; y += blockDim.x) {
        for (int x = 0; x < width; ++x) {
            int v = grid[y * width + x];
            if (v < 0)
                continue;
            if (v == target && (x & 1 || y & 1)) {
                found = y * width + x;
                goto done;
            }
            if (v > 10 * target)
                break;
        }
    }
done:
    out[threadIdx.x] = found;
}
