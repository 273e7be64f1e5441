"""Linear algebra: values against NumPy, derivatives against differences, PyTorch's errors."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import treadle as E
from treadle.autograd import gradcheck, gradgradcheck

L = E.linalg
REAL = [np.float32, np.float64]
FIELDS = [*REAL, np.complex64, np.complex128]


def random(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def mh(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(shape, dtype=np.float64, seed=0):
    x = random(shape, dtype, seed)
    return x @ mh(x) + np.eye(shape[-1], dtype=dtype)


def close(a, b, factor=1.0):
    a = a.numpy() if isinstance(a, E.Tensor) else np.asarray(a)
    assert a.shape == np.shape(b)
    single = a.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(a, b, atol=(2e-4 if single else 1e-10) * factor, rtol=1e-4)


def t(x):
    return E.from_numpy(np.ascontiguousarray(x))


BATCHES = [(), (3,), (2, 0), (2, 3)]


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("batch", BATCHES)
def test_square_matrices(batch, dtype):
    a, b, s = (
        random((*batch, 4, 4), dtype),
        random((*batch, 4, 2), dtype, 1),
        positive((*batch, 4, 4), dtype),
    )
    close(L.inv(t(a)), np.linalg.inv(a))
    close(L.solve(t(a), t(b)), np.linalg.solve(a, b))
    close(L.solve(t(a), t(mh(b)), left=False) @ t(a), mh(b))
    close(L.det(t(a)), np.linalg.det(a))
    for x, y in zip(L.slogdet(t(a)), np.linalg.slogdet(a)):
        close(x, y)
    close(L.cholesky(t(s)), np.linalg.cholesky(s))
    close(L.cholesky(t(s), upper=True), mh(np.linalg.cholesky(s)))
    close(L.eigvalsh(t(s)), np.linalg.eigvalsh(s))
    w, v = L.eigh(t(s))
    close(t(s) @ v, (v * w.unsqueeze(-2)).numpy(), 5)
    w, v = L.eig(t(a))
    close(t(a).to(v.dtype) @ v, (v * w.unsqueeze(-2)).numpy(), 5)
    p, low, up = L.lu(t(a))
    close(p @ low @ up, a)
    factors = L.lu_factor(t(a))
    for left, adjoint in itertools.product((True, False), repeat=2):
        right = b if left else mh(b)
        x = L.lu_solve(*factors, t(right), left=left, adjoint=adjoint).numpy()
        op = mh(a) if adjoint else a
        close(op @ x if left else x @ op, right, 5)
    close(E.cholesky_solve(t(b), L.cholesky(t(s))), np.linalg.solve(s, b))
    close(E.cholesky_inverse(L.cholesky(t(s), upper=True), upper=True), np.linalg.inv(s))
    for hermitian in (True, False):
        h = s if hermitian else a + np.swapaxes(a, -1, -2)
        ld, pivots = L.ldl_factor(t(h), hermitian=hermitian)
        close(h @ L.ldl_solve(ld, pivots, t(b), hermitian=hermitian).numpy(), b, 5)
    close(L.matrix_power(t(a), 3), a @ a @ a, 10)
    close(L.matrix_power(t(s), -2) @ t(s @ s), np.broadcast_to(np.eye(4), a.shape), 10)
    root = L.matrix_sqrth(t(s))
    close(root @ root, s)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 5), (2, 5, 3), (0, 3), (3, 0), (2, 0, 0)])
def test_rectangular_matrices(shape, dtype):
    a = random(shape, dtype)
    m, n, k = shape[-2], shape[-1], min(shape[-2:])
    close(L.svdvals(t(a)), np.linalg.svd(a, compute_uv=False))
    for full in (False, True):
        u, s, vh = L.svd(t(a), full_matrices=full)
        assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
        close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
        close(u.mH @ u, np.broadcast_to(np.eye(u.shape[-1]), u.mH.shape[:-1] + u.shape[-1:]))
    for mode in ("reduced", "complete"):
        q, r = L.qr(t(a), mode)
        close(q @ r, a)
        close(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), q.mH.shape[:-1] + q.shape[-1:]))
    h, tau = E.geqrf(t(a))
    if m >= n:
        close(L.householder_product(h, tau) @ L.qr(t(a)).R, a)
        other = random((*shape[:-2], m, 2), dtype, 1)
        close(E.ormqr(h, tau, E.ormqr(h, tau, t(other), transpose=True)), other)
        close(
            E.ormqr(h, tau, t(mh(other)), left=False), mh(other) @ L.qr(t(a), "complete").Q.numpy()
        )
    close(L.pinv(t(a)), np.linalg.pinv(a), 5)
    p, low, up = L.lu(t(a))
    close(p @ low @ up, a)
    if a.size:
        assert L.matrix_rank(t(a)).tolist() == np.linalg.matrix_rank(a).tolist()


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss", None])
@pytest.mark.parametrize("dtype", FIELDS)
def test_lstsq(dtype, driver):
    for m, n in ((5, 3), (3, 5)):
        a, b = random((2, m, n), dtype), random((2, m, 2), dtype, 1)
        found = L.lstsq(t(a), t(b), driver=driver)
        close(found.solution, np.linalg.pinv(a) @ b, 5)
        if m > n and driver in ("gels", "gelsd", "gelss"):
            rest = a @ found.solution.numpy() - b
            close(found.residuals, (np.abs(rest) ** 2).sum(-2), 5)
        if driver != "gels":
            assert found.rank.tolist() == [3, 3]


@pytest.mark.parametrize("dtype", FIELDS)
def test_matrix_exp(dtype):
    a = random((3, 4, 4), dtype) * np.array([0.01, 1, 5]).reshape(3, 1, 1).astype(dtype)
    w, v = np.linalg.eig(a.astype(np.complex128))
    expected = v @ (np.exp(w)[..., None] * np.linalg.inv(v))
    for found, right in zip(L.matrix_exp(t(a)), expected):
        close(found.to(E.complex128), right, 1e6 * np.abs(right).max() * np.finfo(dtype).eps)


ORDERS = [None, 2, 1, 0, -1, 3.5, 0.5, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", FIELDS)
def test_norms(dtype):
    a = random((2, 3, 4), dtype)
    for p in ORDERS:
        close(L.vector_norm(t(a), 2 if p is None else p, dim=1), np.linalg.norm(a, p, axis=1))
        close(E.norm(t(a), p, dim=(1,), keepdim=True), np.linalg.norm(a, p, axis=1, keepdims=True))
    for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(L.matrix_norm(t(a), p, dim=(0, 2)), np.linalg.norm(a, p, axis=(0, 2)))
        close(L.matrix_norm(t(a), p, dim=(2, 1), keepdim=True), np.linalg.norm(a, p, (2, 1), True))
        s = random((3, 3), dtype)
        close(L.cond(t(s), p), np.linalg.cond(s, p), 100)
    close(L.norm(t(a)), np.linalg.norm(a.ravel()))
    close(L.norm(t(a[0])), np.linalg.norm(a[0]))
    assert L.cond(E.zeros(2, 2), 1).item() == np.inf


@pytest.mark.parametrize("dtype", [*FIELDS, np.int64])
def test_products(dtype):
    a, b = (random(5, np.float64, s) * 3 for s in (0, 1))
    if np.issubdtype(dtype, np.complexfloating):
        a, b = random(5, dtype), random(5, dtype, 1)
    a, b = a.astype(dtype), b.astype(dtype)
    m, n = np.outer(a, b)[:3], np.outer(b, a)[:, :4]
    close(E.dot(t(a), t(b)), np.dot(a, b))
    close(E.vdot(t(a), t(b)), np.vdot(a, b))
    close(L.vecdot(t(m), t(m)), (m.conj() * m).sum(-1), 100)
    close(E.mv(t(m), t(b)), m @ b, 100)
    close(E.outer(t(a), t(b)), np.outer(a, b))
    close(E.kron(t(m), t(a)), np.kron(m, a), 100)
    close(E.inner(t(m), t(n.T.copy())), np.inner(m, n.T), 1000)
    close(E.tensordot(t(m), t(n), 1), np.tensordot(m, n, 1), 1000)
    close(L.multi_dot([t(a[:3]), t(m), t(n)]), np.linalg.multi_dot([a[:3], m, n]), 1e4)
    close(E.chain_matmul(t(m), t(n)), m @ n, 1000)
    close(L.cross(t(m.T.copy()[:3]), t(n[:3, :3].copy())), np.cross(m.T[:3], n[:3, :3]), 100)
    close(L.vander(t(a[:3]), N=3), np.vander(a[:3], 3, increasing=True), 10)
    start = E.zeros(3, 4, dtype=t(a).dtype)
    close(E.addmm(start, t(m), t(n), beta=0, alpha=2), 2 * (m @ n), 1000)
    close(start.clone().addmm_(t(m), t(n)), m @ n, 1000)
    close(E.addr(start, t(a[:3]), t(b[:4])), np.outer(a[:3], b[:4]))
    close(E.addmv(E.ones(3, dtype=start.dtype), t(m), t(b)), 1 + m @ b, 100)
    pair = E.stack([t(m), t(m)]), E.stack([t(n), t(n)])
    close(E.addbmm(start, *pair), 2 * (m @ n), 1000)
    close(E.baddbmm(start, *pair), np.stack([m @ n] * 2), 1000)


EINSUMS = [
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("bi,bij->bj", (5, 2), (5, 2, 3)),
    ("i,j->ij", (3,), (4,)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij->", (2, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("b...,b...->b...", (2, 3, 4), (2, 3, 4)),
    ("ijk,ijl,kl->ij", (2, 3, 4), (2, 3, 5), (4, 5)), ("iij,jk->ik", (3, 3, 2), (2, 4)),
    ("i...->...", (2, 3)), ("a,b,c->cab", (2,), (3,), (4,)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 6)), ("ij,kj->ik", (0, 3), (4, 3)),
    (" i j -> j", (2, 3)), ("ij->ji", (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum(case):
    arrays = [random(s, seed=i) for i, s in enumerate(case[1:])]
    close(E.einsum(case[0], *map(t, arrays)), np.einsum(case[0], *arrays))
    close(E.einsum(case[0], [t(x) for x in arrays]), np.einsum(case[0], *arrays))
    inputs = [t(x).requires_grad_() for x in arrays]
    assert gradcheck(lambda *x: E.einsum(case[0], *x), inputs)


def test_einsum_of_lists():
    a, b = random((2, 3)), random((3, 4), seed=1)
    close(E.einsum(t(a), [0, 1], t(b), [1, 27], [27, 0]), (a @ b).T)
    close(E.einsum(t(a), [..., 1], t(b), [1, 2]), a @ b)


def hermitian(x):
    return (x + x.mH) / 2


def fixed(v):
    """Without the phases that eigenvectors are free to have."""
    return (v.abs() ** 2) if v.is_complex() else v * v


# name: function, shapes of its inputs
GRADIENTS = {
    "cholesky": (lambda x: L.cholesky(hermitian(x) + 5 * E.eye(3)), (2, 3, 3)),
    "cholesky_upper": (lambda x: L.cholesky(hermitian(x) + 5 * E.eye(3), upper=True), (3, 3)),
    "cholesky_solve": (lambda b, x: E.cholesky_solve(b, (x + 5 * E.eye(3)).tril()), (3, 2), (3, 3)),
    "cholesky_inverse": (lambda x: E.cholesky_inverse((x + 5 * E.eye(3)).tril()), (3, 3)),
    "inv": (L.inv, (2, 3, 3)),
    "solve": (L.solve, (3, 3), (2, 3, 1)),
    "solve_vector": (L.solve, (2, 3, 3), (3,)),
    "solve_right": (lambda a, b: L.solve(a, b, left=False), (3, 3), (2, 3)),
    "solve_triangular": (lambda a, b: L.solve_triangular(a, b, upper=True), (2, 3, 3), (3, 2)),
    "solve_unitriangular": (
        lambda a, b: L.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (3, 3), (2, 3)),
    "triangular_solve": (lambda b, a: E.triangular_solve(b, a, transpose=True)[0], (3, 2), (3, 3)),
    "lu_factor": (lambda x: L.lu_factor(x)[0], (2, 3, 3)),
    "lu_wide": (lambda x: L.lu(x)[1:], (2, 4)),
    "lu_tall": (lambda x: L.lu(x)[1:], (4, 2)),
    "lu_solve": (lambda a, b: L.lu_solve(*L.lu_factor(a), b), (3, 3), (3, 2)),
    "lu_solve_right_adjoint": (
        lambda a, b: L.lu_solve(*L.lu_factor(a), b, left=False, adjoint=True), (3, 3), (2, 3)),
    "det": (L.det, (2, 3, 3)),
    "slogdet": (L.slogdet, (3, 3)),
    "logdet": (lambda x: E.logdet(x @ x.mH + E.eye(3)), (3, 3)),
    "tensorinv": (lambda x: L.tensorinv(x, 1), (4, 2, 2)),
    "tensorsolve": (L.tensorsolve, (2, 3, 6), (2, 3)),
    "qr": (L.qr, (2, 4, 3)),
    "qr_wide": (L.qr, (2, 4)),
    "qr_complete": (lambda x: L.qr(x, "complete"), (3, 3)),
    "householder_product": (L.householder_product, (3, 2), (2,)),
    "ormqr": (E.ormqr, (3, 2), (2,), (3, 2)),
    "ormqr_right": (lambda *x: E.ormqr(*x, left=False, transpose=True), (3, 2), (2,), (2, 3)),
    "lstsq": (lambda a, b: L.lstsq(a, b)[0], (4, 3), (4, 2)),
    "lstsq_wide": (lambda a, b: L.lstsq(a, b)[0], (2, 4), (2, 2)),
    "residuals": (lambda a, b: L.lstsq(a, b, driver="gels")[1], (4, 2), (4, 2)),
    "eigh": (lambda x: (L.eigh(hermitian(x))[0], fixed(L.eigh(hermitian(x))[1])), (2, 3, 3)),
    "eigvalsh": (lambda x: L.eigvalsh(hermitian(x)), (3, 3)),
    "eig": (lambda x: (L.eig(x)[0], fixed(L.eig(x)[1])), (3, 3)),
    "eigvals": (L.eigvals, (2, 3, 3)),
    "svdvals": (L.svdvals, (2, 4, 3)),
    "svd": (lambda x: [fixed(y) for y in L.svd(x, full_matrices=False)], (3, 3)),
    "svd_tall": (lambda x: [fixed(y) for y in L.svd(x, full_matrices=False)], (4, 2)),
    "svd_wide": (lambda x: [fixed(y) for y in L.svd(x, full_matrices=False)], (2, 4)),
    "svd_product": (lambda x: (lambda u, s, v: u @ v)(*L.svd(x, full_matrices=False)), (3, 3)),
    "pinv": (L.pinv, (4, 3)),
    "pinv_wide": (L.pinv, (2, 2, 3)),
    "polar": (L.polar, (4, 3)),
    "matrix_sqrth": (lambda x: L.matrix_sqrth(hermitian(x) + 6 * E.eye(3)), (3, 3)),
    "matrix_exp": (L.matrix_exp, (2, 3, 3)),
    "matrix_power": (lambda x: L.matrix_power(x, 5), (3, 3)),
    "matrix_power_negative": (lambda x: L.matrix_power(x, -3), (3, 3)),
    "cond": (lambda x: (L.cond(x), L.cond(x, 1), L.cond(x, "fro")), (3, 3)),
    "matrix_norm": (
        lambda x: [L.matrix_norm(x, p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf)], (3, 4)),
    "vector_norm": (
        lambda x: [L.vector_norm(x, p, 1) for p in (0.5, 1, 1.5, 2, 3, np.inf)], (3, 4)),
    "renorm": (lambda x: E.renorm(x, 2, 0, 1.5), (3, 4)),
    "dist": (E.dist, (3, 4), (4,)),
    "mm": (E.mm, (3, 4), (4, 2)),
    "matmul": (E.matmul, (2, 1, 2, 3), (2, 3, 2)),
    "addmm": (lambda *x: E.addmm(*x, beta=0.5, alpha=2), (4,), (3, 2), (2, 4)),
    "baddbmm": (lambda *x: E.baddbmm(*x, beta=0.5, alpha=2), (3, 4), (2, 3, 2), (2, 2, 4)),
    "addbmm": (E.addbmm, (3, 4), (2, 3, 2), (2, 2, 4)),
    "addmv": (E.addmv, (3,), (3, 2), (2,)),
    "addr": (E.addr, (3, 2), (3,), (2,)),
    "vdot": (E.vdot, (4,), (4,)),
    "vecdot": (L.vecdot, (2, 4), (4,)),
    "inner": (E.inner, (2, 3), (4, 3)),
    "kron": (E.kron, (2, 3), (2,)),
    "cross": (L.cross, (2, 3), (1, 3)),
    "multi_dot": (lambda *x: L.multi_dot(x), (2, 3), (3, 4), (4,)),
    "tensordot": (E.tensordot, (2, 3, 4), (3, 4, 2)),
    "vander": (L.vander, (4,)),
}  # fmt: skip


# Whose derivatives have derivatives of their own; the others are products.
TWICE_COMPLEX = {"cholesky", "solve", "lu_wide", "det", "slogdet", "qr", "eigh", "eig", "svd_wide"}


def weighted(name, dtype, picked=None):
    """A real number made of all results (or one), and its inputs: what differences are taken of."""
    function, *shapes = GRADIENTS[name]
    inputs = [t(random(s, dtype, i + 3)) for i, s in enumerate(shapes)]
    if dtype == np.complex128:
        inputs = [E.view_as_real(x).clone() for x in inputs]

    def f(*x):
        out = function(*(map(E.view_as_complex, x) if dtype == np.complex128 else x))
        out = out if isinstance(out, (list, tuple)) else [out]
        real = [E.view_as_real(y) if y.is_complex() else y for y in out]
        if picked is not None:
            real = real[picked : picked + 1]
        return sum((y * t(random(y.shape, seed=i))).sum() for i, y in enumerate(real))

    return f, [x.requires_grad_() for x in inputs]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    f, inputs = weighted(name, dtype)
    assert gradcheck(f, inputs, atol=1e-4)
    if dtype == np.float64 or name in TWICE_COMPLEX:
        assert gradgradcheck(f, inputs, atol=1e-3, rtol=1e-2)


@pytest.mark.parametrize("picked", [0, 1])
@pytest.mark.parametrize(
    "name", ["qr", "qr_wide", "svd_tall", "svd_wide", "eigh", "eig", "lu_tall"]
)
def test_gradient_of_one_result(name, picked):
    f, inputs = weighted(name, np.complex128, picked)
    assert gradcheck(f, inputs, atol=1e-4)


def test_gradient_of_a_singular_determinant():
    a = random((3, 3))
    a[2] = a[0] + a[1]
    x = t(a).requires_grad_()
    assert gradcheck(L.det, [x])
    E.linalg.det(E.zeros(2, 2, requires_grad=True)).backward()


ERRORS = [
    (lambda: L.cholesky(-E.eye(3)), L.LinAlgError, "linalg.cholesky: The factorization could not "),
    (lambda: L.inv(E.zeros(2, 3, 3)), L.LinAlgError, r"linalg.inv: \(Batch element 0\): The diago"),
    (lambda: L.solve(E.zeros(3, 3), E.ones(3)), L.LinAlgError, "torch.linalg.solve: The solver fa"),
    (lambda: L.solve(E.ones(3, 3), E.ones(2)), RuntimeError, "linalg.solve: Incompatible shapes"),
    (lambda: L.inv(E.ones(2, 3)), RuntimeError, "linalg.inv: A must be batches of square matrices"),
    (lambda: L.inv(E.ones(3)), RuntimeError, "linalg.inv: The input tensor A must have at least 2"),
    (lambda: L.det(E.ones(2, 2).long()), NotImplementedError, "linalg.det: Expected a floating po"),
    (lambda: L.inv(E.ones(2, 2).half()), NotImplementedError, "linalg.inv: Low precision dtypes"),
    (lambda: L.lu_factor(E.zeros(2, 2)), RuntimeError, r"torch.linalg.lu_factor: U\[1,1\] is zero"),
    (lambda: L.svd(E.full((2, 2), E.nan)), L.LinAlgError, "linalg.svd: The algorithm failed to co"),
    (lambda: L.eig(E.full((2, 2), E.nan)), RuntimeError, "torch.linalg.eig: input tensor should n"),
    (lambda: L.lu_solve(E.eye(2), E.tensor([3, 1], dtype=E.int32), E.eye(2)), RuntimeError, "Pivo"),
    (lambda: L.ldl_solve(E.eye(2), E.tensor([1, -1]).int(), E.eye(2)), RuntimeError, "torch.lin"),
    (lambda: E.lu_unpack(E.eye(2), E.tensor([0, 1], dtype=E.int32)), RuntimeError, "pivots passed"),
    (lambda: E.einsum("ij,jk", E.ones(2, 3)), RuntimeError, r"einsum\(\): fewer operands"),
    (lambda: E.einsum("i1", E.ones(2, 3)), RuntimeError, r"einsum\(\): invalid subscript given at"),
    (lambda: E.mm(E.eye(2) > 0, E.eye(2) > 0), NotImplementedError, '"addmm_impl_cpu_" not impl'),
    (lambda: E.mm(E.ones(2, 2), E.ones(3, 2)), RuntimeError, "mm: mat1 and mat2 shapes cannot be "),
    (lambda: L.cross(E.ones(3, 4), E.ones(3, 4)), RuntimeError, "linalg.cross: inputs dimension -"),
    (lambda: L.matrix_norm(E.ones(2, 3), 3), RuntimeError, "linalg.matrix_norm: Order 3 not suppo"),
    (lambda: L.vector_norm(E.ones(0), np.inf), RuntimeError, "linalg.vector_norm cannot compute t"),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c[2])
def test_errors(case):
    with pytest.raises(case[1], match=case[2]):
        case[0]()
    assert issubclass(L.LinAlgError, RuntimeError)


def test_out_and_methods():
    a, out = t(random((3, 3))), E.empty(0, dtype=E.float64)
    assert L.inv(a, out=out) is out
    close(out, np.linalg.inv(a.numpy()))
    close(a.inverse(), out.numpy())
    q, r = E.empty(0, dtype=E.float64), E.empty(0, dtype=E.float64)
    L.qr(a, out=(q, r))
    close(q @ r, a.numpy())
    close(a.norm(), np.linalg.norm(a.numpy()))
    close(a.norm("nuc"), np.linalg.norm(a.numpy(), "nuc"))
    close(a.det(), np.linalg.det(a.numpy()))
    lu, pivots = E.lu(a)
    close(E.lu_solve(t(random((3, 1))), lu, pivots), np.linalg.solve(a.numpy(), random((3, 1))))


def test_low_rank():
    a = random((20, 3)) @ random((3, 10), seed=1)
    for x in (a, a.T.copy()):
        u, s, v = E.svd_lowrank(t(x), q=4)
        close((u * s) @ v.mT, x)
    u, s, v = E.pca_lowrank(t(a), q=4)
    close((u * s) @ v.mT, a - a.mean(0))
    s = positive((30, 30))
    w, v = E.lobpcg(t(s), 2)
    close(w, np.linalg.eigvalsh(s)[::-1][:2], 1e3)
    w, v = E.lobpcg(t(s), 2, B=t(np.diag(np.arange(1.0, 31))), largest=False, tol=1e-10)
    close(t(s) @ v, (t(np.diag(np.arange(1.0, 31))) @ v * w).numpy(), 1e5)


PLAIN = """
import numpy as np, treadle as E
L = E.linalg
for dtype in (np.float32, np.complex128):
    x = np.random.default_rng(0).standard_normal((2, 5, 5)).astype(dtype)
    if dtype == np.complex128:
        x = x + 1j * x[::-1]
    s = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(5, dtype=dtype)
    a, p = E.from_numpy(x), E.from_numpy(s)
    tolerance = dict(rtol=1e-3, atol=1e-4)
    assert np.allclose(L.inv(a), np.linalg.inv(x), **tolerance)
    assert np.allclose(L.solve(a, a, left=False), np.eye(5), **tolerance)
    assert np.allclose(L.cholesky(p), np.linalg.cholesky(s), **tolerance)
    assert np.allclose(E.cholesky_solve(a, L.cholesky(p)), np.linalg.solve(s, x), **tolerance)
    for part in (x[:, :3].copy(), x[:, :, :3].copy()):
        q, r = L.qr(E.from_numpy(part))
        assert np.allclose(q @ r, part, **tolerance)
        assert np.allclose(q.mH @ q, np.eye(3), **tolerance)
    h, tau = E.geqrf(a)
    for left in (True, False):
        turned = E.ormqr(h, tau, a, left=left)
        assert np.allclose(E.ormqr(h, tau, turned, left=left, transpose=True), x, **tolerance)
    assert np.allclose(L.det(a), np.linalg.det(x), **tolerance)
try:
    L.svd(E.eye(2))
except RuntimeError as e:
    assert str(e).startswith("linalg.svd needs LAPACK") and "TREADLE_OPENBLAS" in str(e), e
else:
    raise AssertionError("svd without LAPACK")
"""


def test_without_a_library():
    environment = {**os.environ, "TREADLE_OPENBLAS": "none"}
    found = subprocess.run(
        [sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


def test_products_name_dtypes_as_out_does():
    small, half = E.ones(2, 2, dtype=E.int16), E.ones(2, 2, dtype=E.half)
    with pytest.raises(RuntimeError, match="short int != c10::Half"):
        E.mm(small, half)
    with pytest.raises(RuntimeError, match="c10::complex<float> != short unsigned int"):
        E.mm(E.ones(2, 2, dtype=E.cfloat), E.ones(2, 2, dtype=E.uint16))
    with pytest.raises(RuntimeError, match="have dtype short unsigned int, but got c10::complex<f"):
        E.sum(E.ones(2), 0, dtype=E.uint16, out=E.empty((), dtype=E.cfloat))
