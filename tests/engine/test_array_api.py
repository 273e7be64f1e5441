"""The array API standard: the namespace, its own functions, and its forms of PyTorch's.

The standard's own suite (data-apis/array-api-tests) runs beside these tests.
"""

import inspect
import math

import numpy
import pytest
import treadle as xp


def test_namespace():
    x = xp.ones(2)
    assert x.__array_namespace__() is xp.array_api and xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="1999.1")
    info = xp.__array_namespace_info__()
    assert info.default_device() == x.device and info.devices() == [x.device]
    assert info.default_dtypes()["real floating"] is xp.float32
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == [
        "bool", "uint8", "uint16", "uint32", "uint64",
    ]  # fmt: skip
    assert info.capabilities()["max dimensions"] == 64
    with pytest.raises(ValueError):
        info.dtypes(kind="strange")
    assert x.to_device("cpu") is x


@pytest.mark.parametrize(
    "a, b, common",
    [
        ("uint16", "bool", "uint16"), ("uint16", "int8", "int32"), ("uint32", "int32", "int64"),
        ("uint8", "uint64", "uint64"), ("uint64", "complex64", "complex64"),
        ("uint16", "int16", "int32"), ("int64", "uint32", "int64"),
    ],
)  # fmt: skip
def test_unsigned_integers_promote(a, b, common):
    a, b, common = (getattr(xp, name) for name in (a, b, common))
    assert xp.promote_types(a, b) == xp.promote_types(b, a) == common
    assert xp.result_type(a, b) == common
    assert (xp.ones(2, dtype=a) + xp.ones(2, dtype=b)).dtype == common


def test_no_common_dtype():
    with pytest.raises(RuntimeError, match="not supported"):
        xp.promote_types(xp.uint64, xp.int8)


def test_result_type():
    x = xp.ones(2, dtype=xp.int8)
    assert xp.result_type(x, 3) == xp.int8 and xp.result_type(x, 3.5) == xp.float32
    assert xp.result_type(x, xp.tensor(1)) == xp.int8
    assert xp.result_type(xp.float64, 1j) == xp.complex128
    assert xp.result_type(1, 2) == xp.int64
    with pytest.raises(TypeError):
        xp.result_type("a")


