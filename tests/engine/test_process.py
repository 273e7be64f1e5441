"""Threads, forks, and what the environment can change."""

import os
import subprocess
import sys
import threading

import treadle as E


def run(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=120,
    )


def test_threads_share_tensors():
    x = E.randn(200, 200)
    want = (x @ x).sum().item()
    wrong = []

    def work():
        for _ in range(20):
            w = x.clone().requires_grad_()
            (w @ w).sum().backward()
            if abs((x @ x).sum().item() - want) > 1e-3 or w.grad is None:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_grad_mode_is_per_thread():
    seen = []
    with E.no_grad():
        t = threading.Thread(target=lambda: seen.append(E.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_tensors_die_on_other_threads():
    x = E.ones(10, requires_grad=True)
    y = [(x * 2).sum()]
    t = threading.Thread(target=y.clear)
    t.start()
    t.join()
    assert not y


def test_fork_after_parallel_work():
    code = (
        "import os, treadle as E\n"
        "x = E.randn(400, 400); want = (x @ x).sum().item(); x.tanh().sum()\n"
        "pid = os.fork()\n"
        "got = (x @ x).sum().item(); x.tanh().sum()\n"
        "if pid == 0: os._exit(0 if got == want else 3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), got == want)\n"
    )
    result = run(code)
    assert result.stdout.split() == ["0", "True"], result.stderr


def test_isa_can_be_forced_and_wrong_names_fail():
    assert (
        run("import treadle; print(treadle._C._isa())", TREADLE_FORCE_ISA="base").stdout.strip()
        == "base"
    )
    bad = run("import treadle; treadle.ones(2) + 1", TREADLE_FORCE_ISA="mmx")
    assert bad.returncode != 0 and "mmx" in bad.stderr


def test_same_bits_for_any_number_of_threads():
    code = (
        "import treadle as E; E.manual_seed(0); x = E.randn(513, 257)\n"
        "print(x.sum().item().hex(), (x @ x.t()).sum().item().hex())\n"
        "print(x.softmax(1).mean().item().hex())"
    )
    out = {run(code, TREADLE_NUM_THREADS=n).stdout for n in ("1", "2", "3")}
    assert len(out) == 1 and out.pop().strip()


def test_config():
    text = E.__config__.show()
    assert E.__version__ in text and str(E.get_num_threads()) in text
    assert E._C._isa() in text


def test_exit_with_live_tensors_is_clean():
    code = (
        "import treadle as E\n"
        "x = E.ones(3, requires_grad=True); y = x * 2; y.register_hook(lambda g: g)\n"
        "a = x.detach().numpy() if __import__('importlib').util.find_spec('numpy') else None\n"
        "m = E.nn.Linear(2, 2)"
    )
    result = run("import importlib.util\n" + code)
    assert result.returncode == 0 and result.stderr == ""
