#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs the own tests of Triton or CuPy with oriole-ptxas in the place of ptxas and compares what kernels write.

    git clone --branch v3.6.0 https://github.com/triton-lang/triton        # the version that is installed
    tools/check_tests.py triton triton/python/test/unit/language --oriole-ptxas PATH [--jobs N] [--seconds N] [-k EXPRESSION]
    git clone --branch v14.2.0 https://github.com/cupy/cupy
    tools/check_tests.py cupy cupy/tests/cupyx_tests/scipy_tests --oriole-ptxas PATH --real-ptxas PATH

Every test runs twice, with ptxas (the one that Triton ships) and with oriole-ptxas (its cache off). Triton: behind each launch the bytes
of all tensors among the arguments are hashed. CuPy: NVRTC gives PTX, which the assembler makes a cubin of, and the bytes of all arrays
that a test compares are hashed. Random numbers are seeded for each test and fresh tensors of PyTorch are filled, so that a test that is
deterministic has the same hashes twice; those that differ run once more with ptxas alone, and count only if that repeats the
first run. Tests come in an order that depends on their names alone; where `--seconds` ends a run, the rest is not compared.
The exit status is 1 if a test has another outcome or other bytes with oriole-ptxas, or if Oriole failed on a file.

Needs a GPU, Triton and PyTorch or CuPy, and pytest, with pytest-xdist for `--jobs`. The file is the plugin of pytest too.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

# What one process of pytest writes: a line for each test that ran.
RECORDS = "CHECK_TESTS_RECORDS"
SECONDS = "CHECK_TESTS_SECONDS"
ONLY = "CHECK_TESTS_ONLY"
FRAMEWORK = "CHECK_TESTS_FRAMEWORK"
# What assembles the PTX of CuPy's kernels, and where that is kept.
ASSEMBLER = "CHECK_TESTS_ASSEMBLER"
KEPT = "CHECK_TESTS_KEPT"

# What tests have to end in, once no more are begun.
GRACE_SECONDS = 30


# --- The plugin ---------------------------------------------------------------------------------------------------------------


