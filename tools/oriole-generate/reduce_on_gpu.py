#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Makes a generated kernel small as long as a GPU and the emulator disagree on what it writes.

    tools/oriole-generate/reduce_on_gpu.py kernel.ptx input.bin --generate target/release/oriole-generate -o reduced.ptx

Every step puts constants in place of instructions or leaves stores, branches and unread results away, so that no register loses
its definition. A kernel that stops the GPU counts as one that disagrees. Prints what every level of ptxas makes of the kernel.
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
DEFINES = re.compile(r"^\t(?:@!?%\w+ )?([\w.:]+) (%\w+)(?:, |;)")
DECLARES = re.compile(r"\.(?:local|shared)\b.*?(\w+)\[\d+\];")


class Gpu:
    """Checksums of kernels, from a process that is started again when a kernel stops it."""

    def __init__(self, input_file):
        self.input_file, self.process = input_file, None

    def checksum(self, cubin, name):
        if not self.process:
            command = [sys.executable, HERE / "run_on_gpu.py", "--serve", self.input_file]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        self.process.stdin.write(f"{cubin} {name}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().split()
        if not said:
            self.process.wait()
            self.process = None
            return "failed"
        return said[1]


def declared_width(lines, register):
    """The type of a register, by its declaration."""
    for line in lines:
        if declared := re.match(r"\t\.reg \.(\w+) (.*);", line):
            for name in declared.group(2).split(", "):
                prefix = name.split("<")[0]
                if name == register or ("<" in name and re.fullmatch(re.escape(prefix) + r"\d+", register)):
                    return declared.group(1)
    return None


def without(lines, chosen):
    """The lines with the chosen ones made trivial, or None if none of them can be."""
    result, changed, text = [], False, "\n".join(lines)
    # The address of a local variable stays: the emulator places the first one at 0, which is outside of the frame on a GPU.
    variables = set(DECLARES.findall(text))
    for index, line in enumerate(lines):
        if index not in chosen or not line.startswith("\t") or line.startswith("\t."):
            result.append(line)
            continue
        word = re.sub(r"^@!?%\w+ ", "", line.strip())
        if re.match(r"(st|red|bra|bar|membar|fence)\b", word) and not re.match(r"st\.param|bar\.warp", word):
            changed = True
            continue
        found = DEFINES.match(line)
        if not found or re.match(r"(call|ret|exit|ld\.param|\{|\})", word):
            result.append(line)
            continue
        register = found.group(2)
        if variables.intersection(re.findall(r"\w+", line)):
            result.append(line)
            continue
        if len(re.findall(re.escape(register) + r"\b", text)) == 1:
            changed = True
            continue
        width = declared_width(lines, register)
        if width is None or "|" in line.split(",")[0]:
            result.append(line)
            continue
        constant = f"\tsetp.ne.u32 {register}, 0, 0;" if width == "pred" else f"\tmov.{width} {register}, 0;"
        changed |= constant != line
        result.append(constant)
    return result if changed else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=pathlib.Path)
    parser.add_argument("input")
    parser.add_argument("--generate", default="oriole-generate")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2, help="candidates that are tried at the same time")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="reduce-"))
    numbers, gpus = itertools.count(), threading.local()

    def results(lines, level="-O3"):
        """What the emulator and the GPU make of a kernel, or None if one of them does not take it."""
        number = next(numbers)
        source, cubin = folder / f"{number}.ptx", folder / f"{number}.cubin"
        source.write_text("\n".join(lines) + "\n")
        name = re.search(r"\.entry\s+(\w+)", source.read_text()).group(1)
        if subprocess.run([options.ptxas, f"-arch={options.arch}", level, source, "-o", cubin], capture_output=True).returncode:
            return None
        emulated = subprocess.run([options.generate, "--outputs-of", source], capture_output=True, text=True)
        if emulated.returncode or len(emulated.stdout.split()) != 2:
            return None
        if not hasattr(gpus, "own"):
            gpus.own = Gpu(options.input)
        answer = emulated.stdout.split()[1], gpus.own.checksum(cubin, name)
        source.unlink()
        cubin.unlink()
        return answer

    lines = options.kernel.read_text().splitlines()
    for level in ("-O0", "-O1", "-O2", "-O3"):
        first = results(lines, level)
        print(f"{options.kernel.name} {level}: {first}", flush=True)
    stops = first is not None and first[1] == "failed"

    def disagrees(lines):
        said = lines and results(lines)
        # What stops the GPU goes on doing so: what it would write instead is another question.
        return bool(said) and said[0] != said[1] and (said[1] == "failed") == stops

    end = time.monotonic() + options.seconds
    size = len(lines) // 2
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while size and time.monotonic() < end:
            start, progress = 0, False
            while start < len(lines) and time.monotonic() < end:
                starts = [start + size * index for index in range(options.jobs)]
                smaller = [without(lines, set(range(at, at + size))) for at in starts]
                found = next((index for index, good in enumerate(pool.map(disagrees, smaller)) if good), None)
                if found is None:
                    start = starts[-1] + size
                    continue
                start = starts[found] + (0 if len(smaller[found]) < len(lines) else size)
                lines, progress = smaller[found], True
                options.output.write_text("\n".join(lines) + "\n")
            size = size if size == 1 and progress else size // 2
    print(f"{options.kernel.name}: {len(lines)} lines left after {next(numbers)} steps: {results(lines)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
