# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Optimize and analyze NVIDIA PTX.

>>> import oriole
>>> optimized = oriole.optimize(oriole.EXAMPLE)
>>> optimized.rewrites > 0
True
>>> analysis = oriole.analyze(oriole.EXAMPLE)
>>> [kernel.name for kernel in analysis.kernels] == [function.name for function in optimized.functions]
True
"""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from . import _oriole
from ._oriole import EXAMPLE, PtxError, __version__

__all__ = [
    "Access",
    "Analysis",
    "Boundary",
    "EXAMPLE",
    "Finding",
    "FunctionChange",
    "Image",
    "Kernel",
    "Loop",
    "Occupancy",
    "Optimized",
    "PtxError",
    "Registers",
    "SourceLine",
    "__version__",
    "analyze",
    "extract",
    "optimize",
    "read",
]

T = TypeVar("T")
Block = Union[int, Tuple[int, ...]]
PathLike = Union[str, "os.PathLike[str]"]


def _of(cls: Type[T], values: Mapping[str, Any]) -> T:
    """An instance of a dataclass; what it has no field for goes into `extra`, if it has that."""
    names = {own.name for own in fields(cls)}  # type: ignore[arg-type]
    known = {name: value for name, value in values.items() if name in names}
    if "extra" in names:
        known["extra"] = {name: value for name, value in values.items() if name not in names}
    return cls(**known)


@dataclass(frozen=True)
class SourceLine:
    """A line of the source that a kernel was compiled from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def _source(value: Optional[Mapping[str, Any]]) -> Optional[SourceLine]:
    return None if value is None else SourceLine(value["file"], value["line"])


@dataclass(frozen=True)
class Finding:
    """Something that costs time for nothing."""

    #: What it is, such as `bank-conflict`.
    kind: str
    #: `low`, `undecided`, `medium` or `high`.
    severity: str
    #: Its line in the PTX.
    line: int
    #: Its line in the source, if the PTX says it.
    source: Optional[SourceLine]
    #: What is wrong.
    message: str
    #: How much is wasted over a run of the kernel, on average.
    weight: Optional[float] = None
    #: A name that stays when lines move and files are renamed.
    fingerprint: str = ""
    #: The share of the kernel's cost that is wasted for certain, from 0 to 1.
    share: float = 0.0
    #: Likewise, at worst.
    share_at_worst: float = 0.0
    #: The option of `oriole analyze` that settles an undecided cost.
    check: Optional[str] = None
    #: What else is known of it.
    extra: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Boundary:
    """What an access costs a warp of which a condition such as `i < n` leaves the first lanes only."""

    #: The least and the most of `by_lanes`.
    min: int
    max: int
    #: The cost by the number of lanes that are left, from one on.
    by_lanes: List[int]


@dataclass(frozen=True)
class Access:
    """A memory access and what one request of it costs."""

    line: int
    source: Optional[SourceLine]
    instruction: str
    space: str
    op: str
    bytes: int
    unit: str
    #: The least, the mean and the most that a request costs, in `unit`.
    cost: Dict[str, float]
    ideal: float
    #: The pattern of addresses.
    pattern: str
    #: How sure that is: `proved`, `proved-if`, `bounded` or `unknown`.
    status: str
    assumptions: List[str]
    weight: float
    #: Whether more is accessed than would do: `certainly`, `likely` (a guess), `possibly` or `no`.
    wasteful: str = "no"
    #: Who else has to make the access for one of them to be wasteful, such as `several blocks along x`.
    wasteful_if: List[str] = field(default_factory=list)
    #: What it costs a warp that is cut short, if that is known.
    boundary: Optional[Boundary] = None
    extra: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Loop:
    """A loop and how often its back edge is taken."""

    name: str
    line: int
    source: Optional[SourceLine]
    depth: int
    #: `kind`, `value`, `expression` and `assumptions`.
    count: Dict[str, Any]
    extra: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Registers:
    """How many registers `ptxas` is expected to use; nine of ten kernels lie between `low` and `high`."""

    low: int
    best: int
    high: int


