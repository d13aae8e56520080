"""Triton kernels for `tools/vary-kernels`, beside those of the corpus."""

import triton
import triton.language as tl


@triton.jit
def gated(x, gate, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + at, mask=at < n).to(tl.float32)
    v = tl.load(x + at, mask=at < n).to(tl.float32)
    tl.store(out + at, (v * g * tl.sigmoid(1.702 * g)).to(tl.bfloat16), mask=at < n)


@triton.jit
def gated_backward(d, x, gate, dx, dgate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(gate + at, mask=inside).to(tl.float32)
    v = tl.load(x + at, mask=inside).to(tl.float32)
    u = tl.load(d + at, mask=inside).to(tl.float32)
    s = tl.sigmoid(g)
    tl.store(dx + at, (u * g * s).to(tl.bfloat16), mask=inside)
    tl.store(dgate + at, (u * v * s * (1 + g * (1 - s))).to(tl.bfloat16), mask=inside)


@triton.jit
def scaled_rows(x, w, out, sx, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * sx + at, mask=at < cols, other=0.0)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / cols + eps)
    tl.store(out + row * sx + at, v * r * tl.load(w + at, mask=at < cols, other=0.0), mask=at < cols)


@triton.jit
def scaled_rows_backward(d, x, w, dx, dw, sx, rows, cols, eps, per_program, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    weights = tl.load(w + at, mask=inside, other=0.0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(pid * per_program, min((pid + 1) * per_program, rows)):
        v = tl.load(x + row * sx + at, mask=inside, other=0.0).to(tl.float32)
        u = tl.load(d + row * sx + at, mask=inside, other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(v * v, axis=0) / cols + eps)
        m = u * weights
        tl.store(dx + row * sx + at, r * (m - v * r * r * tl.sum(m * v, axis=0) / cols), mask=inside)
        total += u * v * r
    tl.store(dw + pid * cols + at, total, mask=inside)


@triton.jit
def divergence(p, q, out, s, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    loss = tl.zeros([BLOCK], dtype=tl.float32)
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        a = tl.load(p + row * s + at, mask=at < cols, other=0.0)
        b = tl.load(q + row * s + at, mask=at < cols, other=1.0)
        loss += tl.where(b > 0, b * (tl.log(b) - a), 0.0)
    tl.store(out + row, tl.sum(loss, axis=0))


@triton.jit
def entropy(x, target, out, grad, s, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    high = -float("inf")
    total = 0.0
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.load(x + row * s + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        peak = tl.maximum(high, tl.max(v, axis=0))
        total = total * tl.exp(high - peak) + tl.sum(tl.exp(v - peak), axis=0)
        high = peak
    chosen = tl.load(target + row)
    for base in range(0, cols, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.load(x + row * s + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        g = tl.exp(v - high) / total
        tl.store(grad + row * s + at, tl.where(at == chosen, g - 1.0, g), mask=at < cols)
    tl.store(out + row, tl.log(total) + high - tl.load(x + row * s + chosen))


@triton.jit
def streams(x, h, w, out, n, STREAMS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.load(h + at, mask=at < n, other=0.0)
    for i in tl.static_range(STREAMS):
        acc = base * tl.load(w + i)
        for j in tl.static_range(STREAMS):
            acc += tl.load(w + STREAMS + i * STREAMS + j) * tl.load(x + j * n + at, mask=at < n, other=0.0)
        tl.store(out + i * n + at, acc, mask=at < n)


@triton.jit
def rotate(q, cos, sin, s, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < half
    c = tl.load(cos + row * half + at, mask=inside)
    d = tl.load(sin + row * half + at, mask=inside)
    a = tl.load(q + row * s + at, mask=inside)
    b = tl.load(q + row * s + half + at, mask=inside)
    tl.store(q + row * s + at, a * c - b * d, mask=inside)
    tl.store(q + row * s + half + at, b * c + a * d, mask=inside)


@triton.jit
def dot_tile(a, b, c, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    va = tl.load(a + om[:, None] * sa + ok[None, :])
    vb = tl.load(b + ok[:, None] * sb + on[None, :])
    tl.store(c + om[:, None] * sc + on[None, :], tl.dot(va, vb).to(tl.bfloat16))


@triton.jit
def masked_tile(x, out, s, m, n, scale, BM: tl.constexpr, BN: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.arange(0, BN)
    inside = (om[:, None] < m) & (on[None, :] < n)
    v = tl.load(x + om[:, None] * s + on[None, :], mask=inside, other=-float("inf")) * scale
    v = tl.where(on[None, :] <= om[:, None], v, -float("inf"))
    e = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(out + om[:, None] * s + on[None, :], e / tl.sum(e, axis=1)[:, None], mask=inside)


BF, F = "*bf16", "*fp32"
# name: (function, argument types, constants)
KERNELS = {
    "gated": (gated, {"x": BF, "gate": BF, "out": BF, "n": "i32"}, {"BLOCK": 1024}),
    "gated_backward": (gated_backward, {"d": BF, "x": BF, "gate": BF, "dx": BF, "dgate": BF, "n": "i32"}, {"BLOCK": 1024}),
    "scaled_rows": (scaled_rows, {"x": F, "w": F, "out": F, "sx": "i32", "cols": "i32", "eps": "fp32"}, {"BLOCK": 1024}),
    "scaled_rows_backward": (scaled_rows_backward, {"d": BF, "x": BF, "w": F, "dx": F, "dw": F, "sx": "i32", "rows": "i32", "cols": "i32",
                                                    "eps": "fp32", "per_program": "i32"}, {"BLOCK": 1024}),
    "divergence": (divergence, {"p": F, "q": F, "out": F, "s": "i32", "cols": "i32"}, {"BLOCK": 1024}),
    "entropy": (entropy, {"x": BF, "target": "*i64", "out": F, "grad": F, "s": "i32", "cols": "i32"}, {"BLOCK": 1024}),
    "streams": (streams, {"x": F, "h": F, "w": F, "out": F, "n": "i32"}, {"STREAMS": 4, "BLOCK": 1024}),
    "rotate": (rotate, {"q": F, "cos": F, "sin": F, "s": "i32", "half": "i32"}, {"BLOCK": 1024}),
    "dot_tile": (dot_tile, {"a": BF, "b": BF, "c": BF, "sa": "i32", "sb": "i32", "sc": "i32"}, {"BM": 64, "BN": 64, "BK": 64}),
    "masked_tile": (masked_tile, {"x": F, "out": F, "s": "i32", "m": "i32", "n": "i32", "scale": "fp32"}, {"BM": 64, "BN": 64}),
}
