// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 variants=O0,O3 also=O3.sm_90,lineinfo.sm_80
// What a block does with the algorithms of CUB: much inlining, shared memory in unions, deep nests of short branches.

#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_merge_sort.cuh>

constexpr int THREADS = 64;
constexpr int ITEMS = 4;

extern "C" __global__ void block_radix_sort(unsigned *keys, int *values)
{
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, int>;
    __shared__ typename Sort::TempStorage storage;
    unsigned key[ITEMS];
    int value[ITEMS];
    int first = (blockIdx.x * THREADS + threadIdx.x) * ITEMS;
    for (int i = 0; i < ITEMS; ++i) {
        key[i] = keys[first + i];
        value[i] = first + i;
    }
    Sort(storage).Sort(key, value, 3, 20);
    for (int i = 0; i < ITEMS; ++i) {
        keys[first + i] = key[i];
        values[first + i] = value[i];
    }
}

struct Farther {
    int from;
    __device__ bool operator()(int a, int b) const
    {
        return abs(a - from) > abs(b - from);
    }
};

extern "C" __global__ void block_merge_sort(int *keys, int count, int from)
{
    using Sort = cub::BlockMergeSort<int, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    int key[ITEMS];
    int first = threadIdx.x * ITEMS;
    for (int i = 0; i < ITEMS; ++i)
        key[i] = first + i < count ? keys[first + i] : 0;
    Sort(storage).StableSort(key, Farther{from}, count, from);
    for (int i = 0; i < ITEMS; ++i)
        if (first + i < count)
            keys[first + i] = key[i];
}

extern "C" __global__ void warp_merge_sort(short *keys)
{
    using Sort = cub::WarpMergeSort<short, ITEMS, 16>;
    __shared__ typename Sort::TempStorage storage[THREADS / 16];
    short key[ITEMS];
    for (int i = 0; i < ITEMS; ++i)
        key[i] = keys[threadIdx.x * ITEMS + i];
    Sort(storage[threadIdx.x / 16]).Sort(key, [](short a, short b) { return a < b; });
    for (int i = 0; i < ITEMS; ++i)
        keys[threadIdx.x * ITEMS + i] = key[i];
}

extern "C" __global__ void block_scan(const long long *in, long long *out, long long *total)
{
    using Scan = cub::BlockScan<long long, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage storage;
    long long item[ITEMS], sum;
    for (int i = 0; i < ITEMS; ++i)
        item[i] = in[threadIdx.x * ITEMS + i];
    Scan(storage).ExclusiveScan(item, item, 7ll, [](long long a, long long b) { return a > b ? a : b; }, sum);
    for (int i = 0; i < ITEMS; ++i)
        out[threadIdx.x * ITEMS + i] = item[i];
    if (threadIdx.x == THREADS - 1)
        *total = sum;
}

extern "C" __global__ void block_reduce(const int *in, int count, int *out)
{
    using Reduce = cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename Reduce::TempStorage storage;
    int item = threadIdx.x < count ? in[threadIdx.x] : 0;
    int sum = Reduce(storage).Sum(item, count);
    if (threadIdx.x == 0)
        *out = sum;
}

extern "C" __global__ void block_histogram(const unsigned char *in, unsigned *out)
{
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 64, cub::BLOCK_HISTO_SORT>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned bins[64];
    unsigned char item[ITEMS];
    for (int i = 0; i < ITEMS; ++i)
        item[i] = in[threadIdx.x * ITEMS + i] & 63;
    Histogram(storage).Histogram(item, bins);
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x];
}
