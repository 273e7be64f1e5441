"""Elementwise ops against NumPy: values, promotion, PyTorch's refusals, gradients at the edges.

To add an op with a NumPy namesake: its name in a list below.
"""

import math

import numpy as np
import pytest
import treadle as T
import treadle.nn.functional as F

NAN, INF = math.nan, math.inf
EDGES = [-INF, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, INF, NAN]


def close(got, want, tol=1e-12):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tol, atol=tol)


@pytest.mark.parametrize(
    "name", ["arcsinh", "arctanh", "arccosh", "deg2rad", "rad2deg", "sinc", "signbit", "fix",
             "isposinf", "isneginf", "exp2", "positive", "nan_to_num", "absolute", "negative"],
)  # fmt: skip
def test_unary_is_numpys(name):
    x = np.array([-1e300, -2.5, -0.0, 0.0, 0.25, 0.75, 1.0, 2.5, INF, -INF, NAN])
    with np.errstate(all="ignore"):
        close(getattr(T, name)(T.from_numpy(x)), getattr(np, name)(x))


@pytest.mark.parametrize(
    "name", ["fmax", "fmin", "copysign", "nextafter", "heaviside", "logaddexp", "logaddexp2",
             "maximum", "hypot", "arctan2", "multiply", "subtract", "true_divide"],
)  # fmt: skip
def test_binary_is_numpys(name):
    a = np.array(EDGES)[:, None]
    if name == "heaviside":
        a = np.nan_to_num(a)  # PyTorch gives 0 for NaN, NumPy NaN
    b = np.array(EDGES)[None, :]
    with np.errstate(all="ignore"):
        close(getattr(T, name)(T.from_numpy(a), T.from_numpy(b)), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers(dtype):
    a = np.array([-128, -7, -1, 0, 1, 5, 12, 127]).astype(dtype)
    x, y = T.from_numpy(a[:, None].copy()), T.from_numpy(a[None, :].copy())
    for name in ("gcd", "lcm"):
        if dtype != "int8":  # -128 has no absolute value
            close(getattr(T, name)(x, y), getattr(np, name)(a[:, None], a[None, :]))
    bits = np.dtype(dtype).itemsize * 8
    for shift in (0, 1, bits - 1):
        close(x << shift, a[:, None] << np.array(shift, dtype))
        close(x >> shift, a[:, None] >> np.array(shift, dtype))
    assert (x << bits).abs().sum() == 0
    close(x >> bits, np.where(a < 0, -1, 0)[:, None].astype(dtype))


def test_frexp_and_ldexp_are_inverse():
    x = T.tensor([-1e300, -3.0, 0.0, 1.0, 5e-324, 0.1], dtype=T.float64)
    mantissa, exponent = T.frexp(x)
    assert exponent.dtype == T.int32
    assert T.equal(T.ldexp(mantissa, exponent), x)
    want = np.frexp(x.numpy())
    close(mantissa, want[0])
    close(exponent, want[1])


def test_nextafter_of_16_bits():
    for dtype, step in ((T.float16, 2.0**-10), (T.bfloat16, 2.0**-7)):
        one = T.ones((), dtype=dtype)
        assert T.nextafter(one, one * 2).item() == 1 + step
        assert T.nextafter(one, one * 0).item() == 1 - step / 2


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda i, f, b: i.clamp(0.5), T.float32),
        (lambda i, f, b: b.clamp(0, 1), T.int64),
        (lambda i, f, b: T.square(b), T.int64),
        (lambda i, f, b: T.where(b, 1.0, 2), T.float32),
        (lambda i, f, b: T.where(b, i, 2.5), T.float32),
        (lambda i, f, b: T.float_power(i, 2), T.float64),
        (lambda i, f, b: T.xlogy(i, i), T.float32),
        (lambda i, f, b: T.copysign(i, -1), T.float32),
        (lambda i, f, b: T.ldexp(f.half(), i), T.float16),
        (lambda i, f, b: i.to(T.uint8) + 300, T.uint8),
        (lambda i, f, b: f + 2**63, T.float32),
        (lambda i, f, b: b << 1, T.int64),
        (lambda i, f, b: i.__rdiv__(1), T.float32),
    ],
)
def test_promotion(call, want):
    i, f = T.tensor([3, 1, 2]), T.tensor([-1.5, 0.0, 2.0])
    assert call(i, f, f > 0).dtype == want


