"""Linear algebra: treadle.linalg. Matrices are the last two dimensions, those before are a batch.

Every function is an op of the engine, with PyTorch's name and arguments; LAPACK does the work.
LinAlgError, a RuntimeError, is raised for a matrix without the property that an operation needs.
"""

from __future__ import annotations

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