def tensors_of(value):
    """The tensors that an argument of a kernel is or holds."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_of(part)
    elif isinstance(getattr(value, "base", None), torch.Tensor):
        yield value.base


def checksum(tensor, sum_):
    """`sum_` carried on over the bytes of a tensor."""
    import torch

    if not tensor.is_cuda or tensor.numel() == 0:
        return sum_
    data = tensor.detach().contiguous().reshape(-1)
    if data.dtype == torch.bool:
        data = data.to(torch.uint8)
    return zlib.crc32(data.view(torch.uint8).cpu().numpy().tobytes(), sum_)


class Launches:
    """The hashes of one test: of what launches of Triton wrote, or of arrays of CuPy that were compared."""

    def __init__(self):
        self.sum = 0
        self.count = 0

    def install_triton(self):
        import torch
        from triton.runtime.jit import JITFunction

        # Fresh tensors are filled with a constant, not with what was there.
        torch.use_deterministic_algorithms(True, warn_only=True)

        run = JITFunction.run
        launches = self

        def run_and_hash(kernel, *arguments, grid, warmup, **named):
            result = run(kernel, *arguments, grid=grid, warmup=warmup, **named)
            # Nothing can be read while launches are recorded as a graph.
            if not warmup and not torch.cuda.is_current_stream_capturing():
                torch.cuda.synchronize()
                for value in [*arguments, *named.values()]:
                    for tensor in tensors_of(value):
                        launches.sum = checksum(tensor, launches.sum)
                launches.count += 1
            return result

        JITFunction.run = run_and_hash

    def install_cupy(self):
        import cupy
        from cupy.cuda import compiler

        compile_, asnumpy, launches = compiler._NVRTCProgram.compile, cupy.asnumpy, self

        def compile_and_assemble(program, options=(), log_stream=None):
            code, mapping = compile_(program, options, log_stream)
            # What is still to be linked stays PTX, and so does the empty text that CuPy reads versions from.
            text = code.encode() if isinstance(code, str) else bytes(code)
            if program.method == "ptx" and b".entry" in text and not compiler._is_cudadevrt_needed(options):
                code = assembled(text.rstrip(b"\0"))
            return code, mapping

        def asnumpy_and_hash(array, *arguments, **named):
            result = asnumpy(array, *arguments, **named)
            if isinstance(array, cupy.ndarray) and result.dtype != object:
                # Tests go through types in the order of a set, which depends on addresses: in another run it is another.
                launches.sum = (launches.sum + zlib.crc32(result.tobytes())) % 2**64
                launches.count += 1
            return result

        compiler._NVRTCProgram.compile = compile_and_assemble
        cupy.asnumpy = asnumpy_and_hash


def assembled(ptx):
    """The cubin of a text that NVRTC gave."""
    target = re.search(rb"^\s*\.target\s+(\w+)", ptx, re.MULTILINE).group(1).decode()
    path = pathlib.Path(os.environ[KEPT]) / f"{hashlib.sha1(ptx).hexdigest()[:16]}-{os.getpid()}.ptx"
    path.write_bytes(ptx)
    cubin = path.with_suffix(".cubin")
    subprocess.run([os.environ[ASSEMBLER], f"-arch={target}", str(path), "-o", str(cubin)], check=True, capture_output=True)
    code = cubin.read_bytes()
    cubin.unlink()
    return code


LAUNCHES = Launches()


def pytest_configure(config):
    if RECORDS in os.environ and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        # CuPy's tests go through types in an order of chance that they choose when they are read.
        random.seed(1)
        getattr(LAUNCHES, f"install_{os.environ[FRAMEWORK]}")()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: hashlib.sha1(item.nodeid.encode()).digest())
    only = os.environ.get(ONLY)
    if only:
        wanted = set(json.loads(pathlib.Path(only).read_text()))
        items[:] = [item for item in items if item.nodeid in wanted]


def pytest_runtest_setup(item):
    import numpy
    import pytest

    if time.time() > float(os.environ.get(SECONDS, "inf")):
        pytest.skip("no time left")
    if os.environ[FRAMEWORK] == "triton":
        import torch

        torch.manual_seed(1)
    else:
        import cupy

        cupy.random.seed(1)
    numpy.random.seed(1)
    LAUNCHES.sum, LAUNCHES.count = 0, 0


def pytest_runtest_logreport(report):
    # Workers of pytest-xdist write, not the process that hands out tests.
    folder = os.environ.get(RECORDS)
    if not folder or (hasattr(report, "node") and report.node is not None):
        return
    if report.when == "call" or report.outcome != "passed":
        why = ""
        if report.skipped:
            why = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        elif report.failed:
            why = str(report.longrepr)[-1500:]
        line = {"test": report.nodeid, "when": report.when, "outcome": report.outcome, "launches": LAUNCHES.count,
                "sum": LAUNCHES.sum, "why": why}
        with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as file:
            file.write(json.dumps(line) + "\n")


# --- The comparison -----------------------------------------------------------------------------------------------------------


def records_in(folder):
    """The records of a run, by test."""
    records = {}
    for path in sorted((folder / "records").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["why"].endswith("no time left"):
                continue
            # A failure behind a test that passed counts.
            before = records.get(record["test"])
            if before is None or record["outcome"] == "failed":
                records[record["test"]] = record
    return records


def run(options, name, environment, seconds, only=None):
    """One run of pytest; the last record of each test."""
    folder = options.folder / name
    # Records and cubins that an earlier run left there would count as this one's.
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "records").mkdir(parents=True)
    variables = dict(os.environ)
    variables[ASSEMBLER] = options.real_ptxas
    variables.update(environment)
    variables[RECORDS] = str(folder / "records")
    variables[FRAMEWORK] = options.framework
    variables["PYTHONHASHSEED"] = "0"
    variables["TRITON_CACHE_DIR"] = variables["CUPY_CACHE_DIR"] = str(folder / "cache")
    if options.framework == "cupy":
        (folder / "ptx").mkdir(exist_ok=True)
        variables.update({KEPT: str(folder / "ptx"), "CUPY_COMPILE_WITH_PTX": "1"})
    variables["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")])
    variables[SECONDS] = str(time.time() + seconds)
    if only is not None:
        path = folder / "only.json"
        path.write_text(json.dumps(sorted(only)))
        variables[ONLY] = str(path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "check_tests", "-p", "no:cacheprovider", "--tb=short", *options.tests]
    if options.jobs > 1:
        command += ["-n", str(options.jobs)]
    if options.k:
        command += ["-k", options.k]
    begun = time.time()
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            # A test that was begun in time may take a while, or wait for something that does not come.
            process.wait(seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    records = records_in(folder)
    counts = collections.Counter(record["outcome"] for record in records.values())
    launches = sum(record["launches"] for record in records.values())
    print(f"{name}: {dict(counts)}, {launches} launches, {time.time() - begun:.0f} s", flush=True)
    if not records:
        print((folder / "log").read_text()[-3000:])
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["triton", "cupy"])
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--oriole-ptxas", required=True, type=pathlib.Path)
    parser.add_argument("--real-ptxas", help="[the one that Triton ships; for CuPy that of the PATH]")
    parser.add_argument("--level", default="2")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=86400, help="for each of the two runs")
    parser.add_argument("--compare-with", type=pathlib.Path, help="the folder of an earlier run with ptxas, instead of one")
    parser.add_argument("-k", help="as pytest takes it")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("check-tests"), help="for caches and logs")
    options = parser.parse_args()
    options.folder = options.folder.resolve()

    if options.real_ptxas is None and options.framework == "cupy":
        options.real_ptxas = shutil.which("ptxas") or parser.error("there is no ptxas on the PATH")
    elif options.real_ptxas is None:
        from triton import knobs

        options.real_ptxas = knobs.nvidia.ptxas.path
    reports = options.folder / "reports.jsonl"
    reports.unlink(missing_ok=True)
    with_oriole = {
        "TRITON_PTXAS_PATH": str(options.oriole_ptxas.resolve()),
        ASSEMBLER: str(options.oriole_ptxas.resolve()),
        "ORIOLE_REAL_PTXAS": options.real_ptxas,
        "ORIOLE_PTXAS_CACHE": "off",
        "ORIOLE_PTXAS_LEVEL": options.level,
        "ORIOLE_PTXAS_REPORT": str(reports),
    }
    if options.compare_with:
        plain = records_in(options.compare_with)
    else:
        plain = run(options, "ptxas", {}, options.seconds)
    optimized = run(options, "oriole-ptxas", with_oriole, options.seconds, only=plain)
    both = sorted(set(plain) & set(optimized))
    outcomes = [name for name in both if plain[name]["outcome"] != optimized[name]["outcome"]]
    # What an autotuner launches depends on the time that it takes.
    passed = [name for name in both if plain[name]["outcome"] == optimized[name]["outcome"] == "passed"]
    compared = [name for name in passed if plain[name]["launches"] == optimized[name]["launches"]]
    bytes_ = [name for name in compared if plain[name]["sum"] != optimized[name]["sum"]]
    again = run(options, "ptxas-again", {}, 300, only=outcomes + bytes_) if outcomes + bytes_ else {}
    bad = 0
    for name in outcomes + bytes_:
        repeated = again.get(name)
        steady = repeated and (repeated["outcome"], repeated["sum"]) == (plain[name]["outcome"], plain[name]["sum"])
        if steady:
            bad += 1
            print(f"DIFFERENT {name}: {plain[name]['outcome']} -> {optimized[name]['outcome']}\n{optimized[name]['why']}")
        else:
            print(f"not deterministic: {name}")
    files, failed = 0, []
    for line in reports.read_text().splitlines() if reports.exists() else []:
        report = json.loads(line)
        files += 1
        if report.get("error"):
            failed.append(report["error"])
    for error in failed[:20]:
        print(f"Oriole failed: {error}")
    launches = sum(plain[name]["launches"] for name in compared)
    print(f"{len(both)} tests in both runs, {len(passed)} passed in both; bytes of {launches} launches or arrays of {len(compared)} tests compared; "
          f"{files} files optimized, {len(failed)} not; {bad} tests differ")
    return 1 if bad or failed or not launches else 0


if __name__ == "__main__":
    sys.exit(main())
