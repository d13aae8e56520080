# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Analyzes all kernels below some folders and writes tables, on the cores of this machine or on a cluster.

    python fleet.py build/ other/ --output kernels.parquet
    python fleet.py build/ --output kernels.csv --scheduler dask
    python fleet.py build/ --output kernels.parquet --scheduler ray

The folders have to be where the workers see them. Parquet needs pandas and pyarrow; CSV needs neither.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Callable, Dict, Iterable, List

Row = Dict[str, Any]


def analyze_file(path: str) -> List[Row]:
    """The findings of a file, a row each; a row with an error if it cannot be read."""
    import oriole

    rows: List[Row] = []
    try:
        for image in oriole.read(path):
            rows += oriole.analyze(image.ptx, name=path).findings_table()
    except (OSError, ValueError) as error:
        rows.append({"file": path, "error": str(error).splitlines()[0]})
    return rows


def with_processes(files: List[str]) -> Iterable[List[Row]]:
    with ProcessPoolExecutor() as pool:
        yield from pool.map(analyze_file, files, chunksize=16)


def with_dask(files: List[str]) -> Iterable[List[Row]]:
    import dask.bag

    return dask.bag.from_sequence(files, partition_size=64).map(analyze_file).compute()


def with_ray(files: List[str]) -> Iterable[List[Row]]:
    import ray

    remote = ray.remote(analyze_file)
    return ray.get([remote.remote(file) for file in files])


SCHEDULERS: Dict[str, Callable[[List[str]], Iterable[List[Row]]]] = {
    "processes": with_processes,
    "dask": with_dask,
    "ray": with_ray,
}


def write(rows: List[Row], output: pathlib.Path) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if output.suffix == ".parquet":
        import pandas

        pandas.DataFrame(rows, columns=columns).to_parquet(output)
    else:
        with open(output, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, columns)
            table.writeheader()
            table.writerows(rows)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--scheduler", choices=SCHEDULERS, default="processes")
    given = parser.parse_args(arguments)
    files = sorted(
        str(path)
        for folder in given.folders
        for suffix in ("*.ptx", "*.fatbin", "*.cubin")
        for path in folder.rglob(suffix)
    )
    rows = [row for found in SCHEDULERS[given.scheduler](files) for row in found]
    write(rows, given.output)
    print(f"{len(files)} files, {len(rows)} rows in {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