@dataclass(frozen=True)
class Occupancy:
    """What a multiprocessor holds of a kernel."""

    block: Tuple[int, int, int]
    blocks: int
    warps: int
    percent: float
    limiter: str
    #: Bytes of shared memory: `static`, whether there is `dynamic` too, and how much of that is `given`. What is not given is left out.
    shared: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel, or of a function that kernels call and that was not inlined."""

    name: str
    #: ``"kernel"`` or ``"function"``
    kind: str
    file: str
    block: Tuple[int, int, int]
    findings: List[Finding]
    accesses: List[Access]
    loops: List[Loop]
    registers: Optional[Registers]
    occupancy: Optional[Occupancy]
    #: What the kernel comes to: `class`, `problem`, `text`, `share`, `saved` and others.
    verdict: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    extra: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def _of(value: Mapping[str, Any]) -> Kernel:
        def placed(own: Mapping[str, Any]) -> Dict[str, Any]:
            return {**own, "source": _source(own.get("source"))}

        accesses = []
        for own in value["accesses"]:
            access = placed(own)
            access["pattern"] = access.pop("class")
            boundary = access.get("boundary")
            access["boundary"] = _of(Boundary, boundary) if boundary else None
            accesses.append(_of(Access, access))
        registers, occupancy = value.get("registers"), value.get("occupancy")
        if occupancy:
            occupancy = {**occupancy, "block": tuple(occupancy["block"])}
        return _of(
            Kernel,
            {
                **value,
                "block": tuple(value["block"]),
                "findings": [_of(Finding, placed(own)) for own in value["findings"]],
                "accesses": accesses,
                "loops": [_of(Loop, placed(own)) for own in value["loops"]],
                "registers": _of(Registers, registers) if registers else None,
                "occupancy": _of(Occupancy, occupancy) if occupancy else None,
            },
        )


def _row(kernel: Kernel, own: Any) -> Dict[str, Any]:
    """One row of a table: a scalar in each column."""
    row: Dict[str, Any] = {"file": kernel.file, "kernel": kernel.name}
    for name in (each.name for each in fields(own)):
        value = getattr(own, name)
        if name == "extra":
            continue
        if name == "source":
            row["source_file"] = value.file if value else None
            row["source_line"] = value.line if value else None
        elif name == "boundary":
            row["boundary_min"] = value.min if value else None
            row["boundary_max"] = value.max if value else None
        elif isinstance(value, dict):
            row.update({f"{name}_{key}": each for key, each in value.items() if not isinstance(each, list)})
        elif isinstance(value, list):
            row[name] = "; ".join(map(str, value))
        else:
            row[name] = value
    return row


@dataclass(frozen=True)
class Analysis:
    """What is known of the kernels of some PTX. Jupyter shows it as a table."""

    kernels: List[Kernel]
    #: The document that `oriole analyze --json` prints.
    document: Dict[str, Any] = field(repr=False, compare=False)

    @property
    def findings(self) -> List[Finding]:
        """The findings of all kernels, in order of the kernels, worst first in each."""
        return [finding for kernel in self.kernels for finding in kernel.findings]

    def findings_table(self) -> List[Dict[str, Any]]:
        """One flat dictionary for each finding, as `pandas.DataFrame` takes them."""
        return [_row(kernel, own) for kernel in self.kernels for own in kernel.findings]

    def accesses_table(self) -> List[Dict[str, Any]]:
        """One flat dictionary for each memory access."""
        return [_row(kernel, own) for kernel in self.kernels for own in kernel.accesses]

    def kernels_table(self) -> List[Dict[str, Any]]:
        """One flat dictionary for each kernel."""
        rows = []
        for kernel in self.kernels:
            x, y, z = kernel.block
            registers, occupancy = kernel.registers, kernel.occupancy
            rows.append(
                {
                    "file": kernel.file,
                    "kernel": kernel.name,
                    "block": f"{x}x{y}x{z}",
                    "registers": registers.best if registers else None,
                    "occupancy": occupancy.percent if occupancy else None,
                    "limiter": occupancy.limiter if occupancy else None,
                    "accesses": len(kernel.accesses),
                    "loops": len(kernel.loops),
                    "findings": len(kernel.findings),
                    "high": sum(own.severity == "high" for own in kernel.findings),
                }
            )
        return rows

    def to_pandas(self, table: str = "findings") -> Any:
        """A table (`findings`, `accesses` or `kernels`) as a `pandas.DataFrame`."""
        import pandas

        tables = {
            "findings": self.findings_table,
            "accesses": self.accesses_table,
            "kernels": self.kernels_table,
        }
        if table not in tables:
            raise ValueError(f"there is no table {table!r}; there are {', '.join(tables)}")
        return pandas.DataFrame(tables[table]())

    def _repr_html_(self) -> str:
        parts = [_html_table(self.kernels_table())]
        findings = [
            {
                "severity": finding.severity,
                "finding": finding.kind,
                "kernel": kernel.name,
                "where": str(finding.source or f"PTX line {finding.line}"),
                "what": finding.message,
            }
            for kernel in self.kernels
            for finding in kernel.findings
        ]
        parts.append(_html_table(findings) if findings else "<p>No findings.</p>")
        return "".join(parts)


def _html_table(rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    if not rows:
        return "<p>No kernels.</p>"

    def cell(tag: str, value: Any) -> str:
        text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        return f'<{tag} style="text-align:left">{html.escape(text)}</{tag}>'

    head = "".join(cell("th", name) for name in rows[0])
    body = "".join("<tr>" + "".join(cell("td", value) for value in row.values()) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class FunctionChange:
    """What became of a function."""

    name: str
    #: PTX instructions before.
    before: int
    #: PTX instructions after.
    after: int
    #: Whether it was kept as the passes left it; else only dead code was removed.
    is_better: bool


@dataclass(frozen=True)
class Optimized:
    """Optimized PTX. `str()` gives the text."""

    ptx: str = field(repr=False)
    #: How many rewrites were made.
    rewrites: int
    functions: List[FunctionChange]
    #: What was left as it was, and why.
    notes: List[str]

    def __str__(self) -> str:
        return self.ptx


def optimize(ptx: str, *, level: int = 2, name: str = "<ptx>") -> Optimized:
    """Optimizes PTX at a level from 0 to 3. Raises `PtxError` if it is malformed."""
    text, report = _oriole.optimize(ptx, name, level)
    done = json.loads(report)
    functions = [_of(FunctionChange, own) for own in done["functions"]]
    return Optimized(text, done["rewrites"], functions, done["notes"])


def analyze(
    ptx: str,
    *,
    block: Optional[Block] = None,
    arguments: Optional[Mapping[int, int]] = None,
    kernel: Optional[str] = None,
    shared: Optional[int] = None,
    name: str = "<ptx>",
) -> Analysis:
    """Says what wastes time in each kernel. Raises `PtxError` if the PTX is malformed, or if no kernel has the name.

    `block` is the shape of blocks, a number or up to three; without it what each kernel requires, else 256 threads, or fewer if it allows no more. `arguments` says
    what parameters are, by number from 0. `kernel` is the name of the only one to analyze, or a part of names. `shared` is the number of bytes
    of shared memory that the launch adds; without it, the occupancy of a kernel that uses such memory leaves it out.
    """
    if shared is not None and not 0 <= shared <= 1 << 20:
        raise ValueError(f"a block has at most {1 << 20} bytes of shared memory, not {shared}")
    shape: Optional[Tuple[int, int, int]] = None
    if block is not None:
        sizes = (block,) if isinstance(block, int) else tuple(block)
        if not 1 <= len(sizes) <= 3:
            raise ValueError("a block has up to three sizes")
        x, y, z = (sizes + (1, 1))[:3]
        shape = (x, y, z)
    given = {index: value & 0xFFFF_FFFF_FFFF_FFFF for index, value in (arguments or {}).items()}
    document = json.loads(_oriole.analyze(ptx, name, shape, given, kernel, shared))
    return Analysis([Kernel._of(own) for own in document["kernels"]], document)


@dataclass(frozen=True)
class Image:
    """PTX that was found in a file."""

    ptx: str = field(repr=False)
    #: Such as `sm_90a`; empty if the file does not say.
    architecture: str
    source: Optional[str] = None
    member: Optional[str] = None
    options: Optional[str] = None
    #: How it was stored: `none`, `lz4` or `zstd`.
    stored: str = "none"


def extract(data: Union[bytes, PathLike]) -> List[Image]:
    """The PTX in a fat binary, cubin, object, library or executable, given as bytes or by its path."""
    if not isinstance(data, bytes):
        with open(data, "rb") as file:
            data = file.read()
    return [_of(Image, {"ptx": text, **json.loads(about)}) for about, text in _oriole.extract(data)]


def read(path: PathLike) -> List[Image]:
    """The PTX of a file: of a container as `extract`, else its text."""
    with open(path, "rb") as file:
        data = file.read()
    if _oriole.is_container(data):
        return extract(data)
    return [Image(data.decode(), "")]
