"""Treadle beside PyTorch on one machine, in one run.

    python tests/bench/bench_treadle.py --package build/dev/python [--torch PYTHON] [--json OUT]

--package: folder that has treadle/ (default: the installed one). --torch: an interpreter with
torch (and
scikit-learn, for the digits); without it only Treadle is measured. Each engine runs in processes
of its own;
rounds alternate between the engines, so that noise falls on both, and the smallest time of all
rounds counts:
it is the least disturbed one. Ratios are torch / treadle: above 1, Treadle is faster.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

WORKER = r"""
import importlib, json, sys, time
engine, name = sys.argv[1:3]
start = time.perf_counter()
E = importlib.import_module(engine)
imported = time.perf_counter() - start

def smallest(fn, seconds=0.25):
    fn(); fn()
    n, best, end = 1, float("inf"), time.perf_counter() + seconds
    while True:
        s = time.perf_counter()
        for _ in range(n): fn()
        t = time.perf_counter() - s
        best = min(best, t / n)
        if t < 0.005: n *= 2
        if time.perf_counter() > end: return best

def digits():
    import importlib.util
    spec = importlib.util.spec_from_file_location("digits_example", sys.argv[3])
    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
    s = time.perf_counter()
    losses, accuracy = m.train(E, report=lambda line: None)
    return time.perf_counter() - s, accuracy, losses[:20]

if name == "import": r = imported
elif name == "digits": r = digits()
else:
    x, y = E.ones(1), E.ones(1)
    g = E.ones(1, requires_grad=True)
    big = E.randn(1_000_000)
    a, b = E.randn(512, 512), E.randn(512, 512)
    i = E.arange(16)
    def backward():
        g.grad = None
        (g * g + g).backward()
    r = smallest({"x + y": lambda: x + y, "x + 1.0": lambda: x + 1.0,
                  "x + y with grad": lambda: g + y,
                  "x.tanh()": lambda: x.tanh(), "x.sum()": lambda: x.sum(), "i[3]": lambda: i[3],
                  "backward of g*g+g": backward, "tanh of 1e6": lambda: big.tanh(),
                  "add of 1e6": lambda: big + big,
                  "sum of 1e6": lambda: big.sum(), "matmul 512": lambda: a @ b}[name])
print(json.dumps(r))
"""
NAMES = [
    "import", "x + y", "x + 1.0", "x + y with grad", "x.tanh()", "x.sum()", "i[3]",
    "backward of g*g+g",
    "add of 1e6", "tanh of 1e6", "sum of 1e6", "matmul 512", "digits",
]  # fmt: skip


def measure(python, engine, name, environment):
    result = subprocess.run(
        [python, "-c", WORKER, engine, name, str(ROOT / "engine/examples/digits.py")],
        capture_output=True,
        text=True,
        env=environment,
    )
    if result.returncode:
        raise SystemExit(f"{engine}: {name} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def text(seconds):
    for unit, scale in (("s ", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:8.2f} {unit}"
    return f"{seconds / 1e-9:8.0f} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--package", help="folder that has treadle/ (default: the installed one)")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter with torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", help="one measurement by name")
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    n = str(args.threads)
    environment = {**os.environ, "TREADLE_NUM_THREADS": n, "OMP_NUM_THREADS": n}
    if args.package:
        environment["PYTHONPATH"] = args.package
    engines = [("treadle", sys.executable)] + ([("torch", args.torch)] if args.torch else [])
    figures, losses, accuracy = {}, {}, {}
    for name in [args.only] if args.only else NAMES:
        best = {}
        for _ in range(1 if name == "digits" else args.rounds):
            for engine, python in engines:
                value = measure(python, engine, name, environment)
                if name == "digits":
                    value, accuracy[engine], losses[engine] = value
                best[engine] = min(value, best.get(engine, value))
        figures[name] = best
        line = f"{name:20} treadle {text(best['treadle'])}"
        if "torch" in best:
            line += f"   torch {text(best['torch'])}   ratio {best['torch'] / best['treadle']:6.2f}"
        print(line, flush=True)
    report = {
        "seconds": figures,
        "accuracy": accuracy,
        "machine": platform.machine(),
        "threads": args.threads,
        "load_average": list(os.getloadavg()),
    }
    if len(losses) == 2:
        difference = max(abs(a - b) for a, b in zip(losses["treadle"], losses["torch"]))
        report["largest_loss_difference_of_20_steps"] = difference
        print(f"digits: accuracy {accuracy}, losses of 20 steps differ by at most {difference:.2e}")
        if difference > 1e-4:
            raise SystemExit("the losses of the first 20 steps differ by more than 1e-4")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=2, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
