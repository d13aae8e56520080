#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs generated kernels on a GPU and prints a checksum of what each writes.

    oriole-generate --count 10000 --folder generated
    oriole-generate --input input.bin
    tools/oriole-generate/run_on_gpu.py generated input.bin > gpu.txt
    oriole-generate --count 10000 --outputs | diff - gpu.txt

Needs libcuda and ptxas; assembles on all cores and launches every entry with the shape all generated kernels have. Modules run
in processes of their own: a kernel that fails or does not end is reported as `NAME failed: WHY` and takes no other with it.
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
# For the kernels of a module.
SECONDS = 60


def corpus_driver():
    """The driver API as the corpus runner wraps it."""
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "corpus" / "run_on_gpu.py"
    spec = importlib.util.spec_from_file_location("run_on_gpu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver()


def launch_all(modules, input_bytes):
    """Launches the named kernels of modules and prints a checksum of what each writes; ends at the first that fails."""
    driver = corpus_driver()
    device_input, device_output, module = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
    driver.call("cuMemAlloc_v2", ctypes.byref(device_input), ctypes.c_size_t(len(input_bytes)))
    driver.call("cuMemAlloc_v2", ctypes.byref(device_output), ctypes.c_size_t(OUTPUT_BYTES))
    driver.call("cuMemcpyHtoD_v2", device_input, input_bytes, ctypes.c_size_t(len(input_bytes)))
    host = ctypes.create_string_buffer(OUTPUT_BYTES)
    arguments = (ctypes.c_void_p * 2)(
        ctypes.cast(ctypes.byref(device_input), ctypes.c_void_p),
        ctypes.cast(ctypes.byref(device_output), ctypes.c_void_p),
    )
    for cubin, names in modules:
        driver.call("cuModuleLoadData", ctypes.byref(module), pathlib.Path(cubin).read_bytes())
        for name in names:
            function = ctypes.c_void_p()
            driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            driver.call("cuMemsetD8_v2", device_output, ctypes.c_ubyte(0), ctypes.c_size_t(OUTPUT_BYTES))
            driver.call("cuLaunchKernel", function, GRID, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
            driver.call("cuCtxSynchronize")
            driver.call("cuMemcpyDtoH_v2", host, device_output, ctypes.c_size_t(OUTPUT_BYTES))
            print(f"{name} {zlib.crc32(host.raw):08x}", flush=True)
        driver.call("cuModuleUnload", module)


def run_module(path, ptxas, arch, input_file):
    """The lines of a module's kernels. Each process ends with the first kernel that fails; another goes on behind it."""
    cubin = path.with_suffix(".cubin")
    done = subprocess.run([ptxas, f"-arch={arch}", path, "-o", cubin], capture_output=True, text=True)
    if done.returncode:
        # A crash of ptxas says nothing and has a negative status.
        return [], f"{path}: status {done.returncode} {done.stderr.strip()[:400]}"
    names, lines = re.findall(r"\.entry\s+(\w+)", path.read_text()), []
    while len(lines) < len(names):
        command = [sys.executable, __file__, "--launch", cubin, input_file, *names[len(lines) :]]
        try:
            child = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            said, problem = child.stdout, (child.stderr.strip().splitlines() or ["died"])[-1]
        except subprocess.TimeoutExpired as expired:
            said, problem = (expired.stdout or b"").decode(), f"did not end in {SECONDS} s"
        lines += said.splitlines()
        if len(lines) < len(names):
            lines.append(f"{names[len(lines)]} failed: {problem}")
    return lines, None


def main() -> int:
    if sys.argv[1] == "--launch":
        launch_all([(sys.argv[2], sys.argv[4:])], pathlib.Path(sys.argv[3]).read_bytes())
        return 0
    if sys.argv[1] == "--serve":
        # A line a module: its cubin and a kernel of it.
        modules = ((line.split()[0], line.split()[1:]) for line in sys.stdin)
        launch_all(modules, pathlib.Path(sys.argv[2]).read_bytes())
        return 0
    folder, input_file = pathlib.Path(sys.argv[1]), sys.argv[2]
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("run_on_gpu: there is no ptxas", file=sys.stderr)
        return 2
    driver = corpus_driver()
    major, minor = driver.capability()
    print(driver.describe(), file=sys.stderr)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        run = lambda path: run_module(path, ptxas, f"sm_{major}{minor}", input_file)
        for lines, problem in pool.map(run, sorted(folder.glob("*.ptx"))):
            if problem:
                print(f"run_on_gpu: {problem}", file=sys.stderr)
                failed += 1
            for line in lines:
                print(line)
                failed += "failed" in line
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
