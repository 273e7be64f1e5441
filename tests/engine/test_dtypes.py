"""Every dtype: conversions, integer arithmetic and complex functions, against NumPy."""

import cmath
import itertools

import numpy as np
import pytest
import treadle

INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def dtype(name):
    return getattr(treadle, name)


def edges(name):
    """Interesting numbers of an integer dtype."""
    i = np.iinfo(name)
    numbers = [i.min, i.min + 1, -7, -1, 0, 1, 2, 3, 7, 100, i.max // 2, i.max - 1, i.max]
    return np.array(sorted({n for n in numbers if i.min <= n <= i.max}), dtype=name)


def pairs(name):
    both = np.array(list(itertools.product(edges(name), repeat=2)), dtype=name)
    return both[:, 0].copy(), both[:, 1].copy()


def test_every_half_converts_both_ways():
    half = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = treadle.from_numpy(half.copy()).to(treadle.float32)
    np.testing.assert_array_equal(wide.numpy(), half.astype(np.float32))
    back = wide.to(treadle.float16).numpy()
    finite = ~np.isnan(half)
    assert (back.view(np.uint16) == half.view(np.uint16))[finite].all()


@pytest.mark.filterwarnings("ignore:overflow")
def test_float_to_half_rounds_as_ieee_754_says():
    # Around every half: the midpoint to the next one, and both neighbours of it.
    half = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    next_one = np.append(half[1:], np.float32(65536))
    middle = (half + next_one) / 2
    x = np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, np.float32(1e9))])
    x = np.concatenate([x, -x, [np.inf, -np.inf, np.nan]]).astype(np.float32)
    got = treadle.from_numpy(x).to(treadle.float16).numpy()
    np.testing.assert_array_equal(
        got.view(np.uint16)[:-1], x.astype(np.float16).view(np.uint16)[:-1]
    )
    assert np.isnan(got[-1])