def test_result_type():
    f, i = T.ones(2), T.ones(2, dtype=T.int64)
    assert T.result_type(i, 1.5) == T.float32
    assert T.result_type(f, T.ones((), dtype=T.float64)) == T.float32
    assert T.result_type(1, True) == T.int64
    assert T.result_type(i, 1j) == T.complex64


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda i, f, b, c: f - b, NotImplementedError),
        (lambda i, f, b, c: -b, NotImplementedError),
        (lambda i, f, b, c: T.add(i, 1, alpha=1.5), RuntimeError),
        (lambda i, f, b, c: T.add(f, 1, alpha=1j), RuntimeError),
        (lambda i, f, b, c: T.add(i.to(T.uint8), 1, alpha=300), RuntimeError),
        (lambda i, f, b, c: i.add_(1.5), RuntimeError),
        (lambda i, f, b, c: b.add_(1), RuntimeError),
        (lambda i, f, b, c: f.add_(1j), RuntimeError),
        (lambda i, f, b, c: i.clamp_(0.5), RuntimeError),
        (lambda i, f, b, c: i.to(T.int8).clamp(min=200), RuntimeError),
        (lambda i, f, b, c: f.clamp(), RuntimeError),
        (lambda i, f, b, c: c.clamp(0, 1), NotImplementedError),
        (lambda i, f, b, c: T.maximum(c, c), TypeError),
        (lambda i, f, b, c: T.fmax(f, 1.0), TypeError),
        (lambda i, f, b, c: T.isneginf(c), TypeError),
        (lambda i, f, b, c: T.heaviside(f, i), RuntimeError),
        (lambda i, f, b, c: T.gcd(f, f), NotImplementedError),
        (lambda i, f, b, c: i**-1, RuntimeError),
        (lambda i, f, b, c: T.lerp(f, f.double(), 0.5), RuntimeError),
        (lambda i, f, b, c: T.addcdiv(f, i, i), RuntimeError),
        (lambda i, f, b, c: i + 2**70, OverflowError),
        (lambda i, f, b, c: i.sum(2**70), ValueError),
        (lambda i, f, b, c: c.abs_(), RuntimeError),
        (lambda i, f, b, c: T.frexp(i), RuntimeError),
        (lambda i, f, b, c: F.hardtanh(f, 2, 1), ValueError),
        (lambda i, f, b, c: F.celu(f, 0.0), RuntimeError),
        (lambda i, f, b, c: F.softshrink(f, -1), RuntimeError),
        (lambda i, f, b, c: F.prelu(f, T.ones(2)), RuntimeError),
        (lambda i, f, b, c: F.glu(f), RuntimeError),
    ],
)
def test_refusals(call, error):
    f = T.tensor([-1.5, 0.0, 2.0])
    with pytest.raises(error) as e:
        call(T.tensor([1, 2, 3]), f, f > 0, T.tensor([1j, 2, 3]))
    assert e.type is error


