#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Asks a GPU for products of random matrices, to see how its tensor cores round.

    tools/oriole-generate/record_mma.py > crates/oriole-emulator/tests/data/mma_h200.txt

A line is an instruction, the registers of A, B and C of every lane, lane by lane, and behind ` = ` the registers of D, all as
hexadecimal words. Numbers are drawn with exponents from four ranges, the accumulators' from others. Needs libcuda and ptxas.
"""
import ctypes
import importlib.util
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

# Instruction: type of A and B, registers of A, B and C, type of C.
SHAPES = {
    "m16n8k16.row.col.f32.f16.f16.f32": ("f16", 4, 2, 4, "f32"),
    "m16n8k8.row.col.f32.f16.f16.f32": ("f16", 2, 1, 4, "f32"),
    "m16n8k16.row.col.f16.f16.f16.f16": ("f16", 4, 2, 2, "f16"),
    "m16n8k16.row.col.f32.bf16.bf16.f32": ("bf16", 4, 2, 4, "f32"),
    "m16n8k8.row.col.f32.tf32.tf32.f32": ("tf32", 4, 2, 4, "f32"),
    "m16n8k4.row.col.f32.tf32.tf32.f32": ("tf32", 2, 1, 4, "f32"),
}
RANGES = [(-1, 1), (-4, 4), (-8, 8), (-12, 10)]
ACCUMULATOR_RANGES = [(-2, 2), (-6, 8), (-14, 14), (4, 12)]
# Bias, bits of the mantissa, and how far the pattern is from the low end.
FORMATS = {"f16": (15, 10, 0), "bf16": (127, 7, 0), "f32": (127, 23, 0), "tf32": (127, 10, 13)}


def corpus_driver():
    """The driver API as the corpus runner wraps it."""
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "corpus" / "run_on_gpu.py"
    spec = importlib.util.spec_from_file_location("run_on_gpu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver()


def element(kind: str, low: int, high: int) -> int:
    bias, bits, shift = FORMATS[kind]
    width = 16 if kind in ("f16", "bf16") else 32
    exponent = random.randint(low, high) + bias
    return random.getrandbits(1) << (width - 1) | (exponent << bits | random.getrandbits(bits)) << shift


def register(kind: str, low: int, high: int) -> int:
    if random.random() < 0.03:
        return 0
    if kind in ("f16", "bf16"):
        return element(kind, low, high) | element(kind, low, high) << 16
    return element(kind, low, high)


def kernel(mnemonic: str, counts: tuple, target: str) -> str:
    """Each thread loads its words of A, B and C, and stores those of D behind them."""
    names = [[f"%{letter}{index}" for index in range(count)] for letter, count in zip("abcd", (*counts, counts[2]))]
    operands = names[0] + names[1] + names[2]
    loads = "".join(f"ld.global.u32 {name}, [%at+{4 * index}];\n" for index, name in enumerate(operands))
    stores = "".join(f"st.global.u32 [%at+{4 * (len(operands) + i)}], {name};\n" for i, name in enumerate(names[3]))
    d, a, b, c = ("{" + ", ".join(names[index]) + "}" for index in (3, 0, 1, 2))
    return f""".version 8.6
.target {target}
.address_size 64
.visible .entry record(.param .u64 data)
{{
.reg .b64 %at; .reg .b32 %thread, {", ".join(operands + names[3])};
ld.param.u64 %at, [data];
mov.u32 %thread, %tid.x;
mad.wide.u32 %at, %thread, {4 * (len(operands) + counts[2])}, %at;
{loads}{mnemonic} {d}, {a}, {b}, {c};
{stores}ret;
}}
"""


def main() -> int:
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("record_mma: there is no ptxas", file=sys.stderr)
        return 2
    random.seed(5)
    driver = corpus_driver()
    device = driver.describe()
    major, minor = driver.capability()
    print(f"# {device['name']}, compute capability {device['capability']}, CUDA driver {device['driver']}")
    for shape, (kind, a, b, c, accumulator) in SHAPES.items():
        mnemonic = f"mma.sync.aligned.{shape}"
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = pathlib.Path(folder, "record.ptx"), pathlib.Path(folder, "record.cubin")
            source.write_text(kernel(mnemonic, (a, b, c), f"sm_{major}{minor}"))
            subprocess.run([ptxas, f"-arch=sm_{major}{minor}", source, "-o", cubin], check=True)
            module, function, pointer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
            driver.call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"record")
        each = a + b + 2 * c
        for low_high, accumulator_range in zip(RANGES, ACCUMULATOR_RANGES):
            words = []
            for _ in range(32):
                words += [register(kind, *low_high) for _ in range(a + b)]
                words += [register(accumulator, *accumulator_range) for _ in range(c)] + [0] * c
            data = ctypes.create_string_buffer(struct.pack(f"<{len(words)}I", *words), 4 * len(words))
            size = ctypes.c_size_t(len(data))
            driver.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
            driver.call("cuMemcpyHtoD_v2", pointer, data, size)
            arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(pointer), ctypes.c_void_p))
            driver.call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
            driver.call("cuCtxSynchronize")
            driver.call("cuMemcpyDtoH_v2", data, pointer, size)
            driver.call("cuMemFree_v2", pointer)
            back = struct.unpack(f"<{len(words)}I", data.raw)
            lanes = [back[lane * each : (lane + 1) * each] for lane in range(32)]
            inputs = " ".join(f"{word:x}" for lane in lanes for word in lane[: each - c])
            outputs = " ".join(f"{word:x}" for lane in lanes for word in lane[each - c :])
            print(f"{mnemonic} {inputs} = {outputs}")
        driver.call("cuModuleUnload", module)
    return 0


if __name__ == "__main__":
    sys.exit(main())
