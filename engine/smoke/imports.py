"""Smoke test: the package imports, without NumPy, and says what it runs on."""

import sys
import time

start = time.perf_counter()
import treadle  # noqa: E402

seconds = time.perf_counter() - start
if "numpy" in sys.modules:
    sys.exit("import treadle has imported numpy, which is optional")

x = treadle.tensor([[1.0, 2.0], [3.0, 4.0]])
checks = {
    "sum": (x.sum().item(), 10.0),
    "matmul": ((x @ x).tolist(), [[7.0, 10.0], [15.0, 22.0]]),
    "mask": (x[x > 2].tolist(), [3.0, 4.0]),
    "promotion": (str((treadle.arange(2) + 0.5).dtype), "treadle.float32"),
    "text": (repr(treadle.tensor([1.5, 2.0])), "tensor([1.5000, 2.0000])"),
    "pointer": (x.t().data_ptr(), x.data_ptr()),
}
wrong = [
    f"{name}: got {got}, expected {want}" for name, (got, want) in checks.items() if got != want
]
if wrong:
    sys.exit("\n".join(wrong))
print(f"imported treadle {treadle.__version__} in {seconds * 1000:.0f} ms")
print("checked", ", ".join(checks))
print(treadle.__config__.show())
