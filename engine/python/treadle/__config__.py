"""How this build of Treadle runs here: versions, instruction set, BLAS, threads."""

from __future__ import annotations

from . import _C
from ._version import __version__


def show() -> str:
    """The text to put into a bug report."""
    return f"Treadle {__version__}\n" + _C._config()


def parallel_info() -> str:
    """How many threads the engine works with."""
    return f"threads: {_C.get_num_threads()}"
