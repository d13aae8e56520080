#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs the launches of runs.toml on a real GPU and records what every variant wrote.

    run_on_gpu.py -o results.tar.gz [--only nvcc/saxpy] [--kernel NAME] [--ptxas PATH] [--corpus FOLDER]
    run_on_gpu.py --inputs          prints the SHA-256 of every buffer before the launch; needs no GPU

Needs Python 3.9 and the driver (libcuda.so.1); nothing else. The driver compiles the PTX; where it is too old for the
file's .version, ptxas does (--ptxas, $PTXAS, or the one on PATH).

Launches run in a worker process. When one fails, hangs or corrupts the context, it alone is recorded as failed and a
fresh worker goes on with the next.

The archive holds `results.json` and the buffers, each once, as `data/<sha256>`:

    {"device": {...}, "results": [
        {"ptx": "nvcc/saxpy.O3.sm_80.ptx", "kernel": "saxpy", "run": 4, "status": "ok", "result": "exact",
         "registers": 12, "outputs": {"y": {"type": "f32", "count": 1000, "sha256": "..."}}, "inputs": {"x": "..."}}]}

`run` counts the [[run]] tables from zero. README.md defines the argument syntax and how a buffer is filled.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import glob
import hashlib
import io
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parent
MASK = (1 << 64) - 1

# Arguments -----------------------------------------------------------------------------------------------------------

INTEGERS = {"s8": 1, "u8": 1, "s16": 2, "u16": 2, "s32": 4, "u32": 4, "s64": 8, "u64": 8}
FLOATS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
ARGUMENT = re.compile(r"(\w+):(\w+)(?:\[(\d+)\]|\((\d+)\))?(?:=(.*))?")


# Elements of a buffer that are made one by one; none of runs.toml is larger.
MOST_ELEMENTS = 65536


def splitmix64(seed: int):
    """The generator of Steele, Lea and Flood, one 64-bit number at a time."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def encode(kind: str, value) -> bytes:
    """One element, little endian. Integers wrap; floats round to nearest even, the 16-bit ones by way of f32."""
    if kind in INTEGERS:
        size = INTEGERS[kind]
        return (int(value) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    if kind == "f64":
        return struct.pack("<d", value)
    single = struct.pack("<f", value)
    if kind == "f32":
        return single
    if kind == "f16":
        return struct.pack("<e", struct.unpack("<f", single)[0])
    if kind == "bf16":
        bits = int.from_bytes(single, "little")
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to_bytes(2, "little")
    raise ValueError(f"unknown type {kind}")


def number(text: str):
    return int(text, 0) if re.fullmatch(r"[-+]?(0x[0-9a-fA-F]+|\d+)", text) else float(text)


def elements(kind: str, count: int, fill: str, index: int):
    """The values of a buffer: `index` is the argument's place, counted from zero, and seeds `random`."""
    name, _, rest = fill.partition("(")
    given = [number(v) for v in rest.rstrip(")").split(",")] if rest else []
    if fill.startswith("["):
        cycle = [number(v) for v in fill[1:-1].split(",")]
        return (cycle[i % len(cycle)] for i in range(count))
    if name == "zero":
        return (0 for _ in range(count))
    if name == "fill":
        return (given[0] for _ in range(count))
    if name == "iota":
        start, step = given or (0, 1)
        return (start + step * i for i in range(count))
    stream = splitmix64(index)
    if name == "integers" or name == "random" and kind in INTEGERS and given:
        low, high = given
        return (low + next(stream) % (high - low) for _ in range(count))
    if name == "random" and kind in INTEGERS:
        return (next(stream) for _ in range(count))
    if name == "random":
        low, high = map(float, given or (0, 1))
        return (low + (high - low) * ((next(stream) >> 11) * 2.0 ** -53) for _ in range(count))
    raise ValueError(f"unknown fill {fill}")


