// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Textures and surfaces through objects: every dimensionality, gathers, levels of detail, gradients, arrays, cubes.

extern "C" __global__ void texture_fetches(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i * 0.125f, y = i * 0.25f;
    float4 r = tex2D<float4>(t2, x, y);
    float a = tex1D<float>(t1, x) + tex1Dfetch<float>(t1, i);
    float4 b = tex3D<float4>(t3, x, y, 0.5f);
    float4 c = tex2DLod<float4>(t2, x, y, 1.5f);
    float4 d = tex2DGrad<float4>(t2, x, y, make_float2(0.1f, 0), make_float2(0, 0.1f));
    float4 e = tex2Dgather<float4>(t2, x, y, 2);
    out[i] = make_float4(r.x + a + b.x, r.y + c.y + b.y, d.z + e.z, r.w + e.w);
}

extern "C" __global__ void texture_kinds(cudaTextureObject_t layered, cudaTextureObject_t cube, cudaTextureObject_t integers, int4 *out)
{
    int i = threadIdx.x;
    float4 a = tex2DLayered<float4>(layered, i, 1.f, i & 3);
    float4 b = texCubemap<float4>(cube, 1.f, 0.5f, i * 0.1f);
    float4 c = texCubemapLayered<float4>(cube, 1.f, 0.5f, i * 0.1f, 2);
    int4 d = tex2D<int4>(integers, i, 0);
    uchar4 e = tex1Dfetch<uchar4>(integers, i);
    out[i] = make_int4((int)(a.x + b.x), (int)c.y + d.y, d.z + e.z, d.w + e.w);
}

extern "C" __global__ void surface_copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    uchar4 v = surf2Dread<uchar4>(from, x * 4, y, cudaBoundaryModeClamp);
    surf2Dwrite(make_uchar4(v.w, v.z, v.y, v.x), to, x * 4, y, cudaBoundaryModeZero);
    float w;
    surf1Dread(&w, from, x * 4);
    surf3Dwrite(w, to, x * 4, y, 1, cudaBoundaryModeTrap);
    surf2DLayeredwrite(make_short2(x, y), to, x * 4, y, 3);
}

extern "C" __global__ void image_blur(cudaTextureObject_t image, float *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
    if (x < width && y < height)
        out[y * width + x] = sum / ((2 * radius + 1) * (2 * radius + 1));
}
