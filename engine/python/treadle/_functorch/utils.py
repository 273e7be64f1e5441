"""Blocks that change how autograd.Function meets the transforms."""

from __future__ import annotations

from ..func._functions import enable_single_level_autograd_function

__all__ = ["enable_single_level_autograd_function"]
