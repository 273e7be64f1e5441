"""Settings of the process that change speed, not results, and what a build is.

A setting whose hardware or threads this build doesn't have keeps its value and says in its
docstring that nothing follows from it.
"""

from __future__ import annotations

_precision = "highest"
_interop_threads = 1


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision() has set; "highest" at first."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allows products of float32 matrices to be computed with fewer bits.

    precision: "highest", "high" or "medium". The products of this build are always of the highest
    precision, which all three allow.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            "float32_matmul_precision must be one of 'highest', 'high' or 'medium', not "
            f"{precision!r}"
        )
    _precision = precision


def get_num_interop_threads() -> int:
    """Number of threads for independent ops: what set_num_interop_threads() has set, else 1."""
    return _interop_threads


def set_num_interop_threads(n: int) -> None:
    """Sets how many independent ops may run at once. Ops run one after the other in this build."""
    global _interop_threads
    if isinstance(n, bool) or not isinstance(n, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("Expected positive number of threads")
    _interop_threads = n


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be made to count as 0 in this build: never, so False."""
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def compiled_with_cxx11_abi() -> bool:
    """Whether the C++ library's strings are those of C++11."""
    return True
