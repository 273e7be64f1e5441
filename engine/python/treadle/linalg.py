"""Linear algebra: treadle.linalg. Matrices are the last two dimensions, those before are a batch.

Every function is an op of the engine, with PyTorch's name and arguments; LAPACK does the work.
LinAlgError, a RuntimeError, is raised for a matrix without the property that an operation needs.
"""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    linalg = _C._linalg
    from ._C import _LinAlgError as LinAlgError
else:
    LinAlgError = _C._LinAlgError

globals().update({k: v for k, v in vars(_C._linalg).items() if not k.startswith("_")})


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'treadle.linalg' has no attribute '{name}'")
