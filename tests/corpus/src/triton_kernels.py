# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Triton kernels of the corpus, compiled without a GPU.

    triton_kernels.py --list              the files this makes, one `name.variant` to the line
    triton_kernels.py name.variant FILE   compiles one and writes its PTX
"""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < cols)


@triton.jit
def matmul(a, b, c, m, n, k, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(m, BM), tl.cdiv(n, BN)
    group = pid // (GROUP * cols)
    size = min(rows - group * GROUP, GROUP)
    pm = group * GROUP + (pid % (GROUP * cols)) % size
    pn = (pid % (GROUP * cols)) // size
    om = (pm * BM + tl.arange(0, BM)) % m
    on = (pn * BN + tl.arange(0, BN)) % n
    ok = tl.arange(0, BK)
    pa = a + om[:, None] * sam + ok[None, :]
    pb = b + ok[:, None] * sbk + on[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BK)):
        va = tl.load(pa, mask=ok[None, :] < k - i * BK, other=0.0)
        vb = tl.load(pb, mask=ok[:, None] < k - i * BK, other=0.0)
        acc = tl.dot(va, vb, acc)
        pa += BK
        pb += BK * sbk
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * scm + on[None, :], acc.to(tl.float16), mask=(om[:, None] < m) & (on[None, :] < n))


@triton.jit
def layernorm(x, out, weight, bias, mean_out, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    var = tl.zeros([BLOCK], dtype=tl.float32)
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
        v = tl.where(at < cols, v - mean, 0.0)
        var += v * v
    scale = 1 / tl.sqrt(tl.sum(var, axis=0) / cols + eps)
    tl.store(mean_out + row, mean)
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        inside = at < cols
        w = tl.load(weight + at, mask=inside)
        b = tl.load(bias + at, mask=inside)
        v = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at, (v - mean) * scale * w + b, mask=inside)


@triton.jit
def flash_attention(q, k, v, out, scale, length, stride_head, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * stride_head
    om = start * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    vq = tl.load(q + head + om[:, None] * D + od[None, :], mask=om[:, None] < length, other=0.0)
    m = tl.full([BM], -float("inf"), dtype=tl.float32)
    s = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    last = (start + 1) * BM if CAUSAL else length
    for base in range(0, last, BN):
        on = base + tl.arange(0, BN)
        vk = tl.load(k + head + on[None, :] * D + od[:, None], mask=on[None, :] < length, other=0.0)
        score = tl.dot(vq, vk) * (scale * 1.44269504)
        keep = on[None, :] < length
        if CAUSAL:
            keep = keep & (om[:, None] >= on[None, :])
        score = tl.where(keep, score, -1.0e6)
        peak = tl.maximum(m, tl.max(score, 1))
        p = tl.math.exp2(score - peak[:, None])
        fade = tl.math.exp2(m - peak)
        s = s * fade + tl.sum(p, 1)
        vv = tl.load(v + head + on[:, None] * D + od[None, :], mask=on[:, None] < length, other=0.0)
        acc = tl.dot(p.to(vv.dtype), vv, acc * fade[:, None])
        m = peak
    acc = acc / s[:, None]
    tl.store(out + head + om[:, None] * D + od[None, :], acc.to(tl.float16), mask=om[:, None] < length)


@triton.jit
def dropout(x, out, n, probability, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    keep = tl.rand(seed, at) > probability
    tl.store(out + at, tl.where(keep, v / (1 - probability), 0.0), mask=at < n)


@triton.jit
def argmax_rows(x, best, where, total, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    tl.store(where + row, tl.argmax(v, axis=0))
    tl.store(best + row, tl.max(v, axis=0))
    tl.atomic_add(total, tl.sum((v > 0).to(tl.int32), axis=0))
    tl.atomic_max(total + 1, row)


@triton.jit
def grouped_matmul(a_pointers, b_pointers, c_pointers, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        cols = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * cols
        while tile >= done and tile < done + tiles:
            a = tl.load(a_pointers + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_pointers + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_pointers + g).to(tl.pointer_type(tl.float16))
            om = ((tile - done) // cols) * BM + tl.arange(0, BM)
            on = ((tile - done) % cols) * BN + tl.arange(0, BN)
            ok = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for base in range(0, k, BK):
                acc += tl.dot(tl.load(a + om[:, None] * k + base + ok[None, :]), tl.load(b + (base + ok[:, None]) * n + on[None, :]))
            tl.store(c + om[:, None] * n + on[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        done += tiles


@triton.jit
def conv1d(x, weight, out, channels, length, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    f = tl.program_id(1)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for c in range(channels):
        for t in tl.static_range(TAPS):
            source = at + t - TAPS // 2
            v = tl.load(x + c * length + source, mask=(source >= 0) & (source < length), other=0.0)
            acc += v * tl.load(weight + (f * channels + c) * TAPS + t)
    tl.store(out + f * length + at, acc, mask=at < length)


@triton.jit
def add_pair(a, b):
    return a + b


@triton.jit
def cumulative_sum(x, out, reverse_out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, tl.associative_scan(v, 0, add_pair), mask=at < n)
    tl.store(reverse_out + at, tl.cumsum(v, 0, reverse=True), mask=at < n)


@triton.jit
def histogram_sort(x, counts, ordered, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(counts + tl.arange(0, BINS), tl.histogram(v & (BINS - 1), BINS))
    tl.store(ordered + at, tl.sort(v))


@triton.jit
def fp8_matmul(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om, on, ok = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for base in range(0, k, BK):
        va = tl.load(a + om[:, None] * k + base + ok[None, :])
        vb = tl.load(b + on[None, :] * k + base + ok[:, None])
        acc = tl.dot(va, vb, acc)
    tl.store(c + om[:, None] * BN + on[None, :], acc.to(tl.bfloat16))


@triton.jit
def assembly_elementwise(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    r = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $1, 0x0f0f0f0f, 0, 0xc0; prmt.b32 $0, t, $1, 0x3276; }", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, r)


@triton.jit
def descriptor_copy(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([row, col], source.load([row, col]) * 2)


# name: (function, argument types, constants, warps, stages, architectures)
ALL = (80, 90, 100)
KERNELS = {
    "vector_add": (vector_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}, 4, 2, ALL),
    "softmax": (softmax, {"x": "*fp32", "out": "*fp32", "stride": "i32", "cols": "i32"}, {"BLOCK": 1024}, 4, 2, ALL),
    "matmul": (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32", "sam": "i32", "sbk": "i32", "scm": "i32"},
               {"BM": 64, "BN": 64, "BK": 32, "GROUP": 8}, 4, 3, ALL),
    "layernorm": (layernorm, {"x": "*fp16", "out": "*fp16", "weight": "*fp32", "bias": "*fp32", "mean_out": "*fp32", "stride": "i32", "cols": "i32", "eps": "fp32"},
                  {"BLOCK": 512}, 4, 2, ALL),
    "flash_attention": (flash_attention, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "scale": "fp32", "length": "i32", "stride_head": "i32"},
                        {"BM": 64, "BN": 32, "D": 64, "CAUSAL": True}, 4, 2, ALL),
    "dropout": (dropout, {"x": "*fp32", "out": "*fp32", "n": "i32", "probability": "fp32", "seed": "i32"}, {"BLOCK": 512}, 4, 2, ALL),
    "argmax_rows": (argmax_rows, {"x": "*fp32", "best": "*fp32", "where": "*i32", "total": "*i32", "cols": "i32"}, {"BLOCK": 256}, 4, 2, ALL),
    "grouped_matmul": (grouped_matmul, {"a_pointers": "*i64", "b_pointers": "*i64", "c_pointers": "*i64", "sizes": "*i32", "groups": "i32"},
                       {"BM": 32, "BN": 32, "BK": 32, "PROGRAMS": 8}, 4, 2, ALL),
    "conv1d": (conv1d, {"x": "*fp32", "weight": "*fp32", "out": "*fp32", "channels": "i32", "length": "i32"}, {"TAPS": 5, "BLOCK": 256}, 4, 2, ALL),
    "cumulative_sum": (cumulative_sum, {"x": "*i32", "out": "*i32", "reverse_out": "*i32", "n": "i32"}, {"BLOCK": 512}, 4, 2, ALL),
    "histogram_sort": (histogram_sort, {"x": "*i32", "counts": "*i32", "ordered": "*i32"}, {"BLOCK": 256, "BINS": 32}, 4, 2, ALL),
    "fp8_matmul": (fp8_matmul, {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": "*bf16", "k": "i32"}, {"BM": 64, "BN": 32, "BK": 64}, 4, 2, (90, 100)),
    "assembly_elementwise": (assembly_elementwise, {"x": "*i32", "out": "*i32"}, {"BLOCK": 256}, 4, 2, ALL),
    "descriptor_copy": (descriptor_copy, {"x": "*fp16", "out": "*fp16", "m": "i32", "n": "i32"}, {"BM": 64, "BN": 64}, 4, 2, (90, 100)),
}


def compile_one(wanted: str) -> str:
    name, _, variant = wanted.partition(".")
    function, types, constants, warps, stages, _ = KERNELS[name]
    arch = int(variant.removeprefix("sm_"))
    signature = dict(types, **{k: "constexpr" for k in constants})
    # Pointers and the strides of matrices are multiples of 16, as the launcher would find them.
    aligned = {(i,): [["tt.divisibility", 16]] for i, (k, t) in enumerate(types.items()) if t.startswith("*") or k.startswith("s") and t == "i32"}
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=aligned)
    # The newest PTX version that ptxas 13.0 reads, and that the older ptxas inside Triton reads for sm_80.
    options = {"num_warps": warps, "num_stages": stages, "ptx_version": 88 if arch < 90 else 90}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options).asm["ptx"]


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        for name, kernel in KERNELS.items():
            for arch in kernel[-1]:
                print(f"{name}.sm_{arch}")
    else:
        text = compile_one(sys.argv[1])
        with open(sys.argv[2], "w") as file:
            file.write(text)
