"""Finds the treadle to test: an installed one, else the package of the build tree.

FELLOE_BUILD_DIR names the build tree (default: build/dev); TREADLE_INSTALLED=1 demands an
installed one.
"""

import os
import pathlib
import sys

import pytest
from hypothesis import settings

# The checking machine judges a change by the same examples every time; at a desk each run looks for
# new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FELLOE_BUILD_DIR", ROOT / "build" / "dev"))
PACKAGE_PARENT = BUILD / "python"

if not os.environ.get("TREADLE_INSTALLED"):
    if not any(PACKAGE_PARENT.glob("treadle/_C.*.so")):
        raise pytest.UsageError(
            f"no treadle in {PACKAGE_PARENT}: build the target treadle_python, set "
            "FELLOE_BUILD_DIR, or test an installed wheel with TREADLE_INSTALLED=1"
        )
    sys.path.insert(0, str(PACKAGE_PARENT))
    # Child processes of the tests import the same one.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(PACKAGE_PARENT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )


@pytest.fixture(autouse=True)
def fresh_state():
    """Every test starts from the same seed and leaves the global modes as they were."""
    import treadle

    treadle.manual_seed(0)
    yield
    assert treadle.is_grad_enabled(), "a test left grad mode off"
    treadle.set_default_dtype(treadle.float32)
