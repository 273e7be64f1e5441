"""The committed tables of the documentation are what the generators write."""

import pathlib
import subprocess
import sys

import pytest
import treadle

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(treadle.__file__).parent.parent
GENERATOR = ROOT / "engine/python/opsdoc.py"


@pytest.fixture(scope="module")
def generator():
    sys.path.insert(0, str(GENERATOR.parent))
    try:
        import opsdoc
    finally:
        sys.path.pop(0)
    return opsdoc


def test_ops_are_up_to_date():
    result = subprocess.run(
        [sys.executable, str(GENERATOR), str(PACKAGE), "--check"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr


def test_every_op_has_a_line(generator):
    text = generator.generate(treadle)
    table = treadle._C._op_table()
    public = [row["schema"] for row in table if not row["schema"].startswith("_")]
    assert all(f"`{schema}`".replace("|", "\\|") in text for schema in public)
    tanh = next(line for line in text.splitlines() if line.startswith("| `tanh("))
    assert "| yes | formula | one call |" in tanh and "floats, complex" in tanh


def test_dtypes_are_found_by_calling(generator):
    rows = {generator.name_of(row["schema"]): row for row in treadle._C._op_table()}
    assert "floats" in generator.dtypes_of(treadle, rows["softmax.int"])
    assert "bool" not in generator.dtypes_of(treadle, rows["softmax.int"])
    assert generator.dtypes_of(treadle, rows["zeros"]) == "-"
