"""ci/count.py: what `ci/test` says of a job is what ran."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("count", ROOT / "ci/count.py")
assert spec is not None and spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

CTEST = """
test 1
    Start 1: unit_base

1: Test command: /b/unit_base
1: ===============================================================================
1: All tests passed (57 assertions in 12 test cases)
1:
 1/5 Test  #1: unit_base ........................   Passed    0.02 sec
2: test cases: 9 | 7 passed | 2 failed
2: assertions: 20 | 18 passed | 2 failed
 2/5 Test  #2: unit_ci ..........................***Failed    0.02 sec
 3/5 Test  #3: fence ............................   Passed    0.02 sec
4: test cases: 1 | 1 failed
 4/5 Test  #4: unit_one .........................***Failed    0.02 sec
 5/5 Test  #5: unit_late ........................***Exception: SegFault  0.02 sec

40% tests passed, 3 tests failed out of 5
"""


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("All done\n", 0, (1, 0, 0)),
        ("error\n", 2, (0, 1, 0)),
        ("....\n4 passed in 0.10s\n", 0, (4, 0, 0)),
        ("2 failed, 12 passed, 3 skipped, 1 warning in 125.42s (0:02:05)\n", 1, (12, 2, 3)),
        ("==== 5 passed, 1 error in 2.00s ====\n", 1, (5, 1, 0)),
        ("3 passed in 1.00s\n4 passed in 1.00s\n", 0, (7, 0, 0)),
        ("4 passed in 0.10s\n", 1, (4, 1, 0)),  # e.g. a warning as an error after the tests
        (CTEST, 8, (12 + 7 + 1, 2 + 1 + 1, 0)),
        (" 1/1 Test #1: x ....***Not Run (Disabled)  0.00 sec\n", 0, (0, 0, 1)),
    ],
)
def test_counts(text, code, expected):
    assert module.count(text, code) == expected


def test_a_job_of_pytest_says_how_many(tmp_path):
    """The command of `ci/test`, with the options of pyproject.toml: its log must have a summary."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_n(n): assert n != 3\n"
    )
    (line,) = [x for x in (ROOT / "ci/test").read_text().splitlines() if x.startswith("pytests()")]
    script = f'python="{sys.executable}"\n{line}\npytests test_it.py'
    run = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert module.count(run.stdout, run.returncode) == (4, 1, 0)
