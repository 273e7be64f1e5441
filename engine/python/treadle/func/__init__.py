"""Transforms of functions: grad, vjp, jvp, vmap, jacrev, jacfwd, hessian, linearize, and modules as
functions of their parameters. They nest in any order, also with autograd around them."""

from __future__ import annotations

from . import _functions as _functions
from . import _rules as _rules
from . import _show as _show
from ._api import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from ._modules import functional_call, stack_module_state
from ._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
