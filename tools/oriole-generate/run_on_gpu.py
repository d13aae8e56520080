#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs generated kernels on a GPU and prints a checksum of what each writes.

    oriole-generate --count 10000 --folder generated
    oriole-generate --input input.bin
    tools/oriole-generate/run_on_gpu.py generated input.bin > gpu.txt
    oriole-generate --count 10000 --outputs | diff - gpu.txt

Needs libcuda and ptxas; assembles on all cores, then launches every entry with the shape all generated kernels have.
"""
import concurrent.futures
import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

GRID, BLOCK, THREAD_BYTES, CELLS = 2, 64, 256, 16
OUTPUT_BYTES = GRID * BLOCK * THREAD_BYTES + CELLS * 8


def corpus_driver():
    """The driver API as the corpus runner wraps it."""
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "corpus" / "run_on_gpu.py"
    spec = importlib.util.spec_from_file_location("run_on_gpu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver()


def main() -> int:
    folder, input_bytes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("run_on_gpu: there is no ptxas", file=sys.stderr)
        return 2
    driver = corpus_driver()
    major, minor = driver.capability()
    print(driver.describe(), file=sys.stderr)

    def assemble(path):
        cubin = path.with_suffix(".cubin")
        done = subprocess.run([ptxas, f"-arch=sm_{major}{minor}", path, "-o", cubin], capture_output=True, text=True)
        # A crash of ptxas says nothing and has a negative status.
        return path, cubin, f"status {done.returncode} {done.stderr}" if done.returncode else None

    device_input, device_output = ctypes.c_uint64(), ctypes.c_uint64()
    driver.call("cuMemAlloc_v2", ctypes.byref(device_input), ctypes.c_size_t(len(input_bytes)))
    driver.call("cuMemAlloc_v2", ctypes.byref(device_output), ctypes.c_size_t(OUTPUT_BYTES))
    driver.call("cuMemcpyHtoD_v2", device_input, input_bytes, ctypes.c_size_t(len(input_bytes)))
    host = ctypes.create_string_buffer(OUTPUT_BYTES)
    arguments = (ctypes.c_void_p * 2)(
        ctypes.cast(ctypes.byref(device_input), ctypes.c_void_p),
        ctypes.cast(ctypes.byref(device_output), ctypes.c_void_p),
    )
    failed = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for path, cubin, problem in pool.map(assemble, sorted(folder.glob("*.ptx"))):
            if problem:
                print(f"run_on_gpu: {path}: {problem.strip()[:400]}", file=sys.stderr)
                failed += 1
                continue
            module = ctypes.c_void_p()
            driver.call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
            for name in re.findall(r"\.entry\s+(\w+)", path.read_text()):
                function = ctypes.c_void_p()
                driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
                driver.call("cuMemsetD8_v2", device_output, ctypes.c_ubyte(0), ctypes.c_size_t(OUTPUT_BYTES))
                driver.call("cuLaunchKernel", function, GRID, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
                driver.call("cuCtxSynchronize")
                driver.call("cuMemcpyDtoH_v2", host, device_output, ctypes.c_size_t(OUTPUT_BYTES))
                print(f"{name} {zlib.crc32(host.raw):08x}")
            driver.call("cuModuleUnload", module)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
