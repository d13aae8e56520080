#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Times kernels with bank conflicts, with rows padded by hand, and with words permuted or rows padded by Oriole, on a GPU.

    tests/swizzle/run_on_gpu.py --oriole target/release/oriole [--size 8192] [--repeat 50]
    tests/swizzle/run_on_gpu.py --oriole target/release/oriole --write FOLDER       on any machine: only optimizes
    tests/swizzle/run_on_gpu.py --read FOLDER                                       with what that wrote, where Oriole is not

Needs Python 3.9 and the driver (libcuda.so.1); nothing else. Prints microseconds of each kernel (the median of all repetitions), the
bytes a second that a transposition moves, and the time of the permuted kernel over that of the one that was padded by hand: of transpose.ptx, a
transposition, and of layouts.ptx, tiles that are declared outside of kernels, that asynchronous copies fill and whose rows are no power of two. Of the
latter, `divided` are kernels in which Oriole is made to pad rows of 128 bytes, by dividing every offset. The exit status is 1 if a result is wrong or if a
permuted kernel takes more than 5 % longer than the one that was padded by hand.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ALLOWED = 1.05


class Driver:
    """The few calls of the driver that are needed."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise SystemExit(f"{name}: {(text.value or b'?').decode()}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def module(self, text):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text))
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def launch(self, function, grid, arguments, block=(32, 8, 1)):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(own) for own in arguments])
        self.call("cuLaunchKernel", function, *grid, *block, 0, None, pointers, None)

    def microseconds(self, function, grid, arguments, repeat, block=(32, 8, 1)):
        start, end = self.event(), self.event()
        for _ in range(5):
            self.launch(function, grid, arguments, block)
        times = []
        for _ in range(repeat):
            self.call("cuEventRecord", start, None)
            self.launch(function, grid, arguments, block)
            self.call("cuEventRecord", end, None)
            self.call("cuEventSynchronize", end)
            elapsed = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(elapsed), start, end)
            times.append(elapsed.value * 1e3)
        return statistics.median(times)


# What Oriole makes of files: the name, the file, and how.
MADE = {
    "transpose_permuted.ptx": ("transpose.ptx", ["--swizzle-shared"]),
    "layouts_permuted.ptx": ("layouts.ptx", ["--swizzle-shared"]),
    "layouts_divided.ptx": ("layouts.ptx", ["--passes", "swizzle-shared", "--knob", "SwizzleSharedAlways=3"]),
}


def write(oriole, folder):
    for name, (file, options) in MADE.items():
        command = [oriole, "opt", *options, HERE / file, "-o", folder / name]
        subprocess.run(command, check=True)


def made(arguments):
    """What Oriole makes of files, by name."""
    if arguments.read:
        return {name: (pathlib.Path(arguments.read) / name).read_bytes() for name in MADE}
    with tempfile.TemporaryDirectory() as folder:
        write(arguments.oriole, pathlib.Path(folder))
        return {name: (pathlib.Path(folder) / name).read_bytes() for name in MADE}


def time_layouts(driver, texts, arguments):
    """Times the kernels of layouts.ptx; tells whether all is as it should be."""
    blocks = 2048
    count = blocks * 2048
    numbers = (ctypes.c_uint32 * count)(*[(at * 2654435761) & 0xFFFFFFFF for at in range(count)])
    source, target = driver.allocate(4 * count), driver.allocate(4 * 256 * blocks)
    driver.call("cuMemcpyHtoD_v2", source, numbers, ctypes.c_size_t(4 * count))
    modules = {name: driver.module(text + b"\0") for name, text in texts.items()}
    cases = [("conflicting", "plain"), ("padded", "plain"), ("conflicting", "permuted"), ("conflicting", "divided")]
    is_right = True
    for of in ("module", "module_too", "words", "matrices", "rows"):
        block = (32, 4, 1) if of == "rows" else (32, 8, 1)
        written = block[0] * block[1] * blocks
        times, first = {}, None
        for kind, module in cases:
            name = kind if module == "plain" else module
            function = driver.function(modules[module], f"{kind}_{of}")
            given = [target, source, ctypes.c_int(arguments.rounds)]
            driver.call("cuMemsetD32_v2", target, 0, ctypes.c_size_t(written))
            times[name] = driver.microseconds(function, (blocks, 1, 1), given, arguments.repeat, block)
            result = (ctypes.c_uint32 * written)()
            driver.call("cuMemcpyDtoH_v2", result, target, ctypes.c_size_t(4 * written))
            first = first or bytes(result)
            if bytes(result) != first:
                print(f"{name}_{of}: the results are not those of conflicting_{of}")
                is_right = False
            print(f"{name + '_' + of:24} {times[name]:12.2f} us")
        ratio = times["permuted"] / times["padded"]
        divided = times["divided"] / times["padded"]
        print(f"permuted over padded: {ratio:.3f}, divided over padded: {divided:.3f}")
        is_right &= ratio <= ALLOWED
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oriole", default="oriole", help="the command")
    parser.add_argument("--write", help="only write what Oriole makes of the files to this folder")
    parser.add_argument("--read", help="a folder with what was written before, instead of the command")
    parser.add_argument("--size", type=int, default=8192, help="rows and columns, a multiple of 32")
    parser.add_argument("--rounds", type=int, default=1000, help="exchanges of a tile in the kernels named `often`")
    parser.add_argument("--repeat", type=int, default=50)
    arguments = parser.parse_args()
    size = arguments.size
    if arguments.write:
        pathlib.Path(arguments.write).mkdir(parents=True, exist_ok=True)
        write(arguments.oriole, pathlib.Path(arguments.write))
        return
    plain = (HERE / "transpose.ptx").read_bytes()
    texts = made(arguments)
    permuted = texts["transpose_permuted.ptx"]
    driver = Driver()
    modules = {"plain": driver.module(plain + b"\0"), "permuted": driver.module(permuted + b"\0")}
    count = size * size
    numbers = (ctypes.c_uint32 * count)(*range(count))
    source, target = driver.allocate(4 * count), driver.allocate(4 * count)
    driver.call("cuMemcpyHtoD_v2", source, numbers, ctypes.c_size_t(4 * count))
    print(f"{driver.name}, {size} x {size}")
    cases = [("conflicting", "plain", ""), ("padded", "plain", ""), ("permuted", "permuted", "conflicting")]
    times = {}
    is_wrong = False
    for often in ("", "_often"):
        for name, module, of in cases:
            kernel = (of or name) + often
            function = driver.function(modules[module], kernel)
            grid = (count // 1024, 1, 1) if often else (size // 32, size // 32, 1)
            if often:
                grid = (min(grid[0], 4096), 1, 1)
            given = [target, source, ctypes.c_int(arguments.rounds if often else size)]
            driver.call("cuMemsetD32_v2", target, 0, ctypes.c_size_t(count))
            time = driver.microseconds(function, grid, given, arguments.repeat)
            times[name + often] = time
            rate = "" if often else f"{8 * count / time / 1e3:10.1f} GB/s"
            print(f"{name + often:20} {time:12.2f} us {rate}")
            result = (ctypes.c_uint32 * count)()
            driver.call("cuMemcpyDtoH_v2", result, target, ctypes.c_size_t(4 * count))
            for at in range(0, min(count, grid[0] * grid[1] * 1024), 977):
                if often:
                    tile, place = divmod(at, 1024)
                    row, column = divmod(place, 32)
                    swaps = arguments.rounds % 2
                    wanted = tile * 1024 + (column * 32 + row if swaps else place)
                else:
                    row, column = divmod(at, size)
                    wanted = column * size + row
                if result[at] != wanted:
                    print(f"{kernel}: element {at} is {result[at]}, not {wanted}")
                    is_wrong = True
                    break
    ratio = times["permuted"] / times["padded"]
    often = times["permuted_often"] / times["padded_often"]
    print(f"permuted over padded: {ratio:.3f}, {often:.3f} where shared memory is the limit")
    layouts = {
        "plain": (HERE / "layouts.ptx").read_bytes(),
        "permuted": texts["layouts_permuted.ptx"],
        "divided": texts["layouts_divided.ptx"],
    }
    is_right = time_layouts(driver, layouts, arguments)
    sys.exit(1 if is_wrong or ratio > ALLOWED or not is_right else 0)


if __name__ == "__main__":
    main()
