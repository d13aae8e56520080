# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Analyses every kernel that Triton compiles.

    import oriole.triton

    with oriole.triton.analyzed() as analyses:
        kernel[grid](...)
    for analysis in analyses:
        print(analysis.findings)

or, for a whole program, `oriole.triton.install(print)`.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Mapping, Optional

from . import Analysis, PtxError, analyze

__all__ = ["analyzed", "install", "uninstall"]

Callback = Callable[[Analysis], Any]


def _ptx_of(metadata_group: Mapping[str, str]) -> Optional[str]:
    """The path of the PTX among the files of a kernel."""
    return next((path for name, path in metadata_group.items() if name.endswith(".ptx")), None)


def _shared_of(metadata_group: Mapping[str, str]) -> Optional[int]:
    """The bytes of shared memory that Triton launches a kernel with, as its metadata say."""
    path = next((path for name, path in metadata_group.items() if name.endswith(".json")), None)
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            shared = json.load(file).get("shared")
    except (OSError, ValueError, AttributeError):
        return None
    return shared if isinstance(shared, int) else None


class _Listener:
    """What Triton calls behind each compilation; hands on to the one that was there before."""

    def __init__(self, callback: Callback, previous: Optional[Callable[..., Any]]) -> None:
        self.callback = callback
        self.previous = previous

    def __call__(self, *, metadata_group: Mapping[str, str], **others: Any) -> None:
        if self.previous is not None:
            self.previous(metadata_group=metadata_group, **others)
        path = _ptx_of(metadata_group)
        if path is None:
            return
        # A kernel that cannot be analyzed is compiled all the same.
        try:
            with open(path, encoding="utf-8") as file:
                analysis = analyze(file.read(), name=path, shared=_shared_of(metadata_group))
        except (OSError, PtxError, RuntimeError) as error:
            print(f"oriole: {path}: {error}", file=sys.stderr)
            return
        self.callback(analysis)


def install(callback: Callback) -> None:
    """Calls `callback` with the analysis of each kernel that Triton compiles or takes from its cache."""
    from triton import knobs

    knobs.compilation.listener = _Listener(callback, knobs.compilation.listener)


def uninstall() -> None:
    """Undoes the last `install`."""
    from triton import knobs

    listener = knobs.compilation.listener
    if isinstance(listener, _Listener):
        knobs.compilation.listener = listener.previous


@contextmanager
def analyzed() -> Iterator[List[Analysis]]:
    """A list to which the analyses of kernels are appended that Triton compiles inside of the block."""
    analyses: List[Analysis] = []
    install(analyses.append)
    try:
        yield analyses
    finally:
        uninstall()
