"""The hook for Triton: its listener with files as Triton hands them over, and Triton itself where it is installed."""

import oriole
import oriole.triton
import pytest


def listener(callback, previous=None):
    return oriole.triton._Listener(callback, previous)


def call(own, group):
    own(src=None, metadata={}, metadata_group=group, times=None, cache_hit=False)


def test_each_kernel_is_analyzed(tmp_path):
    file = tmp_path / "kernel.ptx"
    file.write_text(oriole.EXAMPLE)
    analyses, seen = [], []
    own = listener(analyses.append, lambda **given: seen.append(given["cache_hit"]))
    call(own, {"kernel.ttir": "nowhere", "kernel.ptx": str(file)})
    assert len(analyses) == 1 and analyses[0].kernels[0].file == str(file)
    assert seen == [False], "another listener is called too"


def test_what_cannot_be_analyzed_does_no_harm(tmp_path, capsys):
    file = tmp_path / "kernel.ptx"
    file.write_text("no PTX")
    call(listener(pytest.fail), {"kernel.ptx": str(file)})
    call(listener(pytest.fail), {"kernel.ptx": str(tmp_path / "missing.ptx")})
    call(listener(pytest.fail), {"kernel.ttir": "nowhere"})
    assert capsys.readouterr().err.count("oriole: ") == 2


def test_triton_calls_it(tmp_path, monkeypatch):
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    module = tmp_path / "kernels.py"
    module.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef double(x, B: tl.constexpr):\n"
        "    at = x + tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(at, tl.load(at) * 2)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import kernels

    source = ASTSource(kernels.double, signature={"x": "*fp32", "B": "constexpr"}, constexprs={"B": 256})
    before = triton.knobs.compilation.listener
    with oriole.triton.analyzed() as analyses:
        triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert triton.knobs.compilation.listener is before
    (analysis,) = analyses
    (kernel,) = analysis.kernels
    assert kernel.name == "double" and len(kernel.accesses) >= 2
