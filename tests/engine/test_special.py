"""treadle.special against SciPy, its gradients, and what PyTorch adds to the formulas."""

import numpy as np
import pytest
import scipy.special as sp
import treadle as E
from treadle import special
from treadle.autograd import gradcheck, gradgradcheck

# name: (SciPy's function, from, to)
UNARY = {
    "airy_ai": (lambda x: sp.airy(x)[0], -8, 4), "bessel_j0": (sp.j0, -20, 20),
    "bessel_j1": (sp.j1, -20, 20), "bessel_y0": (sp.y0, 0.1, 20), "bessel_y1": (sp.y1, 0.1, 20),
    "digamma": (sp.digamma, -3, 8), "entr": (sp.entr, 0.1, 3), "erf": (sp.erf, -3, 3),
    "erfc": (sp.erfc, -3, 3), "erfcx": (sp.erfcx, -3, 30), "erfinv": (sp.erfinv, -0.99, 0.99),
    "expit": (sp.expit, -9, 9), "gammaln": (sp.gammaln, 0.1, 20), "i0": (sp.i0, -9, 9),
    "i0e": (sp.i0e, -20, 20), "i1": (sp.i1, -9, 9), "i1e": (sp.i1e, -20, 20),
    "log_ndtr": (sp.log_ndtr, -20, 5), "logit": (sp.logit, 0.1, 0.9),
    "modified_bessel_i0": (sp.i0, -9, 9), "modified_bessel_i1": (sp.i1, -9, 9),
    "modified_bessel_k0": (sp.k0, 0.1, 9), "modified_bessel_k1": (sp.k1, 0.1, 9),
    "ndtr": (sp.ndtr, -5, 5), "ndtri": (sp.ndtri, 0.01, 0.99),
    "scaled_modified_bessel_k0": (sp.k0e, 0.1, 20), "scaled_modified_bessel_k1": (sp.k1e, 0.1, 20),
    "sinc": (np.sinc, -5, 5), "spherical_bessel_j0": (lambda x: np.sinc(x / np.pi), -9, 9),
}  # fmt: skip
BINARY = {
    "gammainc": (sp.gammainc, (0.1, 60), (0.1, 60)),
    "gammaincc": (sp.gammaincc, (0.1, 60), (0.1, 60)),
    "xlogy": (sp.xlogy, (-3, 3), (0.1, 3)), "xlog1py": (sp.xlog1py, (-3, 3), (-0.9, 3)),
    "zeta": (sp.zeta, (1.1, 9), (0.1, 9)),
}  # fmt: skip
POLYNOMIALS = {
    "chebyshev_polynomial_t": sp.eval_chebyt, "chebyshev_polynomial_u": sp.eval_chebyu,
    "shifted_chebyshev_polynomial_t": sp.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": sp.eval_sh_chebyu,
    "hermite_polynomial_h": sp.eval_hermite, "hermite_polynomial_he": sp.eval_hermitenorm,
    "laguerre_polynomial_l": sp.eval_laguerre, "legendre_polynomial_p": sp.eval_legendre,
}  # fmt: skip
# Their result never requires grad, as in PyTorch.
CONSTANT = {
    "airy_ai", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
}  # fmt: skip


def numbers(low, high, n=40):
    return np.random.default_rng(0).uniform(low, high, n)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name):
    reference, low, high = UNARY[name]
    x = numbers(low, high)
    f = getattr(special, name)
    np.testing.assert_allclose(f(E.from_numpy(x)).numpy(), reference(x), rtol=1e-12, atol=1e-14)
    x32 = x.astype(np.float32)
    got = f(E.from_numpy(x32)).numpy()
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, reference(x32.astype(float)), rtol=5e-6, atol=2e-7)
    out = E.empty(0, dtype=E.float64)
    assert f(E.from_numpy(x), out=out) is out and out.shape == x.shape
    assert f(E.tensor([1, 0])).dtype == E.float32
    t = E.from_numpy(x[:4].copy()).requires_grad_()
    if name in CONSTANT:
        assert not f(t).requires_grad
    else:
        assert gradcheck(f, (t,)) and gradgradcheck(f, (t,))


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name):
    reference, a, b = BINARY[name]
    x, y = numbers(*a), numbers(*b)[::-1].copy()
    f = getattr(special, name)
    np.testing.assert_allclose(
        f(E.from_numpy(x), E.from_numpy(y)).numpy(), reference(x, y), rtol=1e-12, atol=1e-15
    )
    assert f(2.5, E.from_numpy(y)).dtype == E.float64
    p, q = E.from_numpy(x[:4].copy()), E.from_numpy(y[:4].copy()).requires_grad_()
    assert gradcheck(lambda v: f(p, v), (q,)) and gradgradcheck(lambda v: f(p, v), (q,))
    p.requires_grad_()
    if name.startswith("xlog"):
        q = q.detach()
        assert gradcheck(lambda u: f(u, q), (p,)) and gradgradcheck(lambda u: f(u, q), (p,))
    else:
        with pytest.raises(NotImplementedError, match="the derivative for '.*' is not implemented"):
            f(p, q).sum().backward()


