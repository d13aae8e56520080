#!/usr/bin/env python3
"""Runs every kernel of this folder on the GPU and writes results.bin (zlib-compressed).

Needs ptxas (in PATH, or PTXAS=...) and libcuda; no other package. Usage: python3 run.py
"""
import concurrent.futures
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ARCH = os.environ.get("ARCH", "sm_90")


def assemble(module):
    source = os.path.join(HERE, f"forms_{module}.ptx")
    target = os.path.join(HERE, f"forms_{module}.cubin")
    candidates = [os.environ.get("PTXAS"), shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"]
    ptxas = next((path for path in candidates if path and os.path.exists(path)), None)
    if ptxas is None:
        sys.exit("ptxas not found: set PTXAS")
    done = subprocess.run([ptxas, f"-arch={ARCH}", "-o", target, source], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source}: {done.stderr[:4000]}")
    with open(target, "rb") as file:
        return file.read()


def main():
    with open(os.path.join(HERE, "manifest.tsv")) as file:
        header, *rows = file.read().splitlines()
    inputs_hash, vectors = header.split()
    vectors = int(vectors)
    forms = []
    for row in rows:
        index, module, offset, input_count, widths, key = row.split("\t")
        forms.append((int(index), int(module), int(offset), int(input_count), [int(w) for w in widths.split(",")], key))
    with open(os.path.join(HERE, "inputs.bin"), "rb") as file:
        inputs = file.read()

    started = time.time()
    modules = sorted({form[1] for form in forms})
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cubins = dict(zip(modules, pool.map(assemble, modules)))
    print(f"assembled {len(forms)} forms in {time.time() - started:.1f} s", flush=True)

    cuda = ctypes.CDLL("libcuda.so.1")

    def check(status, what):
        if status != 0:
            name = ctypes.c_char_p()
            cuda.cuGetErrorString(status, ctypes.byref(name))
            sys.exit(f"{what}: error {status} {name.value}")

    check(cuda.cuInit(0), "cuInit")
    device = ctypes.c_int()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    context = ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    name = ctypes.create_string_buffer(100)
    cuda.cuDeviceGetName(name, 100, device)
    device_name = name.value.decode()

    def allocate(size):
        pointer = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)), "cuMemAlloc")
        return pointer

    device_inputs = allocate(len(inputs))
    check(cuda.cuMemcpyHtoD_v2(device_inputs, inputs, ctypes.c_size_t(len(inputs))), "cuMemcpyHtoD")
    largest = 8 * vectors * max(len(form[4]) for form in forms)
    device_outputs = allocate(largest)
    host = ctypes.create_string_buffer(largest)

    loaded = {}
    for module, cubin in cubins.items():
        handle = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(handle), cubin), f"cuModuleLoadData {module}")
        loaded[module] = handle

    body = bytearray()
    for index, module, offset, input_count, widths, key in forms:
        function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), loaded[module], f"k{index}".encode()), key)
        size = 8 * vectors * len(widths)
        check(cuda.cuMemsetD8_v2(device_outputs, ctypes.c_ubyte(0xEE), ctypes.c_size_t(size)), "cuMemsetD8")
        source = ctypes.c_uint64(device_inputs.value + offset)
        target = ctypes.c_uint64(device_outputs.value)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(target))
        check(cuda.cuLaunchKernel(function, 1, 1, 1, vectors, 1, 1, 0, None, arguments, None), key)
        check(cuda.cuCtxSynchronize(), key)
        check(cuda.cuMemcpyDtoH_v2(host, device_outputs, ctypes.c_size_t(size)), key)
        raw = host.raw[:size]
        name = key.encode()
        body += struct.pack("<H", len(name)) + name
        body += struct.pack("<B", len(widths)) + bytes(widths)
        # Column by column, which compresses better.
        for column, width in enumerate(widths):
            for row in range(vectors):
                start = 8 * (row * len(widths) + column)
                body += raw[start : start + width]

    label = f"{device_name} {ARCH}".encode()
    result = b"oriole-vectors-1" + struct.pack("<QIIH", int(inputs_hash, 16), vectors, len(forms), len(label)) + label + bytes(body)
    packed = zlib.compress(result, 9)
    path = os.path.join(os.environ.get("OUT", HERE), "results.bin")
    with open(path, "wb") as file:
        file.write(packed)
    print(f"{path}: {len(forms)} forms on {device_name}, {len(packed)} bytes ({len(result)} unpacked), {time.time() - started:.1f} s")


if __name__ == "__main__":
    main()
