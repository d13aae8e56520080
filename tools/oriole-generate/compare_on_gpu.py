#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs generated kernels on a GPU as generated and as optimized, and lists those that write other bytes.

    tools/oriole-generate/compare_on_gpu.py --oriole target/release/oriole --generate target/release/oriole-generate \\
        --count 30000 --folder compared

The folder keeps one result per batch of seeds (`batch_SEED.json`), so a second run with the same arguments continues after the last
complete batch. The last line is a summary over all batches. A kernel is compared three ways: the emulator, the GPU before
optimization and the GPU after it. `reduce_on_gpu.py` makes a kernel that differs small.

Exit status: 0 if all kernels agree, 1 if any differs, failed or was refused by ptxas, 2 if something is missing.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run_on_gpu

BATCH, PER_MODULE = 1000, 50
# The second half of the seeds uses the shapes that the plain generator leaves out.
SHAPES = {"plain": [], "shapes": ["--shapes", "all"]}


def checksums(lines):
    """Maps the kernel's name to its checksum, or to why it failed."""
    return dict(line.split(" ", 1) for line in lines)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def launch(folder, ptxas, arch, input_file):
    """The checksums of all kernels in a folder of modules, and what ptxas refused."""
    found, refused = {}, []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        run_module = lambda path: run_on_gpu.run_module(path, ptxas, arch, input_file)
        for lines, problem in pool.map(run_module, sorted(folder.glob("*.ptx"))):
            found |= checksums(lines)
            if problem:
                refused.append(problem)
    return found, refused


def compare_batch(arguments, seed, shapes, arch, ptxas):
    """One batch: a dictionary with the kernels that differ."""
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        before, after, input_file = work / "before", work / "after", work / "input.bin"
        after.mkdir()
        generate = [arguments.generate, "--seed", str(seed), "--count", str(BATCH), *SHAPES[shapes]]
        run([*generate, "--folder", before, "--per-module", str(PER_MODULE)])
        run([*generate, "--input", input_file])
        emulated = checksums(run([*generate, "--outputs"]).splitlines())
        with concurrent.futures.ThreadPoolExecutor() as pool:
            command = lambda path: [arguments.oriole, "-j", "1", "opt", arguments.level, path, "-o", after / path.name]
            list(pool.map(lambda path: run(command(path)), sorted(before.glob("*.ptx"))))
        original, refused_before = launch(before, ptxas, arch, input_file)
        optimized, refused_after = launch(after, ptxas, arch, input_file)
        different = {
            kernel: {"emulator": expected, "before": original.get(kernel), "after": optimized.get(kernel)}
            for kernel, expected in emulated.items()
            if not expected == original.get(kernel) == optimized.get(kernel)
        }
        return {
            "seed": seed,
            "shapes": shapes,
            "level": arguments.level,
            "kernels": len(emulated),
            "different": different,
            "refused": refused_before + refused_after,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oriole", required=True)
    parser.add_argument("--generate", required=True, help="the program oriole-generate")
    parser.add_argument("--count", type=int, default=30000, help="kernels, rounded up to batches of %d" % BATCH)
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--level", default="-O3")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the results of the batches are kept")
    arguments = parser.parse_args()
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("compare_on_gpu: there is no ptxas", file=sys.stderr)
        return 2
    driver = run_on_gpu.corpus_driver()
    major, minor = driver.capability()
    version = run([ptxas, "--version"]).strip().splitlines()[-1]
    print(f"{driver.describe()}, {version}", file=sys.stderr)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    batches = -(-arguments.count // BATCH)
    kernels = different = refused = 0
    for batch in range(batches):
        shapes = "plain" if batch < batches // 2 else "shapes"
        seed = arguments.seed + batch * BATCH
        path = arguments.folder / f"batch_{seed}.json"
        if not path.exists():
            result = compare_batch(arguments, seed, shapes, f"sm_{major}{minor}", ptxas)
            # Renamed when complete, so that an interrupted run leaves no half result.
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
            partial.rename(path)
        result = json.loads(path.read_text())
        if (result["shapes"], result["level"]) != (shapes, arguments.level):
            print(f"compare_on_gpu: {path} was made with other arguments", file=sys.stderr)
            return 2
        kernels += result["kernels"]
        different += len(result["different"])
        refused += len(result["refused"])
        for kernel, values in result["different"].items():
            print(f"{kernel} seed {seed} {shapes}: {json.dumps(values, sort_keys=True)}", flush=True)
        for problem in result["refused"]:
            print(f"seed {seed} {shapes}: refused {problem}", flush=True)
    print(f"{kernels} kernels, {different} different, {refused} modules refused by ptxas")
    return 1 if different or refused else 0


if __name__ == "__main__":
    sys.exit(main())
