#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs every kernel of the modules in a folder on a GPU and prints a checksum of what each wrote.

    record_folder.py FOLDER OUTPUT_BYTES > checksums.txt

The launches are those of run_folder.rs. ptxas (in PATH, or PTXAS=...) is told not to fuse products and sums, so that the
GPU executes what is written.
"""
import concurrent.futures
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

MASK = (1 << 64) - 1


def random_bytes(count):
    state, out = 0, bytearray()
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append((z ^ (z >> 31)) & 0xFF)
    return bytes(out)


def main():
    folder, size = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    modules = sorted(folder.glob("*.ptx"))

    def assemble(path):
        target = path.with_suffix(".cubin")
        done = subprocess.run([ptxas, "-arch=sm_90", "-fmad=false", "-o", target, path], capture_output=True, text=True)
        return target if done.returncode == 0 else done.stderr.strip()[:300]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        assembled = list(pool.map(assemble, modules))

    cuda = ctypes.CDLL("libcuda.so.1")

    def check(status, what):
        if status:
            sys.exit(f"{what}: error {status}")

    check(cuda.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    source, target = ctypes.c_uint64(), ctypes.c_uint64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(source), ctypes.c_size_t(4096)), "cuMemAlloc")
    check(cuda.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(size)), "cuMemAlloc")
    check(cuda.cuMemcpyHtoD_v2(source, random_bytes(4096), ctypes.c_size_t(4096)), "cuMemcpyHtoD")
    host = ctypes.create_string_buffer(size)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(target))
    keep = os.environ.get("KEEP", "").split(",")
    for path, cubin in zip(modules, assembled):
        names = re.findall(r"\.entry\s+([\w$]+)", path.read_text())
        if isinstance(cubin, str):
            print(f"{names[0]} {path.name}: {cubin}")
            continue
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), cubin.read_bytes()), path)
        for name in names:
            function = ctypes.c_void_p()
            check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), name)
            check(cuda.cuMemsetD8_v2(target, ctypes.c_ubyte(0), ctypes.c_size_t(size)), name)
            check(cuda.cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, None, arguments, None), name)
            check(cuda.cuCtxSynchronize(), name)
            check(cuda.cuMemcpyDtoH_v2(host, target, ctypes.c_size_t(size)), name)
            print(f"{name} {zlib.crc32(host.raw):08x}")
            if name in keep:
                pathlib.Path(os.environ.get("OUT", "."), f"{name}.bin").write_bytes(host.raw)
        cuda.cuModuleUnload(module)


main()
