// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80
// Local memory: arrays indexed at run time, large frames, a stack allocated at run time, structures on the stack.

extern "C" __global__ void local_array(const float *in, float *out, int n)
{
    float t[32];
    for (int i = 0; i < 32; ++i)
        t[i] = in[i] * i;
    float s = 0;
    for (int i = 0; i < n; ++i)
        s += t[(i * 7 + threadIdx.x) & 31];
    out[threadIdx.x] = s;
}

extern "C" __global__ void stack_machine(const int *program, int *out, int length)
{
    int stack[64], top = 0;
    unsigned char flags[64] = {};
    for (int i = 0; i < length; ++i) {
        int op = program[i];
        if (op >= 0 && top < 64) {
            flags[top] = op & 1;
            stack[top++] = op + threadIdx.x;
        } else if (top >= 2) {
            int b = stack[--top], a = stack[--top];
            stack[top++] = op == -1 ? a + b : op == -2 ? a - b : a * b;
        }
    }
    out[threadIdx.x] = top ? stack[top - 1] * 2 + flags[top - 1] : 0;
}

extern "C" __global__ void dynamic_stack(const int *in, int *out, int n)
{
    int *scratch = (int *)__builtin_alloca(n * sizeof(int));
    for (int i = 0; i < n; ++i)
        scratch[i] = in[(i + threadIdx.x) % n];
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum = sum * 3 + scratch[(i * 5) % n];
    out[threadIdx.x] = sum;
}

struct Particle { float3 position; short kind; double weight; };

extern "C" __global__ void quicksort_small(const unsigned *keys, unsigned *out)
{
    unsigned a[16];
    int ranges[64], depth = 0;
    for (int i = 0; i < 16; ++i)
        a[i] = keys[threadIdx.x * 16 + i];
    ranges[depth++] = 0, ranges[depth++] = 15;
    while (depth > 0) {
        int high = ranges[--depth], low = ranges[--depth];
        if (low >= high)
            continue;
        unsigned pivot = a[high];
        int at = low;
        for (int i = low; i < high; ++i)
            if (a[i] < pivot) {
                unsigned t = a[i];
                a[i] = a[at];
                a[at++] = t;
            }
        a[high] = a[at];
        a[at] = pivot;
        ranges[depth++] = low, ranges[depth++] = at - 1;
        ranges[depth++] = at + 1, ranges[depth++] = high;
    }
    for (int i = 0; i < 16; ++i)
        out[threadIdx.x * 16 + i] = a[i];
}

extern "C" __global__ void local_structs(float *out, int which)
{
    Particle p[3];
    for (int i = 0; i < 3; ++i)
        p[i] = {{1.f * i, 2.f, (float)threadIdx.x}, (short)i, 0.25 * i};
    Particle q = p[(which + threadIdx.x) % 3];
    out[threadIdx.x] = q.position.x + q.position.z * q.kind + (float)q.weight;
}
