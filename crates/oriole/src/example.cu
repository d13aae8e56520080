// Subtracts the mean of each column from a matrix and writes the result transposed, by way of a tile in shared memory.
struct Column {
    float mean, deviation, least, most;
    float reserved[4];
};

extern "C" __global__ void center(float *out, const float *in, const Column *columns, int n)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * n + x] - columns[x].mean;
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        out[(y + row) * n + x] = tile[threadIdx.x][threadIdx.y + row];
}
