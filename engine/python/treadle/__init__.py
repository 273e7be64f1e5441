"""Treadle: tensors with gradients, under PyTorch's names.

Importing this package loads the extension module and nothing else; `treadle.nn`, `treadle.optim`
and the other subpackages load when they are first used.
"""

from __future__ import annotations

from . import _C, _tensor
from ._C import *  # noqa: F403
from ._modes import enable_grad as enable_grad
from ._modes import inference_mode as inference_mode
from ._modes import no_grad as no_grad
from ._modes import set_grad_enabled as set_grad_enabled
from ._version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import __config__ as __config__
    from . import autograd as autograd
    from . import functional as functional
    from . import linalg as linalg
    from . import nn as nn
    from . import optim as optim
    from . import random as random
    from . import testing as testing
    from . import utils as utils
    from ._print import set_printoptions as set_printoptions
    from .functional import chain_matmul as chain_matmul
    from .functional import einsum as einsum
    from .functional import tensordot as tensordot

_tensor.install()

_SUBMODULES = (
    "__config__",
    "autograd",
    "functional",
    "linalg",
    "nn",
    "optim",
    "random",
    "testing",
    "utils",
)
_LAZY = {
    "set_printoptions": "_print",
    **dict.fromkeys(("chain_matmul", "einsum", "tensordot"), "functional"),
}

e = 2.718281828459045
pi = 3.141592653589793
inf = 1e999  # `float` is a dtype in this module
nan = inf - inf
newaxis = None


def is_tensor(obj: object) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, _C.Tensor)


def is_floating_point(input: _C.Tensor) -> bool:
    """Whether the tensor's dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input: _C.Tensor) -> bool:
    """Whether the tensor's dtype is complex."""
    return input.is_complex()


def numel(input: _C.Tensor) -> int:
    """Number of elements."""
    return input.numel()


def __getattr__(name: str) -> object:
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module("." + name, __name__)
    if name in _LAZY:
        value = getattr(importlib.import_module("." + _LAZY[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_LAZY})
