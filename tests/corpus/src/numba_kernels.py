# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Numba kernels of the corpus, compiled without a GPU.

    numba_kernels.py --list              the files this makes, one `name.variant` to the line
    numba_kernels.py name.variant FILE   compiles one and writes its PTX
"""

import math
import sys

from numba import cuda, float32, float64, int32, int64, uint8, uint32


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def matmul_shared(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(0, a.shape[1], 16):
        sa[ty, tx] = a[y, k + tx]
        sb[ty, tx] = b[k + ty, x]
        cuda.syncthreads()
        for i in range(16):
            total += sa[ty, i] * sb[i, tx]
        cuda.syncthreads()
    c[y, x] = total


def reduce_warp(x, out):
    i = cuda.grid(1)
    v = x[i]
    d = 16
    while d > 0:
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, d)
        d //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


def histogram(data, bins):
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, data[i], 1)


def mandelbrot(out, limit):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        c = complex(x * 3.0 / out.shape[1] - 2.0, y * 2.0 / out.shape[0] - 1.0)
        z = complex(0.0, 0.0)
        for i in range(limit):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag > 4.0:
                out[y, x] = i
                return
        out[y, x] = limit


def math_mix(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i] = math.sin(v) + math.exp(-abs(v)) + math.sqrt(abs(v)) + math.log1p(abs(v)) + math.floor(v) + v ** 3 + math.hypot(v, 2.0)


def local_sort(x, out):
    scratch = cuda.local.array(16, int32)
    i = cuda.grid(1)
    for k in range(16):
        scratch[k] = x[i, k]
    for k in range(1, 16):
        key = scratch[k]
        j = k - 1
        while j >= 0 and scratch[j] > key:
            scratch[j + 1] = scratch[j]
            j -= 1
        scratch[j + 1] = key
    for k in range(16):
        out[i, k] = scratch[k]


def transpose(x, out):
    tile = cuda.shared.array((32, 33), float64)
    bx, by, tx, ty = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32, cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(0, 32, 8):
        tile[ty + k, tx] = x[by + ty + k, bx + tx]
    cuda.syncthreads()
    for k in range(0, 32, 8):
        out[bx + ty + k, by + tx] = tile[tx, ty + k]


def integer_division(x, out, d):
    i = cuda.grid(1)
    out[i] = (x[i] // d) * 3 + x[i] % d - (x[i] >> 2)


# name: (function, signature)
KERNELS = {
    "saxpy": (saxpy, (float32, float32[::1], float32[::1])),
    "matmul_shared": (matmul_shared, (float32[:, ::1], float32[:, ::1], float32[:, ::1])),
    "reduce_warp": (reduce_warp, (float32[::1], float32[::1])),
    "histogram": (histogram, (uint8[::1], int32[::1])),
    "mandelbrot": (mandelbrot, (uint32[:, ::1], int32)),
    "math_mix": (math_mix, (float64[::1], float64[::1])),
    "local_sort": (local_sort, (int32[:, ::1], int32[:, ::1])),
    "transpose": (transpose, (float64[:, :], float64[:, :])),
    "integer_division": (integer_division, (int64[::1], int64[::1], int64)),
}
VARIANTS = {
    "O3": {},
    "lineinfo": {"lineinfo": True},
    # Calls an exception helper of Numba's that only its linker supplies.
    "debug.rdc": {"debug": True, "opt": False},
    "fastmath": {"fastmath": True},
}
# Numba compiles this one to several PTX files.
SKIPPED = {"debug.rdc": ("math_mix",)}


def listed():
    for name in KERNELS:
        for variant in VARIANTS:
            if name in SKIPPED.get(variant, ()) or variant == "fastmath" and name not in ("math_mix", "mandelbrot"):
                continue
            yield f"{name}.{variant}.sm_80"


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(listed()))
    else:
        name, rest = sys.argv[1].split(".", 1)
        variant, arch = rest.rsplit(".", 1)
        function, signature = KERNELS[name]
        text, _ = cuda.compile_ptx(function, signature, cc=(int(arch[3:]) // 10, int(arch[3:]) % 10), **VARIANTS[variant])
        with open(sys.argv[2], "w") as file:
            file.write(text)
