"""Anomaly mode: finding the op whose backward throws or gives NaN."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _C


def _stack() -> str:
    """The stack of the calling thread; the engine asks for it when a node is made."""
    import traceback

    return "".join(traceback.format_stack()[:-1])


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once; as a `with` block it is restored at the end.

    While it is on, each node remembers where the forward pass made it, and a backward function that
    throws or (check_nan) gives NaN is reported with that place. It is slow: for debugging only.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Anomaly mode for a `with` block. See set_detect_anomaly."""

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. "
            "This mode will increase the runtime "
            "and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _C._set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *args: Any) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)
