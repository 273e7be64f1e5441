"""For tests: assert_close compares as the dtype allows, make_tensor draws tensors."""

from __future__ import annotations

from ._compare import assert_close
from ._make import make_tensor

__all__ = ["assert_close", "make_tensor"]
