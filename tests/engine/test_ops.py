"""Ops against NumPy on random shapes, layouts and dtypes, and how the binding treats arguments."""

import inspect

import numpy as np
import pytest
import treadle as E
from hypothesis import given, settings
from hypothesis import strategies as st

UNARY = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "floor": np.floor, "ceil": np.ceil, "sign": np.sign, "square": np.square,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum":
    np.minimum,
    "lt": np.less, "eq": np.equal, "ge": np.greater_equal,
}  # fmt: skip

shapes = st.lists(st.integers(0, 5), min_size=0, max_size=4)


def pair(shape, dtype, data):
    """An array and a tensor of the same numbers, sometimes with a transposed or spread layout."""
    a = np.random.default_rng(data.draw(st.integers(0, 2**32))).integers(-4, 5, shape).astype(dtype)
    t = E.from_numpy(a.copy())
    layout = data.draw(st.sampled_from(["plain", "reversed", "spread"]))
    if layout == "reversed":
        t = (
            E.from_numpy(np.ascontiguousarray(a.transpose())).permute(*range(a.ndim)[::-1])
            if a.ndim
            else t
        )
    elif layout == "spread":
        t = E.stack([t, t], -1).select(-1, 0)
    return a, t


def close(t, a):
    got = t.numpy()
    assert got.shape == np.shape(a)
    np.testing.assert_allclose(got, a, rtol=2e-6, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(UNARY)), shapes, st.sampled_from(["float32", "float64"]), st.data())
def test_unary(name, shape, dtype, data):
    a, t = pair(shape, dtype, data)
    close(getattr(E, name)(t), UNARY[name](a))
    close(getattr(t, name)(), UNARY[name](a))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(BINARY)), shapes, st.data())
def test_binary_broadcasts(name, shape, data):
    dtype = data.draw(st.sampled_from(["float32", "float64", "int64", "uint8"]))
    other = [n if data.draw(st.booleans()) else 1 for n in shape]
    other = other[data.draw(st.integers(0, len(other))) :]
    a, t = pair(shape, dtype, data)
    b, u = pair(other, dtype, data)
    close(getattr(E, name)(t, u), BINARY[name](a, b))


@settings(max_examples=60, deadline=None)
@given(shapes, st.data())
def test_reductions(shape, data):
    a, t = pair(shape, "float64", data)
    close(t.sum(), a.sum())
    if shape:
        dim = data.draw(st.integers(-len(shape), len(shape) - 1))
        keep = data.draw(st.booleans())
        close(t.sum(dim, keepdim=keep), a.sum(axis=dim, keepdims=keep))
        if a.size:
            close(t.amax(dim, keepdim=keep), a.max(axis=dim, keepdims=keep))
            close(t.mean(dim), a.mean(axis=dim))
            close(t.cumsum(dim), a.cumsum(axis=dim))


index = st.one_of(
    st.integers(-3, 2),
    st.slices(3).filter(lambda s: s.step is None or s.step > 0),
    st.none(),
    st.just(Ellipsis),
    st.booleans(),
    st.lists(st.integers(-3, 2), min_size=2, max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(index, max_size=4).map(tuple))
def test_indexing_reads_and_writes_like_numpy(key):
    if sum(k is Ellipsis for k in key) > 1:
        return
    # With lists or bools beside them NumPy counts ints among the index arrays; PyTorch selects
    # first.
    if any(isinstance(k, (list, bool)) for k in key) and any(type(k) is int for k in key):
        return
    a = np.arange(27).reshape(3, 3, 3)
    try:
        want = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            E.arange(27).reshape(3, 3, 3)[key]
        return
    t = E.arange(27).reshape(3, 3, 3)
    got = t[key]
    assert list(got.shape) == list(want.shape) and got.tolist() == want.tolist()
    a[key] = -1
    t[key] = -1
    assert t.tolist() == a.tolist()


def test_indexing_beside_empty_dimensions():
    # Died of a division by zero.
    for shape in ((3, 0, 2), (3, 2, 0), (3, 0, 0)):
        t = E.zeros(shape)
        assert t[[0, 1]].shape == (2, *shape[1:])
        assert t[:, :, []].shape == (*shape[:2], 0)
        t[[0, 1]] = 5
        with pytest.raises(IndexError):
            t[[0, 9]]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.data())
