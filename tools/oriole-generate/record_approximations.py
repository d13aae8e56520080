#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Asks a GPU what approximate instructions give.

    oriole run kernel.ptx ... --approx-missing wanted.txt
    tools/oriole-generate/record_approximations.py wanted.txt > recorded.txt
    oriole run kernel.ptx ... --approx recorded.txt

A line of the input is an instruction and its operands as hexadecimal bits, `ex2.approx.ftz.f32 3f000000`; what stands behind
an `=` is ignored, so a recording of another machine is an input too. Lines come back in order with ` = ` and the result.
Needs libcuda and ptxas. Every instruction is assembled alone, in a kernel that reads its operands from memory.
"""
import ctypes
import importlib.util
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

WIDTHS = {"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64}
BLOCK = 256


def corpus_driver():
    """The driver API as the corpus runner wraps it."""
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "corpus" / "run_on_gpu.py"
    spec = importlib.util.spec_from_file_location("run_on_gpu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver()


def kernel(mnemonic: str, count: int, target: str) -> str:
    """`data` holds, for each result, 8 bytes of each operand, and then 8 bytes for the result."""
    bits = WIDTHS[mnemonic.rsplit(".", 1)[1]]
    operands = [f"%a{index}" for index in range(count)]
    loads = "".join(f"ld.global.b{bits} {name}, [%at+{8 * index}];\n" for index, name in enumerate(operands))
    return f""".version 8.6
.target {target}
.address_size 64
.visible .entry record(.param .u64 data, .param .u64 last)
{{
.reg .b64 %at, %last, %index; .reg .b32 %block, %thread; .reg .pred %beyond;
.reg .b{bits} %d, {", ".join(operands)};
ld.param.u64 %at, [data];
cvta.to.global.u64 %at, %at;
ld.param.u64 %last, [last];
mov.u32 %block, %ctaid.x;
mov.u32 %thread, %tid.x;
mad.lo.u32 %block, %block, {BLOCK}, %thread;
cvt.u64.u32 %index, %block;
setp.ge.u64 %beyond, %index, %last;
@%beyond ret;
mad.lo.u64 %at, %index, {8 * (count + 1)}, %at;
{loads}{mnemonic} %d, {", ".join(operands)};
st.global.b{bits} [%at+{8 * count}], %d;
ret;
}}
"""


def record(driver, ptxas: str, mnemonic: str, inputs: list) -> list:
    count = len(inputs[0])
    major, minor = driver.capability()
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = pathlib.Path(folder, "record.ptx"), pathlib.Path(folder, "record.cubin")
        source.write_text(kernel(mnemonic, count, f"sm_{major}{minor}"))
        subprocess.run([ptxas, f"-arch=sm_{major}{minor}", source, "-o", cubin], check=True)
        module = ctypes.c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
    function, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"record")
    data = b"".join(struct.pack(f"<{count + 1}Q", *operands, 0) for operands in inputs)
    driver.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(data)))
    driver.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
    last = ctypes.c_uint64(len(inputs))
    arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in (pointer, last)))
    blocks = (len(inputs) + BLOCK - 1) // BLOCK
    driver.call("cuLaunchKernel", function, blocks, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
    driver.call("cuCtxSynchronize")
    back = ctypes.create_string_buffer(len(data))
    driver.call("cuMemcpyDtoH_v2", back, pointer, ctypes.c_size_t(len(data)))
    driver.call("cuMemFree_v2", pointer)
    driver.call("cuModuleUnload", module)
    words = struct.unpack(f"<{len(data) // 8}Q", back.raw)
    return words[count :: count + 1]


def main() -> int:
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if len(sys.argv) != 2 or not ptxas:
        print(__doc__ if ptxas else "record_approximations: there is no ptxas", file=sys.stderr)
        return 2
    wanted = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        words = line.split("#")[0].split("=")[0].split()
        if words:
            wanted.setdefault(words[0], {})[tuple(int(word, 16) for word in words[1:])] = None
    driver = corpus_driver()
    device = driver.describe()
    print(f"# {device['name']}, compute capability {device['capability']}, CUDA driver {device['driver']}")
    for mnemonic, inputs in wanted.items():
        inputs = list(inputs)
        digits = WIDTHS[mnemonic.rsplit(".", 1)[1]] // 4
        for operands, result in zip(inputs, record(driver, ptxas, mnemonic, inputs)):
            words = " ".join(f"{operand:0{digits}x}" for operand in operands)
            print(f"{mnemonic} {words} = {result:0{digits}x}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