@pytest.mark.parametrize("name", sorted(POLYNOMIALS))
def test_polynomials(name):
    x, n = numbers(-1, 1)[:, None], np.arange(0, 12.0)
    f = getattr(special, name)
    want = POLYNOMIALS[name](n.astype(int), x)
    got = f(E.from_numpy(x), E.from_numpy(n)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-8)
    assert not f(E.from_numpy(x).requires_grad_(), 3).requires_grad
    assert f(E.tensor([0.5]), -2).tolist() == [0]


def test_polynomials_take_any_degree():
    x = E.tensor([0.3, -0.3, 1.0, -1.0, 1.5, -1.5], dtype=E.float64)
    for name in dir(special):
        if "polynomial" in name:
            for n in (1e6, 1e18, float("inf"), float("nan"), -1e18):
                assert getattr(special, name)(x, n).shape == (6,)
    v = special.chebyshev_polynomial_v(x, 9)
    w = special.chebyshev_polynomial_w(-x, 9)
    np.testing.assert_allclose(v.numpy(), -w.numpy(), rtol=1e-12)


def test_polygamma_and_its_relatives():
    x = numbers(0.2, 9)
    t = E.from_numpy(x)
    for n in range(5):
        np.testing.assert_allclose(E.polygamma(n, t).numpy(), sp.polygamma(n, x), rtol=1e-12)
        np.testing.assert_allclose(t.polygamma(n).numpy(), sp.polygamma(n, x), rtol=1e-12)
    assert gradcheck(lambda v: v.polygamma(2), (t[:3].clone().requires_grad_(),))
    u = t.clone()
    assert u.polygamma_(1) is u
    np.testing.assert_allclose(u.numpy(), sp.polygamma(1, x), rtol=1e-12)
    with pytest.raises(RuntimeError, match="does not support negative n"):
        E.polygamma(-1, t)
    for p in (1, 3, 5):
        np.testing.assert_allclose(
            E.mvlgamma(t + 2, p).numpy(), [sp.multigammaln(v + 2, p) for v in x], rtol=1e-12
        )
    with pytest.raises(RuntimeError, match="p has to be greater"):
        E.mvlgamma(t, 0)


def test_logit_with_eps():
    x = E.tensor([0.0, 0.1, 0.5, 1.0], dtype=E.float64, requires_grad=True)
    y = E.logit(x, 0.2)
    np.testing.assert_allclose(y.detach().numpy(), sp.logit([0.2, 0.2, 0.5, 0.8]), atol=1e-15)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 4, 0]
    assert E.logit(E.tensor([-1.0, 2.0])).isnan().all()


def test_edges():
    inf, nan = float("inf"), float("nan")
    t = E.tensor([0.0, 1.0, -1.0, inf, nan], dtype=E.float64)
    assert E.lgamma(t).tolist()[:4] == [inf, 0, inf, inf]
    assert special.i1(t).tolist()[3] == inf and special.i0e(t).tolist()[3] == 0
    assert special.zeta(E.tensor([1.0, 2.0]), E.tensor([1.0, -3.0])).tolist() == [inf, inf]
    assert special.gammainc(E.tensor([0.0, 1.0, inf]), E.tensor([1.0, 0.0, 2.0])).tolist() == [
        1, 0, 0,
    ]  # fmt: skip
    assert E.xlogy(E.tensor([0.0, 0.0]), E.tensor([0.0, nan])).tolist()[0] == 0
    assert special.ndtri(E.tensor([0.0, 1.0])).tolist() == [-inf, inf]
    g = E.tensor([0.0], requires_grad=True)
    (special.i1(g) + special.i1e(g) + E.sinc(g) + special.bessel_j1(g)).backward()
    assert g.grad.tolist() == [1.5]
