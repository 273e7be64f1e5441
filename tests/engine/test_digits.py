"""The example network: PyTorch's losses step by step, and the accuracy it has to reach in time."""

import importlib.util
import json
import pathlib
import time

import pytest
import treadle

HERE = pathlib.Path(__file__).parent


def example():
    path = HERE.parents[1] / "engine" / "examples" / "digits.py"
    spec = importlib.util.spec_from_file_location("digits_example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_losses_are_pytorchs():
    recorded = json.loads((HERE / "data" / "digits.json").read_text())
    losses, _ = example().train(treadle, steps=20)
    assert losses == pytest.approx(recorded, abs=1e-4)


def test_accuracy_and_time():
    module = example()
    start = time.process_time()
    losses, accuracy = module.train(treadle, report=lambda line: None)
    seconds = time.process_time() - start
    assert accuracy >= 0.97
    assert seconds < 20, "processor time of all threads; 10 s of wall clock on an idle machine"
