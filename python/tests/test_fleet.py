"""The example that analyzes many files."""

import csv
import importlib.util
import pathlib
import subprocess
import sys

import pytest
from test_oriole import STRIDED

FLEET = pathlib.Path(__file__).parent.parent / "examples" / "fleet.py"


@pytest.fixture
def folder(tmp_path):
    for number in range(20):
        own = tmp_path / "kernels" / str(number % 3)
        own.mkdir(parents=True, exist_ok=True)
        (own / f"k{number}.ptx").write_text(STRIDED)
    (tmp_path / "kernels" / "broken.ptx").write_text("no PTX")
    return tmp_path


def run(folder, output, scheduler):
    arguments = [str(folder / "kernels"), "--output", str(folder / output), "--scheduler", scheduler]
    return subprocess.run([sys.executable, FLEET, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("scheduler", ["processes", "dask", "ray"])
def test_all_files_are_in_the_table(folder, scheduler):
    if scheduler != "processes":
        pytest.importorskip("dask.bag" if scheduler == "dask" else scheduler)
    assert run(folder, "out.csv", scheduler).startswith("21 files, ")
    with open(folder / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["kind"] == "uncoalesced-access" for row in rows) == 20
    assert [row["file"].endswith("broken.ptx") for row in rows if row["error"]] == [True]


def test_parquet_is_written(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    run(folder, "out.parquet", "processes")
    frame = pandas.read_parquet(folder / "out.parquet")
    assert (frame["severity"] == "high").sum() == 20


def test_it_can_be_imported():
    specification = importlib.util.spec_from_file_location("fleet", FLEET)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert set(module.SCHEDULERS) == {"processes", "dask", "ray"}
