"""Treadle beside PyTorch on one machine, in one run.

    python tests/bench/bench_treadle.py [--package DIR] [--torch PYTHON] [--json OUT]

--package: folder that has treadle/ (default: the installed one). It must be an optimised build: the
wheel, or a build folder with CMAKE_BUILD_TYPE=Release; the preset `dev` is compiled with -O0.
--torch: an interpreter with torch (and scikit-learn, for the digits); without it only Treadle is
measured. Each engine runs in processes of its own; rounds alternate between the engines, so that
noise falls on both, and the smallest time of all rounds counts: it is the least disturbed one.
Times of small calls include that of the Python function around them, some 30 ns. Ratios are
torch / treadle: above 1, Treadle is faster.
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
import gc, importlib, json, sys, time
engine, group = sys.argv[1:3]
start = time.perf_counter()
E = importlib.import_module(engine)
imported = time.perf_counter() - start

def smallest(fn, seconds):
    fn(); fn()
    n, best, end = 1, float("inf"), time.perf_counter() + seconds
    while True:
        s = time.perf_counter()
        for _ in range(n): fn()
        t = time.perf_counter() - s
        best = min(best, t / n)
        if t < 0.0005: n *= 2
        if time.perf_counter() > end: return best

def small():
    x, y = E.ones(1), E.ones(1)
    g = E.ones(1, requires_grad=True)
    m, i = E.ones(8, 12), E.arange(16)
    def backward():
        g.grad = None
        (g * g + g).backward()
    return {
        "x + y": lambda: x + y, "x * y": lambda: x * y, "x + 2.0": lambda: x + 2.0,
        "x < y": lambda: x < y, "-x": lambda: -x, "x += y": lambda: x.__iadd__(y),
        "x.relu()": lambda: x.relu(), "x.tanh()": lambda: x.tanh(), "x.sum()": lambda: x.sum(),
        "torch.add(x, y)": lambda: E.add(x, y), "m.sum(1)": lambda: m.sum(1),
        "i[3]": lambda: i[3], "m[2, 3]": lambda: m[2, 3], "m[1:3]": lambda: m[1:3],
        "m.view(12, 8)": lambda: m.view(12, 8), "m.transpose(0, 1)": lambda: m.transpose(0, 1),
        "m.T": lambda: m.T, "m.unsqueeze(0)": lambda: m.unsqueeze(0),
        "x.detach()": lambda: x.detach(), "x.item()": lambda: x.item(),
        "g + y, on the tape": lambda: g + y, "g * y, on the tape": lambda: g * y,
        "g.relu(), on the tape": lambda: g.relu(), "g.sum(), on the tape": lambda: g.sum(),
        "g[0], on the tape": lambda: g[0], "backward of g*g+g": backward,
        "torch.empty(1)": lambda: E.empty(1),
    }

def large():
    big = E.randn(1_000_000)
    a, b = E.randn(512, 512), E.randn(512, 512)
    return {
        "add of 1e6": lambda: big + big, "tanh of 1e6": lambda: big.tanh(),
        "sum of 1e6": lambda: big.sum(), "matmul 512": lambda: a @ b,
    }

def digits():
    import importlib.util
    spec = importlib.util.spec_from_file_location("digits_example", sys.argv[3])
    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
    s = time.perf_counter()
    losses, accuracy = m.train(E, report=lambda line: None)
    return time.perf_counter() - s, accuracy, losses[:20]

if group == "import": r = {"import": imported}
elif group == "digits": r = digits()
else:
    r = {}
    for name, fn in {"small": small, "large": large}[group]().items():
        r[name] = smallest(fn, 0.1 if group == "small" else 0.25)
        gc.collect()
print(json.dumps(r))
"""
GROUPS = ["import", "small", "large", "digits"]


def measure(python, engine, group, environment):
    result = subprocess.run(
        [python, "-c", WORKER, engine, group, str(ROOT / "engine/examples/digits.py")],
        capture_output=True,
        text=True,
        env=environment,
    )
    if result.returncode:
        raise SystemExit(f"{engine}: {group} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def version(python, engine, environment):
    code = f"import {engine}; print({engine}.__version__)"
    argv = [python, "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, env=environment).stdout.strip()


def cpu_model():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((x.split(":")[1].strip() for x in lines if "model name" in x), platform.machine())


def text(seconds):
    for unit, scale in (("s ", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:8.2f} {unit}"
    return f"{seconds / 1e-9:8.0f} ns"


def markdown(report):
    """The table of docs/bench/README.md."""
    lines = ["| | treadle | torch | torch / treadle |", "|---|---|---|---|"]
    for name, row in report["seconds"].items():
        torch = row.get("torch")
        cells = [text(row["treadle"]).strip(), text(torch).strip() if torch else "-"]
        cells.append(f"{torch / row['treadle']:.1f}" if torch else "-")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--package", help="folder that has treadle/ (default: the installed one)")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter with torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=GROUPS, help="one group of measurements")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--markdown", metavar="JSON", help="print a file of figures as a table")
    args = parser.parse_args()
    if args.markdown:
        print(markdown(json.loads(pathlib.Path(args.markdown).read_text())))
        return 0
    n = str(args.threads)
    environment = {**os.environ, "TREADLE_NUM_THREADS": n, "OMP_NUM_THREADS": n}
    if args.package:
        environment["PYTHONPATH"] = args.package
    engines = [("treadle", sys.executable)] + ([("torch", args.torch)] if args.torch else [])
    figures, losses, accuracy = {}, {}, {}
    for group in [args.only] if args.only else GROUPS:
        best = {}
        for _ in range(1 if group == "digits" else args.rounds):
            for engine, python in engines:
                values = measure(python, engine, group, environment)
                if group == "digits":
                    seconds, accuracy[engine], losses[engine] = values
                    values = {"digits": seconds}
                for name, value in values.items():
                    row = best.setdefault(name, {})
                    row[engine] = min(value, row.get(engine, value))
        figures.update(best)
        for name, row in best.items():
            line = f"{name:22} treadle {text(row['treadle'])}"
            if "torch" in row:
                line += (
                    f"   torch {text(row['torch'])}   ratio {row['torch'] / row['treadle']:6.2f}"
                )
            print(line, flush=True)
    report = {
        "seconds": figures,
        "accuracy": accuracy,
        "machine": f"{cpu_model()}, {os.cpu_count()} CPUs, {platform.system()}",
        "python": platform.python_version(),
        "versions": {engine: version(python, engine, environment) for engine, python in engines},
        "rounds": args.rounds,
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
        pathlib.Path(args.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
