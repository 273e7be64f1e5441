"""The types of results with named parts: `treadle.max(x, 0).values`."""

from __future__ import annotations

from . import _C

globals().update(_C._return_types)
