"""Reductions, scans, sorting, sets, histograms, segments and distributions."""

import numpy as np
import pytest
import test_recorded
import treadle as E
from treadle.autograd import gradcheck, gradgradcheck

nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("row", test_recorded.rows("reductions"))
def test_recorded_values(row):
    test_recorded.check(row, rtol=2e-6)


@pytest.mark.parametrize("row", test_recorded.rows("distributions"))
def test_recorded_draws(row):
    test_recorded.check(row, rtol=2e-5)


GRADIENTS = {
    "var": lambda x: E.var(x, 1),
    "std": lambda x: E.std(x, 0, correction=0),
    "var_mean": lambda x: E.var_mean(x, 1),
    "cumprod": lambda x: E.cumprod(x, 1),
    "prod": lambda x: E.prod(x, 1),
    "cumsum": lambda x: E.cumsum(x, 0),
    "cummax": lambda x: E.cummax(x, 1)[0],
    "logcumsumexp": lambda x: E.logcumsumexp(x, 1),
    "logsumexp": lambda x: E.logsumexp(x, (0, 1)),
    "norm": lambda x: E.norm(x, 3, 1),
    "renorm": lambda x: E.renorm(x, 2, 0, 1.0),
    "median": lambda x: E.median(x, 1)[0],
    "mode": lambda x: E.mode(x, 1)[0],
    "quantile": lambda x: E.quantile(x, 0.4, 1),
    "sort": lambda x: E.sort(x, 0)[0],
    "topk": lambda x: E.topk(x, 2)[0],
    "amax": lambda x: E.amax(x, 0),
    "nansum": lambda x: E.nansum(x, 0),
    "cov": E.cov,
    "corrcoef": E.corrcoef,
    "gradient": lambda x: E.gradient(x, spacing=2.0)[1],
    "trapezoid": lambda x: E.cumulative_trapezoid(x, dx=0.5),
    "segments": lambda x: E.segment_reduce(x, "mean", lengths=E.tensor([1, 2])),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    x = E.tensor(
        [[1.0, 2.5, 0.3, -1.2], [0.7, -2.0, 3.1, 0.2], [2.2, 1.1, -0.4, 4.0]],
        dtype=E.float64,
        requires_grad=True,
    )
    assert gradcheck(GRADIENTS[name], (x,))
    assert gradgradcheck(GRADIENTS[name], (x,))


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [4]])
def test_products_with_zeros_have_gradients(zeros):
    x = E.tensor([2.0, 3.0, -1.0, 0.5, 4.0], dtype=E.float64)
    x[zeros] = 0.0
    x.requires_grad_()
    assert gradcheck(lambda t: E.cumprod(t, 0), (x,))
    assert gradcheck(lambda t: E.prod(t), (x,))
    assert gradcheck(lambda t: E.segment_reduce(t, "prod", lengths=E.tensor([2, 3])), (x,))


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, inf, -inf])
def test_norm_of_zeros_has_a_zero_gradient(p):
    x = E.zeros(4, requires_grad=True)
    x.norm(p).backward()
    assert x.grad.tolist() == [0.0] * 4


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_long_sorts_are_stable(dtype, descending):
    a = np.random.default_rng(0).integers(0, 50, (3, 2000)).astype(dtype)
    key = a.astype("float64") * (-1 if descending else 1)
    order = np.argsort(key, axis=1, kind="stable")
    values, indices = E.sort(E.tensor(a), descending=descending)
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(a, order, 1))
    top = E.topk(E.tensor(a), 7, largest=descending)
    np.testing.assert_array_equal(top[1].numpy(), order[:, :7])


def test_moments_are_stable():
    x = np.random.default_rng(0).standard_normal(100_000) + 1e8
    assert E.tensor(x).var().item() == pytest.approx(x.var(ddof=1), rel=1e-9)
    big = E.tensor([1e30, 2e30, 3e30])
    assert big.std().item() == pytest.approx(1e30)


def test_same_bits_for_any_number_of_threads():
    E.manual_seed(0)
    x = E.randn(300_000)
    calls = [
        lambda: E.cat([t.reshape(-1) for t in E.var_mean(x)]),
        lambda: E.cumsum(x.reshape(300, 1000), 0),
        lambda: E.sort(x.reshape(300, 1000))[1],
        lambda: E.logcumsumexp(x.reshape(300, 1000), 1),
        lambda: x.sum(),
    ]
    threads = E.get_num_threads()
    try:
        results = []
        for n in (1, 2, 3):
            E.set_num_threads(n)
            results.append([c() for c in calls])
    finally:
        E.set_num_threads(threads)
    for other in results[1:]:
        assert all(E.equal(a, b) for a, b in zip(results[0], other))


def test_out_and_inplace_forms():
    x = E.tensor([[3.0, 1.0], [2.0, 5.0]])
    values, indices = E.empty(0), E.empty(0, dtype=E.int64)
    E.sort(x, 1, out=(values, indices))
    assert values.tolist() == [[1.0, 3.0], [2.0, 5.0]] and indices.tolist() == [[1, 0], [0, 1]]
    out = E.empty(0)
    assert E.logcumsumexp(x, 0, out=out) is out and out.shape == x.shape
    y = E.tensor([1, 2, 3], dtype=E.int32)
    assert y.cumsum_(0) is y and y.tolist() == [1, 3, 6] and y.dtype == E.int32
    assert E.aminmax(x).max.item() == 5.0


