"""Decompositions of large matrices that only a few singular values or eigenvalues matter of."""

from __future__ import annotations

from typing import Any

from . import _C

Tensor = _C.Tensor
_linalg = _C._linalg

__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]


def _approximate_basis(a: Tensor, q: int, niter: int, m: Tensor | None) -> Tensor:
    """Orthonormal columns (..., rows, q) that nearly span the range of a - m.

    Subspace iteration of Halko, Martinsson and Tropp ("Finding structure with randomness", 2009).
    """
    if not isinstance(q, int) or q < 0:
        raise ValueError(f"q(={q}) must be non-negative integer")
    ah, mh = a.mH, None if m is None else m.mH

    def times(x: Tensor) -> Tensor:
        return a @ x if m is None else a @ x - m @ x

    def times_adjoint(x: Tensor) -> Tensor:
        return ah @ x if mh is None else ah @ x - mh @ x

    basis = _linalg.qr(times(_C.randn(a.shape[-1], q, dtype=a.dtype)))[0]
    for _ in range(niter):
        basis = _linalg.qr(times_adjoint(basis))[0]
        basis = _linalg.qr(times(basis))[0]
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U (..., m, q), S (q) and V (..., n, q) with A - M nearly U diag(S) V^H.

    q: a bit more than the rank of A. niter: rounds of subspace iteration. The random numbers are
    those of the default generator. ValueError for a negative q.
    """
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    if M is not None:
        M = M.broadcast_to(A.shape)
    m, n = A.shape[-2:]
    if m < n:  # the smaller side is what the basis lies in
        A, M = A.mH, None if M is None else M.mH
    basis = _approximate_basis(A, q, niter, M)
    small = basis.mH @ A
    if M is not None:
        small = small - basis.mH @ M
    u, s, vh = _linalg.svd(small, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if m < n else (u, s, v)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: svd_lowrank() of A without the mean of its columns (center).

    q: by default min(6, m, n). ValueError unless 0 <= q <= min(m, n) and niter >= 0.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(-2, True)
    return svd_lowrank(A, q, niter)


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A x = e B x and their vectors, by LOBPCG.

    A (..., m, m) symmetric, B positive definite (None: the identity), X (m, n): first guesses, iK:
    a preconditioner. Stops after niter rounds (-1: when all k residuals are below tol). Where A or
    B requires grad the whole problem is solved by eigh, which has a derivative. The three ortho
    arguments are accepted; the basis is kept orthonormal by a Cholesky factor, which has nothing to
    tune. NotImplementedError for a tracker; ValueError unless m >= 3 k.
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: tracker is not supported")
    if A.shape[-1] != A.shape[-2]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method must be 'basic' or 'ortho', not {method!r}")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if k < 1:
        raise ValueError(f"lobpcg: k must be at least 1, not {k}")
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m})"
            f" is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    if A.dim() > 2:
        flat = A.reshape(-1, m, m)
        pairs = [
            lobpcg(
                flat[i],
                k,
                None if B is None else B.broadcast_to(A.shape).reshape(-1, m, m)[i],
                None if X is None else X.broadcast_to(*A.shape[:-1], n).reshape(-1, m, n)[i],
                n,
                iK,
                niter,
                tol,
                largest,
                method,
            )
            for i in range(flat.shape[0])
        ]
        values = _C.stack([e for e, _ in pairs]).reshape(*A.shape[:-2], k)
        return values, _C.stack([v for _, v in pairs]).reshape(*A.shape[:-1], k)
    descending = largest is not False
    if A.requires_grad or (B is not None and B.requires_grad):
        # Gradients are to be symmetric, as the matrices are.
        return _dense((A + A.mH) / 2, None if B is None else (B + B.mH) / 2, k, descending)
    eps = 1.2e-7 if A.dtype == _C.float32 else 2.3e-16
    rounds = 1000 if niter is None or niter < 0 else niter
    guess = _C.randn(m, n, dtype=A.dtype) if X is None else X
    return _iterate(A, B, guess, iK, k, descending, rounds, eps**0.5 if tol is None else tol)


def _dense(A: Tensor, B: Tensor | None, k: int, descending: bool) -> tuple[Tensor, Tensor]:
    factor = None if B is None else _linalg.cholesky(B)
    if factor is not None:
        half = _linalg.solve_triangular(factor, A, upper=False)
        A = _linalg.solve_triangular(factor.mH, half, upper=True, left=False)
    values, vectors = _linalg.eigh(A)
    if factor is not None:
        vectors = _linalg.solve_triangular(factor.mH, vectors, upper=True)
    if descending:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def _iterate(
    A: Tensor,
    B: Tensor | None,
    x: Tensor,
    iK: Tensor | None,
    k: int,
    descending: bool,
    rounds: int,
    tol: float,
) -> tuple[Tensor, Tensor]:
    """Rayleigh-Ritz over the guesses, their residuals and the last steps, until they are small."""

    def by_b(t: Tensor) -> Tensor:
        return t if B is None else B @ t

    def ritz(basis: Tensor) -> tuple[Tensor, Tensor]:
        # Directions of nearly no length would only add noise: they are left out.
        basis = basis / basis.norm(dim=0).clamp(min=1e-300)
        size, turn = _linalg.eigh(basis.mH @ by_b(basis))
        cut = 1e-6 if A.dtype == _C.float32 else 1e-13
        kept = [i for i in range(size.shape[0]) if float(size[i]) > cut * float(size[-1])]
        basis = basis @ turn[:, kept] / size[kept].sqrt()
        values, inner = _linalg.eigh(basis.mH @ (A @ basis))
        if descending:
            values, inner = values.flip(0), inner.flip(1)
        return values[: x.shape[1]], basis @ inner[:, : x.shape[1]]

    values, x = ritz(x)
    step = None
    scale = float(A.norm())
    for _ in range(rounds):
        residual = A @ x - by_b(x) * values
        size = residual[:, :k].norm(dim=0)
        if bool((size <= tol * (scale + values[:k].abs())).all()):
            break
        if iK is not None:
            residual = iK @ residual
        residual = residual - x @ (x.mH @ by_b(residual))
        parts = [x, residual] if step is None else [x, residual, step]
        values, new = ritz(_C.cat(parts, 1))
        step = new - x @ (x.mH @ by_b(new))
        x = new
    return values[:k], x[:, :k]
