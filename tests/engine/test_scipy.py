"""SciPy's functions for arrays of any library run on tensors, and give what they give for NumPy's.

SciPy reads SCIPY_ARRAY_API when it is imported, so the calls are made in a process of their own.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy")

CASES = {
    "special.expit": "special.expit(x)",
    "special.xlogy": "special.xlogy(x, x)",
    "special.logsumexp": "special.logsumexp(x)",
    "special.softmax": "special.softmax(x)",
    "special.betainc": "special.betainc(x, x, x / 2)",
    "fft.fft": "fft.fft(x)",
    "fft.irfft": "fft.irfft(fft.rfft(x))",
    "fft.hfft": "fft.hfft(x)",
    "fft.fftshift": "fft.fftshift(x)",
    "stats.gmean": "stats.gmean(x)",
    "stats.sem": "stats.sem(x)",
    "stats.entropy": "stats.entropy(x)",
    "stats.tmean": "stats.tmean(x)",
    "stats.circmean": "stats.circmean(x)",
    "signal.detrend": "signal.detrend(x)",
    "signal.hilbert": "signal.hilbert(x)",
    "signal.convolve": "signal.convolve(x, x)",
    "signal.fftconvolve": "signal.fftconvolve(x, x)",
    "signal.resample": "signal.resample(x, 4)",
    "integrate.trapezoid": "integrate.trapezoid(x)",
    "integrate.cumulative_trapezoid": "integrate.cumulative_trapezoid(x)",
    "ndimage.gaussian_filter": "ndimage.gaussian_filter(x, 1.0)",
    "differentiate.derivative": "differentiate.derivative(lambda t: t**3, x).df",
}

PROGRAM = """
import json, sys
import numpy, treadle
from scipy import differentiate, fft, integrate, ndimage, signal, special, stats
treadle.manual_seed(0)
tensor = treadle.rand(6, dtype=treadle.float64) + 0.5
results = {}
for name, text in json.load(sys.stdin).items():
    try:
        made = eval(text, globals(), {"x": tensor})
        expected = eval(text, globals(), {"x": tensor.numpy()})
        right = isinstance(made, treadle.Tensor) and numpy.allclose(made.numpy(), expected, 1e-10)
        results[name] = "" if right else f"{made!r} instead of {expected!r}"
    except Exception as e:
        results[name] = f"{type(e).__name__}: {e}"
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_tensors_in_scipy(name, results):
    assert not results[name]