def test_matmul(m, k, n, data):
    a, t = pair([m, k], "float64", data)
    b, u = pair([k, n], "float64", data)
    close(t @ u, a @ b)


def test_results_with_names():
    r = E.tensor([[1.0, 5.0], [7.0, 2.0]]).max(1)
    assert r.values.tolist() == [5, 7] and r.indices.tolist() == [1, 0] and r[0] is r.values
    v, i = r
    assert i.tolist() == [1, 0]


def test_out():
    out = E.empty(2)
    assert E.add(E.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    E.exp(E.zeros(3), out=out)
    assert out.tolist() == [1, 1, 1]
    with pytest.raises(TypeError):
        E.exp(E.zeros(1), out=3)


def test_in_place_returns_self():
    x = E.ones(2)
    assert x.add_(1) is x and x.tolist() == [2, 2]
    y = x
    y += 1
    assert y is x
    y *= 2
    assert x.tolist() == [6, 6]


@pytest.mark.parametrize(
    "call,text",
    [
        (lambda: E.tanh("a"), "tanh(): argument 'input' (position 1) must be Tensor, not str"),
        (lambda: E.tanh(), 'tanh() missing 1 required positional arguments: "input"'),
        (lambda: E.ones(1).tanh(1), "tanh() takes 0 positional arguments but 1 was given"),
        (lambda: E.tanh(E.ones(1), foo=1), "tanh() got an unexpected keyword argument 'foo'"),
        (
            lambda: E.tanh(E.ones(1), input=E.ones(1)),
            "tanh() got multiple values for argument 'input'",
        ),
        (
            lambda: E.ones(2).sum("a"),
            "sum() received an invalid combination of arguments - got (str)",
        ),
        (lambda: E.zeros(2, dtype=3), "zeros(): argument 'dtype' must be dtype, not int"),
        (lambda: E.nn.functional.linear(1, 2), "must be Tensor, not int"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)


def test_aliases_and_varargs():
    x = E.arange(6).reshape(2, 3)
    assert x.sum(axis=0).tolist() == x.sum(dim=0).tolist()
    assert x.view(3, 2).shape == x.view((3, 2)).shape == x.view(size=(3, 2)).shape
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == (3, 2)
    assert E.zeros(2, 3).shape == E.zeros((2, 3)).shape == E.zeros(E.Size([2, 3])).shape
    assert E.tanh(input=E.zeros(1)).item() == 0


def test_numbers_on_either_side():
    x = E.tensor([1.0, 2.0])
    assert (2 - x).tolist() == [1, 0] and (2 / x).tolist() == [2, 1] and (2**x).tolist() == [2, 4]
    assert (x == 1).tolist() == [True, False] and (1 < x).tolist() == [False, True]
    assert (x == "a") is False and (x != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        x @ 1


def test_every_op_has_documentation():
    for row in E._C._op_table():
        assert row["doc"].strip(), row["schema"]
    assert "tanh" in E.tanh.__doc__ and "tanh" in E.Tensor.tanh.__doc__
    for name in ("sum", "reshape", "matmul", "cat"):
        assert inspect.getdoc(getattr(E, name))


def test_sizes():
    s = E.zeros(2, 3).shape
    assert (
        isinstance(s, tuple)
        and s == (2, 3)
        and s.numel() == 6
        and repr(s) == "treadle.Size([2, 3])"
    )
    assert isinstance(s[:1], E.Size) and isinstance(s + (1,), E.Size) and isinstance(s * 2, E.Size)
    assert s[0] == 2 and hash(s) == hash((2, 3))


def test_python_protocols():
    x = E.arange(3)
    assert len(x) == 3 and [v.item() for v in x] == [0, 1, 2] and 2 in x and 5 not in x
    assert int(E.tensor(3.7)) == 3 and float(E.tensor(2)) == 2.0 and [10, 20][E.tensor(1)] == 20
    assert f"{E.tensor(1.5):.3f}" == "1.500" and bool(E.tensor(1))
    assert {x: 1}[x] == 1 and x in {x}
    assert list(reversed(x))[0].item() == 2
    with pytest.raises(TypeError):
        len(E.tensor(1))


def test_default_dtype():
    E.set_default_dtype(E.float64)
    assert E.tensor(1.0).dtype == E.float64 and E.zeros(1).dtype == E.float64
