"""Helpers that other parts share: `hooks`, `dlpack`."""

from . import dlpack as dlpack
from . import hooks as hooks

__all__ = ["dlpack", "hooks"]
