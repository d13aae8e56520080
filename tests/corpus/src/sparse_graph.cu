// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Irregular access: sparse matrix-vector products in CSR (scalar and warp per row) and ELL, breadth-first search,
// connected components, PageRank gathering.

extern "C" __global__ void spmv_csr_scalar(int rows, const int *starts, const int *columns, const float *values, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}

extern "C" __global__ void spmv_csr_warp(int rows, const int *__restrict__ starts, const int *__restrict__ columns, const float *__restrict__ values,
                                         const float *__restrict__ x, float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    float sum = 0;
    int end = starts[row + 1];
    for (int k = starts[row] + lane; k < end; k += 32)
        sum += values[k] * __ldg(&x[columns[k]]);
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void spmv_ell(int rows, int width, const int *columns, const double *values, const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        int c = columns[k * rows + row];
        if (c >= 0)
            sum += values[k * rows + row] * x[c];
    }
    y[row] = sum;
}

extern "C" __global__ void bfs_level(int nodes, const int *starts, const int *neighbours, int *distance, int level, int *changed)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes || distance[v] != level)
        return;
    for (int e = starts[v]; e < starts[v + 1]; ++e)
        if (atomicCAS(&distance[neighbours[e]], -1, level + 1) == -1)
            *changed = 1;
}

extern "C" __global__ void components_hook(int edges, const int2 *edge, int *parent)
{
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < edges; e += gridDim.x * blockDim.x) {
        int a = edge[e].x, b = edge[e].y;
        while (parent[a] != a)
            a = parent[a];
        while (parent[b] != b)
            b = parent[b];
        if (a != b)
            atomicMin(&parent[max(a, b)], min(a, b));
    }
}

extern "C" __global__ void gather_bounded(const float *table, const unsigned *indices, float *out, unsigned entries, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[indices[i] % entries];
}
