// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80
// All-pairs gravitation with bodies staged through shared memory, and the leapfrog update.

extern "C" __global__ void nbody_accelerate(const float4 *bodies, float3 *accelerations, int n, float softening)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 a = {0, 0, 0};
    for (int base = 0; base < n; base += blockDim.x) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < blockDim.x; ++k) {
            float4 b = tile[k];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float s = b.w * r * r * r;
            a.x += dx * s, a.y += dy * s, a.z += dz * s;
        }
        __syncthreads();
    }
    if (i < n)
        accelerations[i] = a;
}

extern "C" __global__ void nbody_integrate(float4 *bodies, float3 *velocities, const float3 *accelerations, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float3 v = velocities[i], a = accelerations[i];
    v.x += a.x * dt, v.y += a.y * dt, v.z += a.z * dt;
    float4 b = bodies[i];
    b.x += v.x * dt, b.y += v.y * dt, b.z += v.z * dt;
    bodies[i] = b;
    velocities[i] = v;
}