@functools.lru_cache(maxsize=16)
def contents(kind: str, count: int, fill: str, index: int) -> bytes:
    """The bytes of a buffer. What is timed is large, and making elements is slow: of large buffers a start is made, and repeated."""
    repeats = count > MOST_ELEMENTS and not fill.startswith(("iota", "["))
    values = elements(kind, MOST_ELEMENTS if repeats else count, fill, index)
    data = b"".join(encode(kind, v) for v in values)
    if repeats:
        data = (data * (count // MOST_ELEMENTS + 1))[: len(data) // MOST_ELEMENTS * count]
    return data


class Argument:
    """`name:type=value`, a buffer `name:type[count]=fill`, or an aggregate passed by value `name:type(count)=fill`."""

    def __init__(self, text: str, index: int):
        match = ARGUMENT.fullmatch(text)
        if not match:
            raise ValueError(f"cannot read argument {text!r}")
        self.name, self.kind, buffer, aggregate, fill = match.groups()
        self.is_buffer = buffer is not None
        if buffer or aggregate:
            self.count = int(buffer or aggregate)
            self.data = contents(self.kind, self.count, fill or "zero", index)
        else:
            self.count, self.data = 1, encode(self.kind, number(fill or "0"))


def shape(text: str) -> tuple:
    return tuple(([int(v) for v in text.split("x")] + [1, 1])[:3])


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# The driver ----------------------------------------------------------------------------------------------------------


class CudaError(Exception):
    pass


class Driver:
    """As much of the CUDA driver API as launching needs."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("LIBCUDA", "libcuda.so.1"))
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device.value
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", 0, ctypes.c_size_t(32 << 10))  # stack, for the recursive kernels
        self.call("cuCtxSetLimit", 2, ctypes.c_size_t(8 << 20))  # heap, for device malloc

    def call(self, name: str, *arguments):
        function = getattr(self.library, name)
        status = function(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'?').decode()} ({status})")

    def release(self, name: str, handle):
        """Gives something back. Whether that works does not matter: after a fault nothing does."""
        getattr(self.library, name)(handle)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.device)
        return value.value

    def capability(self) -> tuple:
        return self.attribute(75), self.attribute(76)

    def describe(self) -> dict:
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, self.device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        major, minor = self.capability()
        return {"name": name.value.decode(), "capability": f"{major}.{minor}", "driver": version.value}

    def load(self, path: pathlib.Path, ptxas: str | None) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(5, 6)  # error log buffer and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), ctypes.c_void_p(len(log)))
        text = path.read_bytes() + b"\0"
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text, 2, options, values)
            return module
        except CudaError as error:
            # 222: the driver is older than the PTX.
            if "(222)" not in str(error) or not ptxas:
                said = log.value.decode(errors="replace").strip()
                raise CudaError(f"{error} {said}") from None
        with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
            major, minor = self.capability()
            suffix = "a" if re.search(rb"^\s*\.target\s+sm_\d+a", text, re.M) else ""
            done = subprocess.run([ptxas, f"-arch=sm_{major}{minor}{suffix}", path, "-o", cubin.name], capture_output=True, text=True)
            if done.returncode:
                raise CudaError(f"ptxas: {done.stderr.strip()[:500]}")
            self.call("cuModuleLoadData", ctypes.byref(module), cubin.read())
        return module


class Loaded:
    """A kernel of a file that is loaded, with room for the arguments of a run on the device."""

    def __init__(self, driver: Driver, path: pathlib.Path, run: dict, ptxas: str | None):
        kernel = run["kernel"]
        if kernel == "*":
            kernel = re.search(r"\.entry\s+([\w$%]+)", path.read_text())[1]
        self.driver, self.run, self.storage = driver, run, []
        self.arguments = [Argument(text, i) for i, text in enumerate(run["arguments"])]
        self.module = driver.load(path, ptxas)
        try:
            self.function = ctypes.c_void_p()
            driver.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, kernel.encode())
            self.shared = run.get("shared", 0)
            if self.shared > 48 << 10:
                driver.call("cuFuncSetAttribute", self.function, 8, self.shared)
            self.slots = (ctypes.c_void_p * max(1, len(self.arguments)))()
            for i, argument in enumerate(self.arguments):
                if argument.is_buffer:
                    argument.pointer = ctypes.c_uint64()
                    size = ctypes.c_size_t(max(256, len(argument.data)))
                    driver.call("cuMemAlloc_v2", ctypes.byref(argument.pointer), size)
                    self.storage.append(argument.pointer)
                else:
                    self.storage.append(ctypes.create_string_buffer(argument.data, max(16, len(argument.data))))
                self.slots[i] = ctypes.cast(ctypes.byref(self.storage[-1]), ctypes.c_void_p)
        except Exception:
            self.close()
            raise

    def fill(self):
        """Puts into the buffers what they hold before the first launch."""
        for argument in self.arguments:
            if argument.is_buffer:
                self.driver.call("cuMemcpyHtoD_v2", argument.pointer, argument.data, ctypes.c_size_t(len(argument.data)))

    def launch(self, stream=None):
        grid, block = shape(self.run["grid"]), shape(self.run["block"])
        self.driver.call("cuLaunchKernel", self.function, *grid, *block, self.shared, stream, self.slots, None)

    def registers(self) -> int:
        registers = ctypes.c_int()
        self.driver.call("cuFuncGetAttribute", ctypes.byref(registers), 4, self.function)
        return registers.value

    def close(self):
        for argument in self.arguments:
            if getattr(argument, "pointer", None):
                self.driver.release("cuMemFree_v2", argument.pointer)
        self.driver.release("cuModuleUnload", self.module)


def launch(driver: Driver, path: pathlib.Path, run: dict, ptxas: str | None) -> dict:
    """Runs one launch of one file; the outputs come back as bytes."""
    loaded = Loaded(driver, path, run, ptxas)
    try:
        loaded.fill()
        loaded.launch()
        driver.call("cuCtxSynchronize")

        outputs = {}
        for argument in loaded.arguments:
            if argument.name in run["outputs"]:
                data = ctypes.create_string_buffer(len(argument.data))
                driver.call("cuMemcpyDtoH_v2", data, argument.pointer, ctypes.c_size_t(len(argument.data)))
                outputs[argument.name] = {"type": argument.kind, "count": argument.count, "data": data.raw}
        inputs = {a.name: sha256(a.data) for a in loaded.arguments if a.is_buffer}
        return {"status": "ok", "registers": loaded.registers(), "outputs": outputs, "inputs": inputs}
    finally:
        loaded.close()


def worker(pipe, task):
    """Answers jobs with what the task makes of them until told None. Dies after an error, since the context may be lost."""
    try:
        driver = Driver()
        pipe.send(driver.describe())
    except Exception as error:  # noqa: BLE001
        pipe.send({"error": str(error)})
        return
    while (job := pipe.recv()) is not None:
        try:
            pipe.send(task(driver, *job))
        except Exception as error:  # noqa: BLE001
            pipe.send({"status": "failed", "error": f"{type(error).__name__}: {error}"})
            os._exit(0)


class Pool:
    """One worker at a time, replaced when it fails or takes too long."""

    def __init__(self, task, seconds: float):
        self.task, self.seconds, self.process = task, seconds, None

    def start(self) -> dict:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self.process = spawn.Process(target=worker, args=(other, self.task), daemon=True)
        self.process.start()
        other.close()
        if not self.pipe.poll(120):
            raise CudaError("the worker did not start")
        said = self.pipe.recv()
        if "error" in said:
            raise CudaError(said["error"])
        return said

    def run(self, *job) -> dict:
        if self.process is None:
            self.start()
        try:
            self.pipe.send(job)
            if self.pipe.poll(self.seconds):
                result = self.pipe.recv()
            else:
                result = {"status": "failed", "error": f"no answer in {self.seconds:.0f} s"}
        except (EOFError, OSError) as error:
            result = {"status": "failed", "error": f"the worker died: {error!r}"}
        if result["status"] != "ok":
            self.stop()
        return result

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


# The whole -----------------------------------------------------------------------------------------------------------


def runnable(path: pathlib.Path, capability: tuple) -> bool:
    """Whether the file's target runs on this device: lower or equal, and equal where it ends in a letter."""
    match = re.search(rb"^\s*\.target\s+sm_(\d+)(a?)", path.read_bytes(), re.M)
    target, here = int(match[1]), capability[0] * 10 + capability[1]
    return ".rdc." not in path.name and (target == here if match[2] else target <= here)


def variants(corpus: pathlib.Path, name: str) -> list:
    found = glob.glob(f"{corpus}/ptx/{name}.ptx") + glob.glob(f"{corpus}/ptx/{name}.*.ptx")
    return sorted(map(pathlib.Path, found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="corpus-results.tar.gz")
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE)
    parser.add_argument("--only", action="append", help="names under ptx/, such as nvcc/saxpy or triton")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--variant", help="only files whose name contains this, such as .O3.")
    parser.add_argument("--ptxas", default=os.environ.get("PTXAS") or shutil.which("ptxas"))
    parser.add_argument("--seconds", type=float, default=30, help="limit for one launch, compilation included")
    parser.add_argument("--inputs", action="store_true")
    options = parser.parse_args()

    runs = tomllib.loads((options.corpus / "runs.toml").read_text())["run"]
    chosen = [
        (i, run) for i, run in enumerate(runs)
        if (not options.only or any(run["ptx"] == o or run["ptx"].startswith(o.rstrip("/") + "/") for o in options.only))
        and (not options.kernel or run["kernel"] in options.kernel)
    ]
    if options.inputs:
        for i, run in chosen:
            for k, text in enumerate(run["arguments"]):
                argument = Argument(text, k)
                if argument.is_buffer:
                    print(i, run["kernel"], text, sha256(argument.data))
        return 0

    pool = Pool(launch, options.seconds)
    device = pool.start()
    capability = tuple(map(int, device["capability"].split(".")))
    print(f"{device['name']}, compute capability {device['capability']}, driver {device['driver']}", flush=True)
    started, results, data = time.time(), [], {}
    for i, run in chosen:
        for path in variants(options.corpus, run["ptx"]):
            if not runnable(path, capability) or options.variant and options.variant not in path.name:
                continue
            name = f"{run['ptx'].split('/')[0]}/{path.name}"
            result = pool.run(path, run, options.ptxas)
            for output in result.get("outputs", {}).values():
                raw = output.pop("data")
                output["sha256"] = sha256(raw)
                data[output["sha256"]] = raw
            results.append({"ptx": name, "kernel": run["kernel"], "run": i, "result": run["result"], **result})
            if result["status"] != "ok":
                print(f"FAILED {name} {run['kernel']}: {result['error']}", flush=True)
    pool.stop()

    with tarfile.open(options.output, "w:gz") as archive:
        files = {"results.json": json.dumps({"device": device, "results": results}, indent=1).encode()}
        files |= {f"data/{digest}": raw for digest, raw in sorted(data.items())}
        for name, raw in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    failed = sum(r["status"] != "ok" for r in results)
    print(f"{len(results) - failed} launches ran, {failed} failed, in {time.time() - started:.0f} s; {len(data)} distinct buffers in {options.output}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
