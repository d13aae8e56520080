"""The package as its users see it."""

import json
import struct
import threading

import oriole
import pytest

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
# Each lane writes a line of 128 bytes of its own.
STRIDED = HEADER + """.visible .entry strided(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 128;
    add.s64 %rd3, %rd2, %rd3;
    add.s32 %r2, %r1, 77;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


def test_optimize_gives_text_and_what_was_done():
    optimized = oriole.optimize(STRIDED)
    assert "77" not in optimized.ptx and "st.global.u32" in str(optimized)
    assert optimized.rewrites > 0
    (function,) = optimized.functions
    assert (function.name, function.after < function.before) == ("strided", True)
    assert oriole.optimize(optimized.ptx).ptx == optimized.ptx
    assert "77" in oriole.optimize(STRIDED, level=0).ptx


def test_analyze_finds_what_is_wasted():
    analysis = oriole.analyze(STRIDED, block=64, name="strided.ptx")
    (kernel,) = analysis.kernels
    assert (kernel.name, kernel.file, kernel.block) == ("strided", "strided.ptx", (64, 1, 1))
    finding = next(own for own in analysis.findings if own.kind == "uncoalesced-access")
    assert finding.severity == "high" and finding.line == 14
    (access,) = [own for own in kernel.accesses if own.op == "store"]
    assert access.cost["mean"] == 32 and access.ideal == 4
    assert kernel.registers.low <= kernel.registers.best <= kernel.registers.high
    assert kernel.kind == "kernel"
    assert kernel.occupancy.block == (64, 1, 1)
    assert analysis.document["version"] == 2
    assert kernel.verdict["class"] == "waste" and finding.share > 0.5
    assert json.loads(json.dumps(analysis.document)) == analysis.document


# Threads up to a bound write words in a row.
BOUNDED = STRIDED.replace("strided(.param .u64 p)", "bounded(.param .u64 p, .param .u32 n)")
BOUNDED = BOUNDED.replace("%rd1, [p];", "%rd1, [p];\n    .reg .pred %q;\n    ld.param.u32 %r0, [n];")
BOUNDED = BOUNDED.replace(
    "mul.wide.u32 %rd3, %r1, 128;",
    "setp.ge.u32 %q, %r1, %r0;\n    @%q ret;\n    mul.wide.u32 %rd3, %r1, 4;",
)


def test_the_boundary_and_waste_have_fields():
    (kernel,) = oriole.analyze(STRIDED, block=64).kernels
    (access,) = [own for own in kernel.accesses if own.op == "store"]
    assert (access.wasteful, access.wasteful_if, access.boundary) == ("certainly", [], None)
    analysis = oriole.analyze(BOUNDED, block=64)
    (access,) = [own for own in analysis.kernels[0].accesses if own.op == "store"]
    assert (access.wasteful, access.boundary.min, access.boundary.max) == ("no", 1, 4)
    assert len(access.boundary.by_lanes) == 31 and access.boundary.by_lanes[8] == 2
    assert "boundary" not in access.extra
    row = analysis.accesses_table()[-1]
    assert (row["boundary_min"], row["boundary_max"]) == (1, 4)


def test_arguments_and_kernels_are_chosen():
    assert oriole.analyze(STRIDED, arguments={0: -1}).kernels
    with pytest.raises(oriole.PtxError, match="no kernel is named another"):
        oriole.analyze(STRIDED, kernel="another")
    with pytest.raises(oriole.PtxError, match="no kernel has a parameter 99"):
        oriole.analyze(STRIDED, arguments={99: 3})
    assert oriole.analyze(STRIDED, kernel="stri").kernels[0].name == "strided"
    assert oriole.analyze(STRIDED, block=(32, 8)).kernels[0].block == (32, 8, 1)


def test_tables_have_scalars_only():
    analysis = oriole.analyze(STRIDED)
    for table in (analysis.findings_table(), analysis.accesses_table(), analysis.kernels_table()):
        assert table
        for row in table:
            assert all(value is None or isinstance(value, (str, int, float)) for value in row.values()), row
    row = analysis.accesses_table()[-1]
    assert row["kernel"] == "strided" and row["cost_mean"] == 32 and row["source_line"] is None
    pandas = pytest.importorskip("pandas")
    frame = analysis.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["severity"])[0] == "high"
    with pytest.raises(ValueError, match="there is no table 'others'"):
        analysis.to_pandas("others")


def test_jupyter_gets_tables_without_markup_of_the_input():
    shown = oriole.analyze(STRIDED)._repr_html_()
    assert "<table>" in shown and "uncoalesced-access" in shown
    assert "<script" not in oriole.analyze(STRIDED, name="<script>")._repr_html_()


def test_what_is_wrong_is_said_with_its_place():
    with pytest.raises(oriole.PtxError, match=r"k.ptx:4:10"):
        oriole.optimize(HEADER + ".entry k()\n}", name="k.ptx")
    with pytest.raises(ValueError, match="the level is 7"):
        oriole.optimize(STRIDED, level=7)
    with pytest.raises(ValueError, match="1,024 threads"):
        oriole.analyze(STRIDED, block=4096)
    with pytest.raises(ValueError, match="up to three sizes"):
        oriole.analyze(STRIDED, block=(1, 1, 1, 1))
    with pytest.raises(TypeError):
        oriole.optimize(b"bytes")


def fat_binary(text: str) -> bytes:
    payload = text.encode()
    payload += b"\0" * (-len(payload) % 8)
    entry = bytearray(64)
    struct.pack_into("<HHIQ", entry, 0, 1, 0x101, 64, len(payload))
    struct.pack_into("<HHI", entry, 24, 0, 8, 90)
    struct.pack_into("<Q", entry, 40, 0x100011)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + len(payload)) + bytes(entry) + payload


def test_ptx_is_extracted(tmp_path):
    file = tmp_path / "k.fatbin"
    file.write_bytes(fat_binary(STRIDED))
    for images in (oriole.extract(file), oriole.extract(file.read_bytes()), oriole.read(file)):
        (image,) = images
        assert (image.ptx, image.architecture, image.stored) == (STRIDED, "sm_90a", "none")
    (tmp_path / "k.ptx").write_text(STRIDED)
    assert oriole.read(tmp_path / "k.ptx")[0].ptx == STRIDED
    with pytest.raises(oriole.PtxError, match="malformed fat binary at byte 0"):
        oriole.extract(file.read_bytes()[:-1])


def test_threads_work_at_once():
    results = []
    threads = [threading.Thread(target=lambda: results.append(oriole.optimize(STRIDED).ptx)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and len(set(results)) == 1


def test_the_documentation_runs():
    import doctest

    assert doctest.testmod(oriole).failed == 0


def test_the_readme_runs(tmp_path, monkeypatch):
    import pathlib

    text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    block = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "kernel.ptx").write_text(STRIDED)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