def test_bfloat16_is_the_upper_half_of_a_float_rounded_to_even():
    bits = np.array(
        [0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0xFF800000], np.uint32
    )
    got = treadle.from_numpy(bits.view(np.float32)).to(treadle.bfloat16).to(treadle.float32).numpy()
    expected = np.array(
        [0x3F800000, 0x3F800000, 0x3F820000, 0x3F810000, 0x7F800000, 0xFF800000], np.uint32
    )
    np.testing.assert_array_equal(got.view(np.uint32), expected)
    assert treadle.tensor(float("nan")).to(treadle.bfloat16).isnan().item()


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic_wraps_as_numpys(name):
    a, b = pairs(name)
    x, y = treadle.from_numpy(a), treadle.from_numpy(b)
    with np.errstate(all="ignore"):
        for op in ["__add__", "__sub__", "__mul__", "__and__", "__or__", "__xor__"]:
            np.testing.assert_array_equal(getattr(x, op)(y).numpy(), getattr(a, op)(b), op)
        for op in ["__eq__", "__lt__", "__le__", "__gt__"]:
            np.testing.assert_array_equal(getattr(x, op)(y).numpy(), getattr(a, op)(b), op)
        np.testing.assert_array_equal(treadle.maximum(x, y).numpy(), np.maximum(a, b))
        np.testing.assert_array_equal((-x).numpy(), -a)
        np.testing.assert_array_equal((~x).numpy(), ~a)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_division_rounds_as_pythons(name):
    a, b = pairs(name)
    a, b = a[b != 0], b[b != 0]
    x, y = treadle.from_numpy(a), treadle.from_numpy(b)
    low = np.iinfo(name).min
    wrap = lambda n: int(np.array(n, dtype=object) & (2 ** (8 * a.itemsize) - 1))  # noqa: E731
    for got, p, q in zip((x // y).tolist(), a.tolist(), b.tolist(), strict=True):
        assert wrap(got) == wrap(p // q), (p, q)
    for got, p, q in zip((x % y).tolist(), a.tolist(), b.tolist(), strict=True):
        assert got == p % q, (p, q)
    if low < 0:  # the one quotient that doesn't fit wraps to itself, on every CPU
        t = treadle.tensor([low], dtype=dtype(name))
        assert (t // -1).tolist() == [low]
        assert treadle.div(t, -1, rounding_mode="trunc").tolist() == [low]


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_reductions(name):
    a = edges(name)
    x = treadle.from_numpy(a)
    total = int(np.array(a.tolist(), dtype=object).sum())
    assert (x.sum().item() - total) % 2**64 == 0
    assert x.sum().dtype == treadle.int64
    assert x.max().item() == a.max() and x.min().item() == a.min()
    assert x.argmax().item() == a.argmax()
    big = treadle.from_numpy(np.tile(a, 20000))  # cut over threads
    assert big.max().item() == a.max() and big.argmin().item() == a.argmin()


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_conversions_of_small_numbers_agree_with_numpy(source, target):
    a = np.array([0, 1, 2, 3, 100], dtype=source)
    got = treadle.from_numpy(a).to(dtype(target))
    np.testing.assert_array_equal(got.numpy(), a.astype(target))
    strided = treadle.from_numpy(np.repeat(a, 3))[::3].to(dtype(target))
    np.testing.assert_array_equal(strided.numpy(), a.astype(target))


def test_float_to_integer_out_of_range_is_the_same_everywhere():
    x = treadle.tensor([1e30, -1e30, float("nan"), 1.5e19, -1.0, 300.7])
    assert x.to(treadle.int64).tolist()[:3] == [-(2**63)] * 3
    assert x.to(treadle.uint64).tolist()[3:] == [int(np.float32(1.5e19)), 2**64 - 1, 300]
    assert x.to(treadle.uint8).tolist()[5] == 300 % 256
    # at every position, whatever loop runs there
    many = treadle.full((1003,), 1e30).to(treadle.int32)
    assert set(many.tolist()) == {0}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize(
    "function",
    "exp log log2 log10 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh".split(),
)
def test_complex_functions_agree_with_numpy(name, function):
    rng = np.random.default_rng(0)
    z = rng.uniform(-3, 3, 500) + 1j * rng.uniform(-3, 3, 500)
    z = np.concatenate([z, [0.5, -0.5, 2j, -2j, 1e-9 + 1e-9j, 30 + 1j, -30 - 1j]]).astype(name)
    numpy_name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(function, function)
    expected = getattr(np, numpy_name)(z.astype(np.complex128))
    got = getattr(treadle, function)(treadle.from_numpy(z)).numpy()
    assert got.dtype == name
    tolerance = 1e-6 if name == "complex64" else 1e-14
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_complex_division_keeps_large_and_small_numbers():
    a = np.array([1e300 + 1e300j, 1e-300 + 1e-300j, 3 - 4j])
    b = np.array([1e300 - 1e300j, 1e-300 - 2e-300j, 1 + 2j])
    got = (treadle.from_numpy(a) / treadle.from_numpy(b)).numpy()
    np.testing.assert_allclose(got, a / b, rtol=1e-15)


def test_complex_parts_are_views():
    z = treadle.tensor([1 + 2j, 3 - 4j])
    parts = treadle.view_as_real(z)
    assert parts.tolist() == [[1, 2], [3, -4]]
    parts[0, 1] = 7
    assert z[0].item() == 1 + 7j
    assert treadle.real(z).tolist() == [1, 3] and treadle.imag(z).tolist() == [7, -4]
    assert treadle.view_as_complex(parts).tolist() == z.tolist()
    assert treadle.abs(treadle.tensor(3 + 4j)).item() == 5
    assert treadle.angle(treadle.tensor(-1 + 0j)).item() == pytest.approx(cmath.pi)
    assert treadle.conj(z).tolist() == [1 - 7j, 3 + 4j]


def test_gradients_of_complex_functions_follow_pytorch():
    z = treadle.tensor([1 + 2j, -0.5 + 1j], dtype=treadle.complex128, requires_grad=True)
    (z * z).abs().sum().backward()  # |z|^2
    np.testing.assert_allclose(z.grad.numpy(), 2 * z.detach().numpy())
    parts = treadle.tensor([[1.0, -0.5], [2.0, 1.0]], dtype=treadle.float64, requires_grad=True)
    for name in ["exp", "sin", "tanh", "log", "sqrt", "reciprocal", "sigmoid", "atan", "square"]:
        function = getattr(treadle, name)
        assert treadle.autograd.gradcheck(
            lambda p, f=function: treadle.view_as_real(f(treadle.complex(p[0], p[1]))), (parts,)
        )
        assert treadle.autograd.gradgradcheck(
            lambda p, f=function: treadle.view_as_real(f(treadle.complex(p[0], p[1]))), (parts,)
        )


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_short_floats_compute_in_float32(name):
    x = treadle.randn(1000, generator=treadle.Generator().manual_seed(0)).to(dtype(name))
    wide = x.to(treadle.float32)
    assert treadle.tanh(x).equal(treadle.tanh(wide).to(dtype(name)))
    assert x.sum().item() == wide.sum().to(dtype(name)).item()
    assert x.softmax(0).equal(wide.softmax(0).to(dtype(name)))
    assert (x + 1).dtype == dtype(name) and (x + wide).dtype == treadle.float32
    ones = treadle.ones(100_000, dtype=dtype(name))
    assert ones.mean().item() == 1  # the sum doesn't fit float16
    y = x.detach().requires_grad_()
    treadle.tanh(y).sum().backward()
    assert y.grad.dtype == dtype(name)


def test_complex32_is_stored_and_computed_in_complex64():
    assert (
        treadle.chalf is treadle.complex32
        and treadle.chalf.itemsize == 4
        and treadle.finfo(treadle.chalf).bits == 16
    )
    assert (
        treadle.chalf.to_real() is treadle.float16 and treadle.float16.to_complex() is treadle.chalf
    )
    x = treadle.tensor([[1 + 2j, 3 - 1j], [0.5, 1e5]], dtype=treadle.chalf)
    assert x.tolist() == [[1 + 2j, 3 - 1j], [0.5, complex(float("inf"), 0)]]
    x = x[0]
    assert (
        x.dtype is treadle.chalf
        and x.real.dtype is treadle.float16
        and abs(x).dtype is treadle.float16
    )
    exact = x.cfloat()
    for f in (
        lambda t: t * t,
        treadle.exp,
        treadle.sum,
        lambda t: t.mean(0),
        treadle.cos,
        lambda t: t + 1j,
    ):
        assert f(x).dtype is treadle.chalf and treadle.equal(f(x), f(exact).chalf())
    assert (x * treadle.ones(2)).dtype is treadle.complex64 and (
        x * treadle.ones(2).half()
    ).dtype is treadle.chalf
    assert (treadle.ones(2).half() * 1j).dtype is treadle.chalf and (
        treadle.ones(2).bfloat16() * 1j
    ).dtype is treadle.cfloat
    x.requires_grad_()
    (x * x).abs().sum().backward()
    assert x.grad.dtype is treadle.chalf
    with pytest.raises(NotImplementedError, match="'ComplexHalf'"):
        treadle.cumsum(x, 0)
    with pytest.raises(NotImplementedError, match="ComplexHalf"):
        treadle.fft.fft(x)
    with pytest.raises(TypeError, match="ComplexHalf"):
        x.detach().numpy()
