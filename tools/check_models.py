#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs models through torch.compile or JAX with oriole-ptxas in the place of ptxas and compares results bit by bit.

    tools/check_models.py torch --oriole-ptxas PATH [--real-ptxas PATH]
    tools/check_models.py jax --oriole-ptxas PATH --toolkit /usr/local/cuda

Each model runs in processes of its own, forward and backward: with ptxas, with oriole-ptxas (no cache), and both again, so
that times of compiling can be compared with warm files. Prints the kernels that went through oriole-ptxas, the time of each run, and
the models whose outputs or gradients differ; the exit status is 1 if one does, or if none was compiled.

`torch` has two transformers and two convolutional networks; `jax` an attention block, a convolution, a scan, sorting and scatters.
Needs a GPU and the framework.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib


# --- What runs ----------------------------------------------------------------------------------------------------------------


def torch_models():
    """Names, modules and inputs."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width, heads, causal):
            super().__init__()
            self.heads, self.causal = heads, causal
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.qkv(self.first(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
            if self.causal:
                scores = scores.masked_fill(torch.ones(length, length, device=x.device).triu(1).bool(), float("-inf"))
            x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Decoder(nn.Module):
        def __init__(self, causal):
            super().__init__()
            self.embed = nn.Embedding(1000, 192)
            self.blocks = nn.Sequential(*[Block(192, 6, causal) for _ in range(3)])
            self.head = nn.Linear(192, 1000)

        def forward(self, tokens):
            return nn.functional.log_softmax(self.head(self.blocks(self.embed(tokens))), -1)

    class Residual(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))

        def forward(self, x):
            return torch.relu(x + self.body(x))

    residual = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), Residual(32), nn.MaxPool2d(2), Residual(32), nn.AdaptiveAvgPool2d(1),
                             nn.Flatten(), nn.Linear(32, 10), nn.LogSoftmax(-1))
    unet = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.AvgPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.Upsample(scale_factor=2, mode="bilinear"),
                         nn.Conv2d(32, 3, 1), nn.Sigmoid())
    tokens = torch.randint(0, 1000, (4, 96), device="cuda")
    images = torch.randn(4, 3, 64, 64, device="cuda")
    return [("causal transformer", Decoder(True), tokens), ("transformer", Decoder(False), tokens),
            ("residual network", residual, images), ("encoder and decoder", unet, images)]


def run_torch():
    import torch

    torch.manual_seed(3)
    # Sums of atomics depend on the order of threads.
    torch.use_deterministic_algorithms(True)
    sums, seconds = {}, 0.0
    for name, model, inputs in torch_models():
        model = model.cuda()
        compiled = torch.compile(model)
        begun = time.time()
        output = compiled(inputs)
        output.square().mean().backward()
        torch.cuda.synchronize()
        seconds += time.time() - begun
        results = [output, *(parameter.grad for parameter in model.parameters())]
        sums[name] = sum_of(result.detach().cpu().contiguous().numpy() for result in results)
    return sums, seconds


def run_jax():
    import jax
    import jax.numpy as jnp

    def attention(q, k, v):
        scores = jnp.einsum("bqd,bkd->bqk", q, k) / 8.0
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v)

    def block(weights, x):
        mean = x.mean(-1, keepdims=True)
        x = (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        y = attention(x @ weights[0], x @ weights[1], x @ weights[2])
        return jnp.mean((jax.nn.gelu(y @ weights[3]) - x) ** 2)

    def convolution(weights, x):
        y = jax.lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.mean(jnp.tanh(y) * jnp.log1p(jnp.abs(y)))

    def recurrence(weights, x):
        step = lambda state, row: (jnp.tanh(state @ weights + row), jnp.sin(state).sum())
        state, sums = jax.lax.scan(step, jnp.zeros(64), x)
        return state.sum() + sums.mean()

    def integers(x):
        ordered = jnp.sort(x)
        counts = jnp.zeros(97, jnp.int32).at[ordered % 97].add(1)
        return ordered // 7 + jnp.cumsum(ordered % 13), counts, jax.lax.population_count(x) << 3

    key = jax.random.key(5)
    keys = jax.random.split(key, 8)
    normal = jax.random.normal
    programs = {
        "attention": lambda: jax.jit(jax.value_and_grad(block))(normal(keys[0], (4, 64, 64)) / 8, normal(keys[1], (8, 128, 64))),
        "convolution": lambda: jax.jit(jax.value_and_grad(convolution))(normal(keys[2], (3, 3, 8, 16)), normal(keys[3], (4, 32, 32, 8))),
        "scan": lambda: jax.jit(jax.value_and_grad(recurrence))(normal(keys[4], (64, 64)) / 8, normal(keys[5], (50, 64))),
        "integers": lambda: jax.jit(integers)(jax.random.randint(keys[6], (5000,), 0, 1 << 20)),
        "random": lambda: jax.jit(lambda k: (normal(k, (10007,)), jax.random.permutation(k, 4001)))(keys[7]),
    }
    import numpy

    sums, begun = {}, time.time()
    for name, program in programs.items():
        sums[name] = sum_of(numpy.asarray(leaf) for leaf in jax.tree.leaves(program()))
    return sums, time.time() - begun


def sum_of(arrays):
    """A checksum of arrays."""
    sum_ = 0
    for array in arrays:
        sum_ = zlib.crc32(array.tobytes(), sum_)
    return sum_


# --- The comparison -----------------------------------------------------------------------------------------------------------


def shadow(toolkit, ptxas, folder):
    """A toolkit of links whose ptxas is another."""
    toolkit = pathlib.Path(toolkit).resolve()
    (folder / "bin").mkdir(parents=True)
    for entry in toolkit.iterdir():
        if entry.name != "bin":
            (folder / entry.name).symlink_to(entry)
    for entry in (toolkit / "bin").iterdir():
        if entry.name != "ptxas":
            (folder / "bin" / entry.name).symlink_to(entry)
    (folder / "bin" / "ptxas").symlink_to(ptxas)
    return folder


def run(options, folder, with_oriole):
    """One process; sums by model and seconds."""
    folder.mkdir()
    variables = dict(os.environ)
    variables.update(TRITON_CACHE_DIR=str(folder / "triton"), TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
                     TORCHINDUCTOR_COMPILE_THREADS="1", CUBLAS_WORKSPACE_CONFIG=":4096:8", ORIOLE_PTXAS_CACHE="off", ORIOLE_PTXAS_REPORT=str(options.reports))
    if options.real_ptxas:
        variables["ORIOLE_REAL_PTXAS"] = options.real_ptxas
    ptxas = options.oriole_ptxas.resolve()
    if options.framework == "torch" and with_oriole:
        variables["TRITON_PTXAS_PATH"] = str(ptxas)
    if options.framework == "jax":
        toolkit = shadow(options.toolkit, ptxas, folder / "toolkit") if with_oriole else options.toolkit
        variables.setdefault("ORIOLE_REAL_PTXAS", f"{options.toolkit}/bin/ptxas")
        flags = [f"--xla_gpu_cuda_data_dir={toolkit}", "--xla_gpu_autotune_level=0", "--xla_gpu_deterministic_ops=true"]
        variables["XLA_FLAGS"] = " ".join(flags + options.xla_flag)
        variables["PATH"] = f"{toolkit}/bin{os.pathsep}{variables['PATH']}"
        variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), options.framework, "--child"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{options.framework} failed:\n{done.stderr[-3000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"{'oriole-ptxas' if with_oriole else 'ptxas'}: {len(result['sums'])} models, {result['seconds']:.1f} s", flush=True)
    return result["sums"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["torch", "jax"])
    parser.add_argument("--oriole-ptxas", type=pathlib.Path)
    parser.add_argument("--real-ptxas")
    parser.add_argument("--toolkit", default="/usr/local/cuda", help="for jax")
    parser.add_argument("--xla-flag", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sums, seconds = run_torch() if options.framework == "torch" else run_jax()
        print(json.dumps({"sums": sums, "seconds": seconds}))
        return 0
    if options.framework == "torch" and options.real_ptxas is None:
        from triton import knobs

        options.real_ptxas = knobs.nvidia.ptxas.path
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options.reports = folder / "reports.jsonl"
        sums = {False: [], True: []}
        for round_ in range(options.rounds):
            for with_oriole in (False, True):
                sums[with_oriole].append(run(options, folder / f"{round_}{with_oriole}", with_oriole))
        plain = sums[False][0]
        unsteady = {model for model in plain if any(other[model] != plain[model] for other in sums[False])}
        bad = {model for model in plain if any(other[model] != plain[model] for other in sums[True])} - unsteady
        lines = options.reports.read_text().splitlines() if options.reports.exists() else []
    reports = [json.loads(line) for line in lines]
    kernels = sum(len(report.get("functions", [])) for report in reports)
    failed = [report["error"] for report in reports if "error" in report]
    for model in sorted(bad):
        print(f"DIFFERENT {model}")
    for model in sorted(unsteady):
        print(f"not deterministic: {model}")
    for error in failed:
        print(f"Oriole failed: {error}")
    print(f"{kernels} kernels through oriole-ptxas, {len(failed)} failed; {len(bad)} models differ")
    return 1 if bad or failed or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
