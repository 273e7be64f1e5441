"""Counts the tests of a log: `count.py LOG EXIT-CODE` prints "PASSED FAILED SKIPPED".

Knows pytest's last line and the output of `ctest --verbose`, where each test case of a Catch2
program counts, and a program without cases as one. A log of nothing known is one test, which passed
if the exit code is 0; and a job whose exit code isn't 0 has failed at least once.
"""

from __future__ import annotations

import re
import sys

PYTEST = re.compile(r"^=*\s*((?:\d+ \w+,? ?)+)in [\d.]+s", re.M)
PYTEST_WORDS = {
    **dict.fromkeys(("passed", "xfailed"), 0),
    **dict.fromkeys(("failed", "error", "errors", "xpassed"), 1),
    "skipped": 2,
}
CTEST = re.compile(r"^ *\d+/\d+ Test +#(\d+): .*?\.{2,} *(?:\*\*\*)?(\w+)", re.M)
CATCH_ALL = re.compile(r"^(\d+): All tests passed \(\d+ assertions? in (\d+) test cases?\)", re.M)
CATCH_SOME = re.compile(r"^(\d+): test cases: +\d+ \|(?: +(\d+) passed \|)? +(\d+) failed", re.M)


def count(text: str, code: int) -> tuple[int, int, int]:
    """(passed, failed, skipped) of a job that wrote `text` and ended with exit code `code`."""
    total = [0, 0, 0]
    for line in PYTEST.findall(text):
        for number, word in re.findall(r"(\d+) (\w+)", line):
            if word in PYTEST_WORDS:
                total[PYTEST_WORDS[word]] += int(number)
    cases = {test: (int(passed), 0) for test, passed in CATCH_ALL.findall(text)}
    cases |= {test: (int(good or 0), int(bad)) for test, good, bad in CATCH_SOME.findall(text)}
    for test, word in CTEST.findall(text):
        good, bad = cases.get(test, (1, 0))
        if word in ("Skipped", "Not", "Disabled"):  # "Not Run (Disabled)"
            total[2] += 1
        elif word == "Passed":
            total[0] += good
        else:  # a crash or a timeout can come after the last case, or before its summary
            total[0] += good if bad else 0
            total[1] += bad or 1
    if not any(total):
        total[0 if code == 0 else 1] = 1
    if code and not total[1]:
        total[1] = 1
    return total[0], total[1], total[2]


if __name__ == "__main__":
    with open(sys.argv[1], errors="replace") as log:
        print(*count(log.read(), int(sys.argv[2])))
