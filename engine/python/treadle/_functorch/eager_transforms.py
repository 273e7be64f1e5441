"""The transforms, and how they choose arguments."""

from __future__ import annotations

from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ..func._api import _slice_argnums, _validate_argnums

__all__ = [
    "_slice_argnums",
    "_validate_argnums",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]
