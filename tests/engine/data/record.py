"""Records what PyTorch answers, for the tests that compare with it. Run by hand, with torch:

    python tests/engine/data/record.py

It rewrites the JSON files beside it. The expressions are in cases.py and see the module as `E`.
"""

import json
import pathlib
import random as _random
import sys

import numpy as np
import torch as E

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402
import cases_reductions  # noqa: E402


def plain(value):
    """A result as JSON: tensors with dtype and shape, floats exactly."""
    if isinstance(value, E.Tensor):
        v = value.detach()
        flat = [
            float(x).hex() if v.dtype.is_floating_point else int(x) for x in v.reshape(-1).tolist()
        ]
        return {
            "dtype": str(v.dtype).split(".")[1],
            "shape": list(v.shape),
            "values": flat,
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, E.Size):
        return {"size": list(value)}
    if isinstance(value, E.dtype):
        return {"name": str(value).split(".")[1]}
    if isinstance(value, (tuple, list)):
        return {"items": [plain(v) for v in value]}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def evaluate(source):
    scope = {"E": E, "np": np}
    *lines, last = source.strip().split("\n")
    exec("\n".join(lines), scope)
    return eval(last, scope)


def record(name, expressions, how):
    rows = []
    for source in expressions:
        E.manual_seed(0)
        try:
            rows.append({"source": source, "result": how(evaluate(source))})
        except Exception as e:
            rows.append({"source": source, "error": type(e).__name__})
    (HERE / f"{name}.json").write_text(json.dumps(rows, indent=0) + "\n")
    print(name, len(rows), "of them errors:", sum("error" in r for r in rows))


def digits():
    """Losses of the first 20 steps of the example, from the seed that makes the same weights."""
    sys.path.insert(0, str(HERE.parents[2] / "engine" / "examples"))
    import digits as example

    losses, _ = example.train(E, steps=20)
    (HERE / "digits.json").write_text(json.dumps(losses, indent=0) + "\n")


if __name__ == "__main__":
    _random.seed(0)
    record("printing", cases.PRINTING, repr)
    record("values", cases.VALUES, plain)
    record("random", cases.RANDOM, plain)
    record("errors", cases.ERRORS, plain)
    record("reductions", cases_reductions.REDUCTIONS, plain)
    record("distributions", cases_reductions.DISTRIBUTIONS, plain)
    digits()
