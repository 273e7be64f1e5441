"""Linear algebra: treadle.linalg. Matrices are the last two dimensions, those before are a batch.

Every function is an op of the engine, with PyTorch's name and arguments; LAPACK does the work.
LinAlgError, a RuntimeError, is raised for a matrix without the property that an operation needs.
"""

from __future__ import annotations

from typing import Any

from . import _C

_ops = _C._linalg

LinAlgError = _C._LinAlgError
cholesky = _ops.cholesky
cholesky_ex = _ops.cholesky_ex
cond = _ops.cond
cross = _ops.cross
det = _ops.det
diagonal = _ops.diagonal
eig = _ops.eig
eigh = _ops.eigh
eigvals = _ops.eigvals
eigvalsh = _ops.eigvalsh
householder_product = _ops.householder_product
inv = _ops.inv
inv_ex = _ops.inv_ex
ldl_factor = _ops.ldl_factor
ldl_factor_ex = _ops.ldl_factor_ex
ldl_solve = _ops.ldl_solve
lstsq = _ops.lstsq
lu = _ops.lu
lu_factor = _ops.lu_factor
lu_factor_ex = _ops.lu_factor_ex
lu_solve = _ops.lu_solve
matmul = _ops.matmul
matrix_exp = _ops.matrix_exp
matrix_norm = _ops.matrix_norm
matrix_power = _ops.matrix_power
matrix_rank = _ops.matrix_rank
matrix_sqrth = _ops.matrix_sqrth
multi_dot = _ops.multi_dot
norm = _ops.norm
pinv = _ops.pinv
polar = _ops.polar
qr = _ops.qr
slogdet = _ops.slogdet
solve = _ops.solve
solve_ex = _ops.solve_ex
solve_triangular = _ops.solve_triangular
svd = _ops.svd
svdvals = _ops.svdvals
tensorinv = _ops.tensorinv
tensorsolve = _ops.tensorsolve
vander = _ops.vander
vecdot = _ops.vecdot
vector_norm = _ops.vector_norm

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "multi_dot",
    "norm",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


# --- what only the array API standard has here ----------------------------------------------------


def matrix_transpose(x: _C.Tensor, /) -> _C.Tensor:
    """x with its last two dimensions swapped: a view."""
    from ._array_api import matrix_transpose as function

    return function(x)


def outer(x1: _C.Tensor, x2: _C.Tensor, /) -> _C.Tensor:
    """The products of the elements of two vectors."""
    return _C.outer(x1, x2)


def tensordot(x1: _C.Tensor, x2: _C.Tensor, /, *, axes: Any = 2) -> _C.Tensor:
    """Sum of products over pairs of dimensions, see treadle.tensordot."""
    from .functional import tensordot as function

    return function(x1, x2, dims=axes)


def trace(x: _C.Tensor, /, *, offset: int = 0, dtype: Any = None) -> _C.Tensor:
    """The sum of each matrix' diagonal, in dtype."""
    return _C.diagonal(x, offset, -2, -1).sum(-1, dtype=dtype)