def test_a_zero_weight_is_never_drawn():
    E.manual_seed(0)
    p = E.tensor([0.0, 0.3, 0.0, 0.7, 0.0])
    for draws in (E.multinomial(p, 2000, replacement=True), E.multinomial(p.expand(500, 5), 1)):
        assert set(draws.reshape(-1).tolist()) == {1, 3}


def test_generator_states():
    g = E.Generator().manual_seed(3)
    E.randn(5, generator=g)
    copy, state = g.clone_state(), g.get_state()
    expected = E.randn(700, generator=g)
    assert E.equal(E.randn(700, generator=copy), expected)
    assert E.equal(E.randn(700, generator=E.Generator().set_state(state)), expected)
    with pytest.raises(RuntimeError):
        g.set_state(E.zeros(5056, dtype=E.uint8) + 7)


@pytest.mark.parametrize("call, kind, text", [
    (lambda x: E.all(x, 0, out=E.empty(3)), RuntimeError, "all only supports bool tensor"),
    (lambda x: E.any(x, out=E.empty(())), RuntimeError, "any only supports bool tensor"),
    (lambda x: E.sum(x, 0, dtype=E.float64, out=E.empty(3)), RuntimeError, "have dtype double"),
    (lambda x: E.cumsum(x, 0, dtype=E.int8, out=x.clone()), RuntimeError, "dtype signed char"),
    (lambda x: E.mean(x.int(), 0, out=E.empty(3)), NotImplementedError, "Got: Int"),
    (lambda x: E.quantile(x, 0.5, out=E.empty((), dtype=E.int32)), RuntimeError, "same dtype"),
    (lambda x: E.mode(x, 0, out=(E.empty(3).int(), E.empty(3).long())), RuntimeError,
     "'Float' but got 'Int' for values"),
    (lambda x: E.kthvalue(x, 1, 0, out=(E.empty(3), E.empty(3).int())), RuntimeError,
     "must be of scalar type Long"),
    (lambda x: E.argmax(x, 0, out=E.empty(3)), RuntimeError, "have dtype long int"),
    (lambda x: E.searchsorted(x, x, out=x.int()), RuntimeError, "out_int32 flag is False"),
    (lambda x: E.histc(x.int(), 4, 5, 1), RuntimeError, "max must be larger than min"),
    (lambda x: E.histc(x, 4, 1, inf), RuntimeError, r"range of \[1, inf\] is not finite"),
    (lambda x: E.histogram(x, 2, out=(E.empty(2).double(), E.empty(3))), RuntimeError,
     "input tensor and hist tensor should have the same dtype"),
    (lambda x: E.logical_or(x, 2), TypeError, "must be Tensor"),
    (lambda x: E.gather(x[0], 0, E.tensor([0, 1]), out=E.from_numpy(np.zeros(1, np.float32))),
     RuntimeError, "not resizable"),
    (lambda x: x.__setitem__((0, [1]), E.tensor(1)), RuntimeError, "Index put requires"),
])  # fmt: skip
def test_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call(E.ones(2, 3))


def test_out_decides_the_dtype_of_sums():
    x = E.tensor([[100, 100], [100, 100]], dtype=E.int8)
    assert E.sum(x, 0, out=E.empty(2, dtype=E.int8)).tolist() == [-56, -56]
    assert E.sum(x, 0, out=E.empty(2)).tolist() == [200, 200]
    third = E.full((3,), 1 / 3, dtype=E.float32)
    wide = E.cumsum(third, 0, out=E.empty(3, dtype=E.float64))
    assert wide[2].item() == third.double().cumsum(0)[2].item()
    assert E.all(x, 0, out=E.empty(2, dtype=E.uint8)).tolist() == [1, 1]
    x[x > 0] = E.tensor(1.5)  # one element for a mask is converted
    assert x.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_too_few_elements_for_a_variance_warn(name):
    with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
        getattr(E, name)(E.ones(2, 3), dim=1, correction=3)


@pytest.mark.parametrize("pair, sum_of_both", [
    ((complex(-inf, 1), complex(-inf, nan)), complex(nan, nan)),
    ((complex(-inf, 2), complex(-inf, inf)), complex(-inf, 0)),
    ((complex(-inf, inf), complex(0.5, 1)), complex(0.5, 1)),
    ((complex(0.5, 1), complex(inf, 2)), complex(inf, 2)),
    ((complex(inf, 0), complex(inf, 1)), complex(inf, np.pi / 4)),
    ((complex(inf, 0), complex(inf, inf)), complex(inf, nan)),
])  # fmt: skip
def test_logcumsumexp_of_complex_infinities(pair, sum_of_both):
    out = E.logcumsumexp(E.tensor(pair, dtype=E.complex128), 0).numpy()
    given, expected = (z.view(np.float64) for z in (out[1:], np.array([sum_of_both])))
    np.testing.assert_allclose(given, expected, rtol=1e-15)


def test_functions_that_write_in_place():
    x = E.tensor([-1.0, 2.0, 5.0])
    assert E.clamp_min_(x, 0) is x and E.clamp_max_(x, 4).tolist() == [0, 2, 4]
    assert E.fill_(x, 3).tolist() == [3] * 3 and E.zero_(x).tolist() == [0] * 3
