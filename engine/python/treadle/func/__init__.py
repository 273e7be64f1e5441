"""Transforms of functions: grad, vjp, jvp, vmap, jacrev, jacfwd, hessian, linearize, and modules as
functions of their parameters. They nest in any order, also with autograd around them."""

from __future__ import annotations

from . import _functions as _functions
from . import _rules as _rules
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
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._rearrange import rearrange
from ._show import debug_unwrap
from ._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
