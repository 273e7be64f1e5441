"""Helpers that other parts share: `hooks`, `dlpack`, `checkpoint`."""

from . import dlpack as dlpack
from . import hooks as hooks

__all__ = ["checkpoint", "dlpack", "hooks"]


def __getattr__(name: str) -> object:
    if name == "checkpoint":
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