# Recorded from PyTorch 2.15 at EDGES.
GRADIENTS = {
    "hardtanh": (F.hardtanh, [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1]),
    "relu6": (F.relu6, [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1]),
    "hardsigmoid": (lambda x: F.hardsigmoid(x) * 6, [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]),
    "hardswish": (
        lambda x: F.hardswish(x) * 6, [0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 6],
    ),
    "hardshrink": (F.hardshrink, [1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1]),
    "softshrink": (F.softshrink, [1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1]),
    "threshold": (lambda x: F.threshold(x, 1.0, 5.0), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
    "clamp": (lambda x: x.clamp(-1, 1), [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]),
    "clamp_low": (lambda x: x.clamp(min=0.5), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0]),
    "clamp_max": (lambda x: x.clamp_max(0.5), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]),
    "clamp_tensors": (
        lambda x: T.clamp(x, T.full((11,), -1.0), T.full((11,), 1.0)),
        [0, 0, 0.5, 1, 1, 1, 0.5, 0, 0, 0, 1],
    ),
    "fmax": (lambda x: T.fmax(x, T.tensor(1.0)), [0, 0, 0, 0, 0, 0, 0.5, 1, 1, 1, 0]),
    "nan_to_num": (lambda x: x.nan_to_num(), [0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]),
    "sinc": (
        T.sinc, [NAN, 1 / 3, 1, 1.2732, 0, -1.2732, -1, -1 / 3, 1 / 6, NAN, NAN],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_at_edges(name):
    f, want = GRADIENTS[name]
    for graph in (False, True):
        x = T.tensor(EDGES, requires_grad=True)
        (g,) = T.autograd.grad(f(x).sum(), x, create_graph=graph)
        close(g.detach(), want, 1e-4)


@pytest.mark.parametrize(
    "name", ["relu6", "selu", "celu", "elu", "hardtanh", "hardswish", "hardsigmoid", "silu",
             "mish", "leaky_relu", "relu", "rrelu"],
)  # fmt: skip
def test_inplace_flag(name):
    f = getattr(F, name)
    x = T.linspace(-4, 4, 9)
    y = x.clone()
    assert f(y, inplace=True) is y
    assert T.equal(y, f(x))


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (T.asinh, (-2, 2)), (T.acosh, (1.5, 3)), (T.atanh, (-0.9, 0.9)), (T.sinc, (0.2, 2)),
        (T.logit, (0.1, 0.9)), (F.mish, (-2, 2)), (F.logsigmoid, (-2, 2)), (F.selu, (-2, 2)),
        (F.celu, (-2, 2)), (F.glu, (-2, 2)), (F.softsign, (0.5, 2)), (F.tanhshrink, (-2, 2)),
        (lambda x: T.xlogy(x, x + 1), (0.5, 2)), (lambda x: T.logaddexp(x, -x), (0.5, 2)),
        (lambda x: T.logaddexp2(x, -x), (0.5, 2)), (lambda x: T.ldexp(x, x), (0.5, 2)),
        (lambda x: F.prelu(x, x[:1].abs()), (-2, 2)), (lambda x: T.frexp(x)[0], (0.6, 0.9)),
        (lambda x: T.copysign(x, -x.detach()), (0.5, 2)),
    ],
)  # fmt: skip
def test_gradcheck(f, domain):
    from treadle.autograd import gradcheck, gradgradcheck

    low, high = domain
    x = T.linspace(low, high, 6, dtype=T.float64)
    x = (x + 0.013).requires_grad_(True)
    assert gradcheck(f, (x,))
    assert gradgradcheck(f, (x,))


def test_out_and_views():
    x = T.tensor([[1.0, -2.0], [3.0, 4.0]]).t()
    out = T.empty(0)
    assert T.clamp(x, 0, 3, out=out) is out
    close(out, [[1, 3], [0, 3]])
    x[0].clamp_(min=2)
    close(x, [[2, 3], [-2, 4]])
    i = T.tensor([1, 2])
    i <<= 3
    close(i, [8, 16])


def test_python_functions_on_elements():
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda v: v * 2) is x
    close(x, [[2, 4], [6, 8]])
    x.map_(T.tensor([1.0, 2.0]), lambda a, b: a - b)
    close(x, [[1, 2], [5, 6]])


def test_rrelu_draws_for_what_is_negative():
    x = T.tensor([-1.0, 2.0, -3.0])
    y = F.rrelu(x, 0.1, 0.3, training=True)
    assert y[1] == 2
    slopes = (y / x)[[0, 2]]
    assert bool(((slopes >= 0.1) & (slopes <= 0.3)).all())


@pytest.mark.parametrize("name", ["silu", "mish"])
def test_activations_keep_their_digits_where_exp_is_subnormal(name):
    x = T.tensor([-80.5, -87.0, -90.0, -95.0, -100.0, -300.0])
    want = x.numpy() * np.exp(x.numpy().astype(np.float64))  # to the last bit, so far out
    made = getattr(F, name)(x).numpy().astype(np.float64)
    assert (np.abs(made - want) <= np.maximum(np.abs(want) * 5e-7, 2e-45)).all()


def test_slope_of_igamma_at_its_ends():
    x = T.tensor([0.0, math.inf, 0.0, math.inf], requires_grad=True)
    T.igamma(T.tensor([1.0, 1.0, 2.0, 3.0]), x).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 0]
