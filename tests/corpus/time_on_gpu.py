#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Times the launches of runs.toml on a real GPU with two corpora side by side, such as before and after optimizing.

    time_on_gpu.py BEFORE AFTER [--runs large_runs.toml] [--only nvcc/saxpy] [--variant .O3.] [--loads 5] [--rounds 5] [--launches 50] [-o times.json]

BEFORE and AFTER are folders like this one; AFTER needs only `ptx/`. Each kernel is launched many times in a row, as a graph, the two sides
taking turns, and the fastest round of all loads counts. Most launches of runs.toml are small, those of large_runs.toml fill a GPU: what takes less than --least microseconds is as long as a launch
takes, and is listed but does not count. What differs by less than loads of one side do is noise.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import pathlib
import shutil
import sys
import time

from run_on_gpu import HERE, Driver, Loaded, Pool, runnable, tomllib, variants


class Graph:
    """Launches of a kernel, one behind the other, recorded once: the host takes longer to launch a kernel than a small one runs."""

    def __init__(self, loaded: Loaded, count: int):
        self.loaded, self.count, self.driver = loaded, count, loaded.driver
        call = self.driver.call
        self.stream, graph, self.ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(self.stream), 1)
        call("cuStreamBeginCapture_v2", self.stream, 2)
        for _ in range(count):
            loaded.launch(self.stream)
        call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(self.ready), graph, ctypes.c_ulonglong(0))
        self.driver.release("cuGraphDestroy", graph)
        self.start, self.end = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self.start), 0)
        call("cuEventCreate", ctypes.byref(self.end), 0)

    def microseconds(self) -> float:
        """The time of one launch of them."""
        call, elapsed = self.driver.call, ctypes.c_float()
        self.loaded.fill()
        call("cuCtxSynchronize")
        # While these run, the host gets ahead: else its own time counts.
        call("cuGraphLaunch", self.ready, self.stream)
        call("cuEventRecord", self.start, self.stream)
        call("cuGraphLaunch", self.ready, self.stream)
        call("cuEventRecord", self.end, self.stream)
        call("cuEventSynchronize", self.end)
        call("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.end)
        return elapsed.value * 1000 / self.count

    def close(self):
        self.driver.release("cuGraphExecDestroy", self.ready)
        self.driver.release("cuEventDestroy_v2", self.start)
        self.driver.release("cuEventDestroy_v2", self.end)
        self.driver.release("cuStreamDestroy_v2", self.stream)


def measure(driver: Driver, paths, run: dict, ptxas: str | None, rounds: int, launches: int, loads: int) -> dict:
    """The time of a launch of each of two files. Where code and buffers lie is worth several percent to a small kernel, so both are
    loaded anew several times, in turns, at other addresses."""
    times, room = [[], []], []
    try:
        for load in range(loads):
            for side in [0, 1] if load % 2 == 0 else [1, 0]:
                room.append(ctypes.c_uint64())
                driver.call("cuMemAlloc_v2", ctypes.byref(room[-1]), ctypes.c_size_t(256 * (7 * len(room) + 1)))
                loaded = Loaded(driver, paths[side], run, ptxas)
                try:
                    graph = Graph(loaded, launches)
                    times[side].append(min(graph.microseconds() for _ in range(rounds)))
                    graph.close()
                finally:
                    loaded.close()
    finally:
        for pointer in room:
            driver.release("cuMemFree_v2", pointer)
    before, after = (min(of_side) for of_side in times)
    # How far apart loads of one side are.
    noise = max(sorted(of_side)[len(of_side) // 2] / min(of_side) for of_side in times) - 1
    return {"status": "ok", "before": before, "after": after, "ratio": after / before, "noise": noise, "times": times}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--runs", type=pathlib.Path, default=HERE / "runs.toml", help="the launches")
    parser.add_argument("--only", action="append", help="names under ptx/, such as nvcc/saxpy or triton")
    parser.add_argument("--variant", default="", help="only files whose name contains this, such as .O3.")
    parser.add_argument("--loads", type=int, default=5, help="how often each side is loaded")
    parser.add_argument("--rounds", type=int, default=5, help="for each load")
    parser.add_argument("--launches", type=int, default=50)
    parser.add_argument("--least", type=float, default=3.0, help="microseconds below which a kernel does not count")
    parser.add_argument("--seconds", type=float, default=30, help="limit for one kernel, compilation included")
    parser.add_argument("--deadline", type=float, default=1e9, help="seconds after which no kernel is begun")
    parser.add_argument("--shown", type=int, default=15, help="how many of the slowest and of the fastest to print")
    parser.add_argument("--ptxas", default=os.environ.get("PTXAS") or shutil.which("ptxas"))
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()

    runs = tomllib.loads(options.runs.read_text())["run"]
    pool, results, started = Pool(measure, options.seconds), [], time.time()
    capability = tuple(map(int, pool.start()["capability"].split(".")))
    for index, run in enumerate(runs):
        if options.only and not any(run["ptx"] == o or run["ptx"].startswith(o.rstrip("/") + "/") for o in options.only):
            continue
        for path in variants(options.before, run["ptx"]):
            other = options.after / "ptx" / run["ptx"].split("/")[0] / path.name
            if not other.exists() or not runnable(path, capability) or options.variant not in path.name:
                continue
            if time.time() - started > options.deadline:
                continue
            result = pool.run((path, other), run, options.ptxas, options.rounds, options.launches, options.loads)
            if result["status"] == "ok":
                results.append({"ptx": path.name, "kernel": run["kernel"], "run": index, **result})
            else:
                print(f"FAILED {path.name} {run['kernel']}: {result['error']}", flush=True)
    pool.stop()
    timed = [r for r in results if r["before"] >= options.least]
    for r in sorted(timed, key=lambda r: -r["ratio"])[: options.shown] + sorted(timed, key=lambda r: r["ratio"])[: options.shown]:
        print(f"{r['before']:9.2f} {r['after']:9.2f} us  {r['ratio']:.3f}  noise {r['noise']:.3f}  {r['ptx']} {r['kernel']}")
    if timed:
        mean = math.exp(sum(math.log(r["ratio"]) for r in timed) / len(timed))
        worse = [r for r in timed if r["ratio"] > 1.03 + r["noise"]]
        better = [r for r in timed if r["ratio"] < 0.97 - r["noise"]]
        print(f"{len(results)} launches, {len(timed)} of {options.least} us or more: geometric mean {mean:.4f}, {len(worse)} slower and {len(better)} faster by 3 % beyond noise")
    if options.output:
        options.output.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
