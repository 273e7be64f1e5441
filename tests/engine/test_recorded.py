"""Values, texts, random streams and errors against what PyTorch answered (data/record.py)."""

import json
import math
import pathlib
import warnings

import numpy as np
import pytest
import treadle as E

DATA = pathlib.Path(__file__).parent / "data"
# Differences that are meant, with the reason.
KNOWN = {
    "E.zeros(3, 3, dtype=E.float64, requires_grad=True).t()": "t() records a transpose",
}


def rows(name):
    return [
        pytest.param(r, id=r["source"].replace("\n", "; ")[:80])
        for r in json.loads((DATA / f"{name}.json").read_text())
    ]


def evaluate(source):
    scope = {"E": E, "np": np}
    *lines, last = source.strip().split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(lines), scope)
        return eval(last, scope)


def same(value, recorded, rtol):
    if isinstance(recorded, dict) and "values" in recorded:
        assert isinstance(value, E.Tensor), f"expected a tensor, got {value!r}"
        assert str(value.dtype).split(".")[1] == recorded["dtype"]
        assert list(value.shape) == recorded["shape"]
        assert value.requires_grad == recorded["requires_grad"]
        for got, want in zip(value.detach().reshape(-1).tolist(), recorded["values"]):
            if isinstance(want, str):
                want = float.fromhex(want)
                if math.isnan(want):
                    assert math.isnan(got)
                    continue
                assert got == want or abs(got - want) <= rtol * max(abs(want), 1e-3), (got, want)
            else:
                assert got == want
    elif isinstance(recorded, dict) and "items" in recorded:
        assert len(value) == len(recorded["items"])
        for v, r in zip(value, recorded["items"]):
            same(v, r, rtol)
    elif isinstance(recorded, dict) and "size" in recorded:
        assert isinstance(value, E.Size) and list(value) == recorded["size"]
    elif isinstance(recorded, dict) and "name" in recorded:
        assert str(value) == "treadle." + recorded["name"]
    elif isinstance(recorded, dict) and "float" in recorded:
        assert value == pytest.approx(float.fromhex(recorded["float"]), rel=rtol)
    else:
        assert value == recorded


def check(row, rtol):
    if row["source"] in KNOWN:
        pytest.xfail(KNOWN[row["source"]])
    if "error" in row:
        with pytest.raises(Exception) as caught:
            evaluate(row["source"])
        assert type(caught.value).__name__ == row["error"], str(caught.value)
        assert str(caught.value).strip()
    else:
        same(evaluate(row["source"]), row["result"], rtol)


@pytest.mark.parametrize("row", rows("values"))
def test_values(row):
    check(row, rtol=2e-6)


@pytest.mark.parametrize("row", rows("random"))
def test_random_streams(row):
    # float32 normal numbers come from log and cos, which differ in the last bits between libraries.
    check(row, rtol=2e-5)


@pytest.mark.parametrize("row", rows("errors"))
def test_error_types(row):
    check(row, rtol=0)


@pytest.mark.parametrize("row", rows("printing"))
def test_printing(row):
    if row["source"] in KNOWN:
        pytest.xfail(KNOWN[row["source"]])
    assert (
        repr(evaluate(row["source"])) == row["result"].replace("torch.", "treadle.")
        if isinstance(row["result"], str)
        else row["result"]
    )
