// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Module variables with initialisers: scalars, arrays, structures, strings, pointers to symbols and into arrays,
// constant and managed memory, volatile and aligned variables.

struct Node { int key; const Node *next; float weights[3]; unsigned char tag; };

__device__ int counter = 7;
__device__ double pi = 3.141592653589793;
__device__ unsigned char bytes[5] = {1, 2, 3, 250, 5};
__device__ short matrix[2][3] = {{1, -2, 3}, {4, 5, -6}};
__device__ const char message[] = "oriole\tcorpus\n";
__device__ long long sparse[16] = {0, 0, -1};
__device__ float zeros[1024];
__device__ __align__(64) float4 aligned_vector = {1.f, 2.f, 3.f, 4.f};
__device__ int *pointer_to_counter = &counter;
__device__ short *into_matrix = &matrix[1][1];
__device__ Node last = {3, nullptr, {0.5f, 1.5f, -2.f}, 'z'};
__device__ Node middle = {2, &last, {1e-3f, 0, 3.f}, 'm'};
__device__ Node first = {1, &middle, {}, 'a'};
__device__ volatile int flag;
__device__ bool truth = true;
__constant__ float filter[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
__constant__ Node constant_node = {9, nullptr, {9.f, 8.f, 7.f}, 0};
__managed__ int managed_total = 42;
__managed__ float managed_values[8];
static __device__ unsigned private_state = 0xdeadbeef;

extern "C" __global__ void read_globals(float *out)
{
    int i = threadIdx.x;
    float sum = counter + (float)pi + bytes[i % 5] + matrix[i & 1][i % 3] + message[i % 14] + sparse[i & 15];
    sum += *pointer_to_counter + *into_matrix + into_matrix[1] + (truth ? 0.5f : 0.f);
    float4 v = aligned_vector;
    sum += v.x + v.w;
    for (const Node *n = &first; n; n = n->next)
        sum += n->key * n->weights[i % 3] + n->tag;
    sum += filter[i % 9] + constant_node.weights[i % 3] + constant_node.key + (private_state & 15);
    out[i] = sum;
}

extern "C" __global__ void write_globals(int n)
{
    int i = threadIdx.x;
    zeros[i] = filter[i % 9] * n;
    if (i == 0) {
        counter += n;
        pointer_to_counter = &counter;
        managed_total = n;
        private_state = private_state * 1664525u + 1013904223u;
        flag = 1;
    }
    managed_values[i & 7] = i;
}

extern "C" __global__ void convolve_constant(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 3; ++dy)
#pragma unroll
        for (int dx = 0; dx < 3; ++dx)
            sum += filter[dy * 3 + dx] * in[(y + dy - 1) * width + x + dx - 1];
    out[y * width + x] = sum / 16.f;
}