def test_limits():
    f = xp.finfo(xp.complex64)
    assert (f.bits, f.eps, f.dtype) == (32, 2.0**-23, xp.float32)
    assert f == xp.finfo(xp.float32) == xp.finfo(xp.ones(1)) == xp.finfo()
    assert repr(xp.finfo(xp.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert xp.iinfo(xp.int8).min == -128 and xp.iinfo(xp.uint64).max == 2**64 - 1
    assert repr(xp.iinfo(xp.uint64)) == "iinfo(min=0, max=1.84467e+19, dtype=uint64)"
    for ask, dtype in ((xp.finfo, xp.int8), (xp.iinfo, xp.float32), (xp.iinfo, xp.bool)):
        with pytest.raises(TypeError):
            ask(dtype)


def test_isdtype():
    assert xp.isdtype(xp.int8, "signed integer") and xp.isdtype(xp.int8, ("bool", "integral"))
    assert xp.isdtype(xp.float32, xp.float32) and not xp.isdtype(xp.bool, "numeric")
    with pytest.raises(ValueError):
        xp.isdtype(xp.bool, "float")


def test_shapes():
    x = xp.arange(6).reshape(2, 3)
    assert xp.expand_dims(x, axis=-1).shape == (2, 3, 1)
    assert xp.permute_dims(x, (1, 0)).shape == (3, 2) == xp.matrix_transpose(x).shape
    assert [y.tolist() for y in xp.unstack(x, axis=1)] == [[0, 3], [1, 4], [2, 5]]
    assert [y.shape for y in xp.broadcast_arrays(x, xp.ones(3))] == [(2, 3), (2, 3)]
    assert xp.astype(x, xp.int64, copy=False) is x and xp.astype(x, xp.int64) is not x
    with pytest.raises(IndexError):
        xp.expand_dims(x, axis=3)


def test_sets():
    x = xp.tensor([[3.0, 1.0], [math.nan, 1.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values[:2].tolist() == [1, 3] and math.isnan(values[2].item())
    assert counts.tolist() == [2, 1, 1] and indices.tolist() == [1, 0, 2]
    assert inverse.tolist() == [[1, 0], [2, 0]]
    assert xp.unique_values(xp.tensor([2, 1, 2])).tolist() == [1, 2]
    assert xp.unique_counts(xp.tensor([True, False, True])).counts.tolist() == [1, 2]
    assert xp.unique_inverse(xp.empty(0)).values.shape == (0,)
    z = xp.tensor([1 + 2j, 1 + 1j, 1 + 2j])
    assert xp.unique_values(z).tolist() == [1 + 1j, 1 + 2j]


def test_sums():
    x = xp.tensor([1, 2, 3], dtype=xp.int8)
    assert xp.cumulative_sum(x).tolist() == [1, 3, 6]
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 1, 3, 6]
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_sum(xp.ones(2, 2))
    z = xp.tensor([1j, 2.0])
    assert xp.vecdot(z, z).item() == 5
    assert xp.vecdot(x, x).dtype == xp.int8


def test_forms_that_pytorch_refuses():
    x = xp.arange(6.0).reshape(2, 3)
    assert xp.max(x, keepdims=True).tolist() == [[5]]
    assert xp.min(x, axis=(0, 1)).item() == 0
    assert xp.max(x, axis=0, keepdims=True).tolist() == [[3, 4, 5]]
    assert xp.prod(x + 1, axis=(0, 1)).item() == 720
    assert xp.concat([x, x], axis=None).shape == (12,)
    assert xp.flip(x).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert xp.full(3, 1.0).tolist() == [1, 1, 1]
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert xp.arange(0, stop=3, step=2).tolist() == [0, 2]
    assert xp.linspace(0, 1, num=2, endpoint=False).tolist() == [0, 0.5]
    assert xp.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr()
    assert xp.tril(x, k=-1).tolist() == [[0, 0, 0], [3, 0, 0]]


def test_take_along_axis():
    x = xp.tensor([[3, 1, 2], [6, 5, 4]])
    order = xp.argsort(x, axis=-1)
    assert xp.take_along_axis(x, order).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert xp.take_along_axis(x, xp.tensor([[-1]])).tolist() == [[2], [4]]
    assert xp.take_along_axis(x, xp.tensor([[1, 0, 1]]), axis=0).tolist() == [[6, 1, 4]]
    for indices, axis in ((xp.tensor([0]), 0), (order, 2)):
        with pytest.raises(IndexError):
            xp.take_along_axis(x, indices, axis=axis)


def test_common_dtypes():
    a, b = xp.tensor([1, 2, 3], dtype=xp.uint8), xp.tensor([4, 5, 6], dtype=xp.int16)
    assert xp.linalg.cross(a, b).tolist() == [-3, 6, -3]
    for of_two in (xp.tensordot(a, b, axes=1), xp.linalg.vecdot(a, b)):
        assert of_two.item() == 32 and of_two.dtype == xp.int16
    assert xp.linalg.vecdot(a, a).dtype == xp.uint8


def test_numbers_for_tensors():
    x = xp.tensor([1, 2, 3], dtype=xp.int8)
    assert xp.equal(x, 2).tolist() == xp.equal(2, x).tolist() == [False, True, False]
    assert xp.logaddexp(xp.zeros(1), 0).tolist() == pytest.approx([math.log(2)])
    assert xp.clip(x).tolist() == [1, 2, 3] and xp.clip(x) is not x
    assert xp.clip(x, min=2).dtype == xp.int8


@pytest.mark.parametrize(
    "function, shown",
    [
        (xp.clip, "(x, /, min=None, max=None)"), (xp.squeeze, "(x, /, axis=None)"),
        (xp.full, "(shape, fill_value, *, dtype=None, device=None)"),
        (xp.fft.fftfreq, "(n, /, *, d=1.0, dtype=None, device=None)"),
    ],
)  # fmt: skip
def test_signatures(function, shown):
    assert str(inspect.signature(function)) == shown
    assert function.__name__ + "(" in function.__doc__


INF, NAN = math.inf, math.nan


# C11 annex G and the standard; each also for complex64.
@pytest.mark.parametrize(
    "name, z, expected",
    [
        ("exp", (INF, NAN), (INF, NAN)), ("exp", (-INF, INF), (0, 0)), ("exp", (NAN, 0), (NAN, 0)),
        ("expm1", (-INF, NAN), (-1, 0)), ("expm1", (INF, 0), (INF, 0)),
        ("expm1", (-0.0, 0), (0, 0)), ("log", (NAN, 0), (NAN, NAN)),
        ("log", (NAN, INF), (INF, NAN)),
        ("sinh", (0, INF), (0, NAN)), ("sinh", (INF, NAN), (INF, NAN)),
        ("cosh", (0, NAN), (NAN, 0)), ("cosh", (INF, INF), (INF, NAN)),
        ("cosh", (1, INF), (NAN, NAN)), ("tanh", (INF, NAN), (1, 0)), ("tanh", (0, INF), (0, NAN)),
        ("tanh", (-30, INF), (NAN, NAN)), ("tanh", (INF, 2), (1, 0)), ("tanh", (NAN, 0), (NAN, 0)),
        ("acos", (0, NAN), (math.pi / 2, NAN)), ("acos", (-INF, INF), (0.75 * math.pi, -INF)),
        ("acos", (NAN, 1), (NAN, NAN)), ("acos", (INF, 1), (0, -INF)),
        ("acosh", (INF, INF), (INF, math.pi / 4)), ("acosh", (NAN, INF), (INF, NAN)),
        ("asinh", (1, INF), (INF, math.pi / 2)), ("asinh", (NAN, 0), (NAN, 0)),
        ("asinh", (INF, NAN), (INF, NAN)), ("atanh", (0, NAN), (0, NAN)),
        ("atanh", (INF, NAN), (0, NAN)), ("atanh", (1, INF), (0, math.pi / 2)),
        ("atanh", (1, 0), (INF, 0)), ("sqrt", (-INF, 1), (0, INF)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [xp.complex64, xp.complex128])
def test_special_values_of_complex_functions(name, z, expected, dtype):
    made = getattr(xp, name)(xp.tensor(complex(*z), dtype=dtype)).item()
    for got, want in zip((made.real, made.imag), expected):
        assert math.isnan(got) if math.isnan(want) else got == pytest.approx(want, rel=1e-6)
        assert want != 0 or math.copysign(1, got) == math.copysign(1, want)


@pytest.mark.parametrize(
    "name, z, expected",  # the digits: mpmath
    [
        ("exp", 1e300j, -0.5753861119575491 - 0.8178819121159085j),
        ("exp", 709.9 + 0.7j, 1.5460535699838495e308 + 1.3022229575708587e308j),
        ("asinh", 1e300 + 1e300j, 691.8152486690536 + 0.7853981633974483j),
        ("atanh", 1 + 1e-200j, 230.60508288968455 + 0.7853981633974483j),
    ],
)
def test_large_arguments_of_complex_functions(name, z, expected):
    made = getattr(xp, name)(xp.tensor(z, dtype=xp.complex128)).item()
    assert made.real == pytest.approx(expected.real, rel=1e-14)
    assert made.imag == pytest.approx(expected.imag, rel=1e-14)


def test_signed_zeros_of_remainder():
    x, y = xp.tensor([0.0, -0.0, 4.0, -4.0]), xp.tensor([-2.0, 2.0, -2.0, 2.0])
    assert xp.signbit(xp.remainder(x, y)).tolist() == [True, False, True, False]


def test_pytorch_answers_first():
    x = xp.arange(6.0).reshape(2, 3)
    assert xp.max(x, axis=0).indices.tolist() == [1, 1, 1]
    assert xp.equal(x, x) is True
    with pytest.raises(TypeError, match="sum"):
        xp.sum(x, sideways=True)
    with pytest.raises(TypeError, match="max"):
        xp.max("a", keepdims=True)
    with pytest.raises(TypeError, match="maximum"):
        xp.maximum(x, 1)


def test_strict_namespace():
    strict = xp.ones(1).__array_namespace__()
    assert strict.__array_api_version__ == "2024.12" and strict.exp is xp.exp
    x = xp.tensor([[3.0, 1.0], [2.0, 5.0]])
    assert strict.equal(x, 3).tolist() == [[True, False], [False, False]]
    assert strict.sort(x).tolist() == [[1, 3], [2, 5]]
    assert strict.sort(x, axis=0, descending=True).tolist() == [[3, 5], [2, 1]]
    assert strict.max(x, axis=0).tolist() == [3, 5] and strict.min(x).item() == 1
    assert strict.std(xp.tensor([1.0, 3.0])).item() == 1
    assert strict.var(xp.tensor([1.0, 3.0]), correction=1).item() == 2
    assert [i.tolist() for i in strict.nonzero(x > 2)] == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="dimensions"):
        strict.nonzero(xp.tensor(1))
    assert [g.shape for g in strict.meshgrid(xp.ones(2), xp.ones(3))] == [(3, 2)] * 2
    assert strict.arange(2, 0).shape == (0,) and strict.maximum(x, 2).min().item() == 2
    x1, x2 = xp.tensor([INF, 1.0, -7.0]), xp.tensor([2.0, -INF, 2.0])
    assert strict.floor_divide(x1, x2).tolist() == [INF, 0, -4]
    u = xp.tensor([[250, 1], [1, 250]], dtype=xp.uint8)
    for total in (strict.sum(u), strict.prod(u), strict.linalg.trace(u)):
        assert total.dtype == xp.uint64
    assert strict.sum(u, axis=()).tolist() == u.tolist() and strict.mean(x, axis=()).equal(x)
    assert strict.sign(xp.tensor([3 + 4j, 0])).tolist() == pytest.approx([0.6 + 0.8j, 0])
    assert not strict.conj(xp.tensor([1j])).is_conj()
    numbers = numpy.arange(3)
    assert strict.asarray(numbers[::-1]).tolist() == [2, 1, 0]
    assert strict.asarray(numbers).data_ptr() == numbers.ctypes.data
    with pytest.raises(ValueError, match="negative"):
        strict.asarray(numbers[::-1], copy=False)
    e = xp.eye(3)
    assert strict.linalg.cross(e[:1], e[1]).tolist() == [[0, 0, 1]]
    assert strict.linalg.inv is xp.linalg.inv and "equal" in dir(strict)
