"""Indexing, scattering, shapes and creation: against NumPy, and PyTorch's rules where they
differ."""

import numpy as np
import pytest
import treadle as E
from treadle.autograd import gradcheck

DTYPES = [E.bool, E.uint8, E.int32, E.int64, E.float16, E.float32, E.float64, E.complex64]


def same(got, want):
    assert tuple(got.shape) == np.shape(want), (tuple(got.shape), np.shape(want))
    assert np.array_equal(got.detach().resolve_conj().resolve_neg().numpy(), want)


def numbers(*shape, dtype=E.float64):
    return E.arange(1, int(np.prod(shape)) + 1).reshape(shape).to(dtype)


INDICES = [
    (0, slice(1, 3)),
    ([0, 2], slice(None), [1, 1]),
    (..., [0, 1, 1]),
    (None, [1, 0], ..., None),
    (np.array([[0], [2]]), np.array([0, 1])),
    (slice(None), np.array([True, False, True, True])),
    (True, [0]),
    ([], slice(None)),
    (range(2), range(2)),
    (slice(2, 0), 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", [E.float32, E.int16, E.bool, E.complex128], ids=str)
def test_get_and_set_follow_numpy(index, dtype):
    x = (numbers(3, 4, 2) % 7).to(dtype)
    a = x.numpy().copy()
    same(x[index], a[index])
    x[index] = 1
    a[index] = 1
    same(x, a)


def test_indices_of_every_integer_kind():
    x = numbers(3, 4)
    for dtype in (E.int32, E.int64):
        i = E.tensor([2, 0], dtype=dtype)
        same(x[i], x.numpy()[[2, 0]])
        same(x.index_select(0, i), x.numpy()[[2, 0]])
        same(E.gather(x, 0, i[None]), x.numpy()[[2, 0], [0, 1]][None])
    with pytest.warns(UserWarning, match="uint8"):
        same(x[E.tensor([1, 0, 1], dtype=E.uint8)], x.numpy()[[0, 2]])
    with pytest.raises(IndexError):
        x[E.tensor([1.0])]
    with pytest.raises(IndexError, match="dimension 1 with size 4"):
        x[0, 4]
    with pytest.raises(ValueError, match="step"):
        x[::-1]


FOLDS = {
    "sum": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", [*FOLDS, "mean"])
@pytest.mark.parametrize("dtype", [E.float32, E.int32, E.float16], ids=str)
def test_scatter_reduce(reduce, include_self, dtype):
    rng = np.random.default_rng(3)
    a = rng.integers(1, 5, (3, 4)).astype("float64")
    src = rng.integers(1, 5, (5, 4)).astype("float64")
    index = rng.integers(0, 3, (5, 4))
    want, count = a.copy(), np.full(a.shape, float(include_self))
    for i, j in np.ndindex(5, 4):
        k = index[i, j]
        fold = FOLDS.get(reduce, np.add)
        first = count[k, j] == 0
        want[k, j] = src[i, j] if first else fold(want[k, j], src[i, j])
        count[k, j] += 1
    if reduce == "mean":
        want = want / np.maximum(count, 1)
        want = np.floor(want) if dtype is E.int32 else want
    x, s, i = E.tensor(a).to(dtype), E.tensor(src).to(dtype), E.tensor(index)
    got = x.scatter_reduce(0, i, s, reduce, include_self=include_self)
    assert got.dtype is dtype
    np.testing.assert_allclose(got.to(E.float64).numpy(), want, rtol=1e-3)
    assert x.scatter_reduce_(0, i, s, reduce, include_self=include_self) is x
    assert E.equal(x, got)


def test_index_family_against_loops():
    x, i = numbers(4, 3), E.tensor([2, 0])
    s = numbers(2, 3) * 10
    a = x.numpy()
    want = a.copy()
    want[[2, 0]] += 2 * s.numpy()
    same(x.index_add(0, i, s, alpha=2), want)
    want = a.copy()
    want[[2, 0]] = s.numpy()
    same(x.index_copy(0, i, s), want)
    want[[2, 0]] = 5
    same(x.index_fill(0, i, 5), want)
    same(x.take(E.tensor([[0, -1]])), a.reshape(-1)[[[0, -1]]])
    want = a.T.copy()
    np.put(want, [1, 4], [7, 8])
    same(x.T.put(E.tensor([1, 4]), E.tensor([7.0, 8.0], dtype=E.float64)), want)
    mask = E.tensor([True, False, True])
    want = a.copy()
    want[:, [0, 2]] = np.arange(8).reshape(4, 2)
    same(x.masked_scatter(mask, E.arange(8.0, dtype=E.float64)), want)
    same(E.tensor(3).index_add(0, E.tensor([0, 0])[:1], E.tensor(4)), 7)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: x.scatter_reduce(0, E.tensor([[0, 1], [0, 0], [2, 1]]), s, "prod"),
        lambda x, s: x.scatter_reduce(0, E.tensor([[0, 1], [0, 0], [2, 1]]), s, "mean"),
        lambda x, s: x.scatter_reduce(0, E.tensor([[0, 1], [0, 0]]), s, "amax", include_self=False),
        lambda x, s: x.index_reduce(0, E.tensor([1, 1, 0]), s, "mean"),
        lambda x, s: x.index_add(0, E.tensor([1, 1, 0]), s, alpha=3),
        lambda x, s: x.index_copy(0, E.tensor([2, 1, 0]), s),
        lambda x, s: x.put(E.tensor([0, 0, 5]), s[0:2].reshape(-1)[:3], True),
        lambda x, s: x.masked_scatter(x > 0, s),
        lambda x, s: E.diagonal_scatter(x, s[0]) + x.diagonal().sum(),
        lambda x, s: x.take(E.tensor([0, 0, 3])) + s[0, 0],
        lambda x, s: x.unfold(0, 2, 1) * s[0, 0],
        lambda x, s: x.repeat_interleave(E.tensor([0, 2, 1]), 0) + s,
        lambda x, s: E.diag_embed(x)[0] + E.block_diag(x[:1, :1], s[:1, :1]),
    ],
)
def test_gradients(f):
    E.manual_seed(1)
    x = E.rand(3, 2, dtype=E.float64, requires_grad=True)
    s = E.rand(3, 2, dtype=E.float64, requires_grad=True)
    assert gradcheck(f, (x, s))


def test_an_expanded_leaf_has_the_trace_of_its_own():
    x = E.ones(1, dtype=E.float64, requires_grad=True)
    x.expand(3, 3).trace().backward()
    assert x.grad.item() == 3


# --- views


def test_lazy_conjugates_are_views():
    z = E.tensor([[1 + 2j, 3 - 1j]])
    c = z.conj()
    assert c.is_conj() and not z.is_conj() and c._base is z
    assert c.imag.is_neg() and not c.real.is_neg()
    for got, want in (
        (c, [[1 - 2j, 3 + 1j]]),
        (c.T, [[1 - 2j], [3 + 1j]]),
        (c[0, :1], [1 - 2j]),
        (c * 1, [[1 - 2j, 3 + 1j]]),
        (c.imag, [[-2, 1]]),
        (c.imag.abs(), [[2, 1]]),
        (z.mH, [[1 - 2j], [3 + 1j]]),
        (E.cat([z, c]), [[1 + 2j, 3 - 1j], [1 - 2j, 3 + 1j]]),
        (c.to(E.complex128), [[1 - 2j, 3 + 1j]]),
    ):
        assert got.resolve_conj().resolve_neg().tolist() == want
    c[0, 0] = 5j
    c.mul_(2)
    assert z.tolist() == [[-10j, 6 - 2j]]
    c.imag.zero_()
    assert z.tolist() == [[0, 6]]
    with pytest.raises(RuntimeError, match="conjugate bit"):
        c.numpy()


@pytest.mark.parametrize(
    ("write", "want"),
    [
        (lambda y: y.imag.mul_(3), 1 + 3j),
        (lambda y: y.conj().imag.mul_(3), 1 + 3j),
        (lambda y: E.view_as_real(y)[..., 0].zero_(), 0 + 1j),
        (lambda y: y.conj().mul_(1j), 1j * (1 + 1j)),  # y *= -1j
    ],
)
def test_gradients_through_views_of_another_dtype(write, want):
    x = E.ones(2, dtype=E.complex128, requires_grad=True)
    y = x * 1
    write(y)
    y.backward(E.tensor([1 + 1j, 1 + 1j], dtype=E.complex128))
    assert x.grad.tolist()[0] == want


def test_data_has_a_version_of_its_own():
    x = E.ones(3, requires_grad=True)
    y = x.exp()
    before = y._version
    y.data.zero_()
    assert y._version == before and y.tolist() == [0, 0, 0]
    y.sum().backward()  # PyTorch's, too, doesn't notice


def test_view_as_another_dtype():
    x = E.tensor([1.0, -2.0])
    assert x.view(E.int32).tolist() == [0x3F800000, -0x40000000]
    assert x.view(E.uint8).shape == (8,) and x.view(E.float64).shape == (1,)
    x.view(E.int32)[0] = 0
    assert x.tolist() == [0, -2]
    with pytest.raises(RuntimeError, match="must be divisible by 2"):
        E.ones(3).view(E.float64)
    assert not E.ones(2, requires_grad=True).view(E.int32).requires_grad


def test_memory_formats():
    x = E.ones(2, 3, 4, 5)
    y = x.contiguous(memory_format=E.channels_last)
    assert y.stride() == (60, 1, 15, 3) and y.is_contiguous(memory_format=E.channels_last)
    assert E.empty_like(y).stride() == y.stride() and y.clone().stride() == y.stride()
    assert (y + 1).stride() == y.stride()
    assert y.clone(memory_format=E.contiguous_format).stride() == x.stride()
    assert E.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    with pytest.raises(RuntimeError, match="required rank 4"):
        E.ones(2).contiguous(memory_format=E.channels_last)


def test_views_in_place():
    x = numbers(2, 3)
    assert x.t_() is x and x.shape == (3, 2)
    assert x.unsqueeze_(0).squeeze_().swapaxes_(0, 1).shape == (2, 3)
    y = (numbers(2, 3).requires_grad_() * 1).t_()
    assert y.grad_fn.name() == "TBackward0"
    assert E.ones(2).resize_(3, 2).shape == (3, 2)
    x, a = numbers(4), numbers(2, 2)
    assert x.set_(a).is_set_to(a)


# --- shapes and creation


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rearrangements_follow_numpy(dtype):
    x = (numbers(2, 3) % 5).to(dtype)
    a = x.numpy()
    for got, want in (
        (x.roll(1), np.roll(a, 1)),
        (x.roll((1, -1), (0, 1)), np.roll(a, (1, -1), (0, 1))),
        (x.rot90(), np.rot90(a)),
        (x.rot90(3, [1, 0]), np.rot90(a, 3, (1, 0))),
        (x.fliplr(), np.fliplr(a)),
        (x.flipud(), np.flipud(a)),
        (x.tile(2, 2), np.tile(a, (2, 2))),
        (x.diagflat(1), np.diagflat(a, 1)),
        (E.hstack([x, x]), np.hstack([a, a])),
        (E.dstack([x, x]), np.dstack([a, a])),
        (E.column_stack([x, x[:, 0]]), np.column_stack([a, a[:, 0]])),
        (x.moveaxis(0, 1), np.moveaxis(a, 0, 1)),
        (x.tril(-1), np.tril(a, -1)),
        (x.repeat_interleave(2, 1), np.repeat(a, 2, 1)),
        (x.argwhere(), np.argwhere(a)),
        (E.atleast_3d(x), np.atleast_3d(a)),
    ):
        same(got, want)
    for n, axis in ((2, 0), ([1], 1), (3, 1)):
        parts = x.tensor_split(n, axis)
        wanted = np.array_split(a, n, axis)
        assert len(parts) == len(wanted)
        for p, w in zip(parts, wanted):
            same(p, w)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_grids(indexing):
    x, y, z = E.arange(2), E.arange(3), E.arange(4)
    for got, want in zip(
        E.meshgrid(x, y, z, indexing=indexing),
        np.meshgrid(x.numpy(), y.numpy(), z.numpy(), indexing=indexing),
    ):
        same(got, want)
    assert E.cartesian_prod(x, y).shape == (6, 2)
    assert E.combinations(z, 2).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert E.combinations(x, 2, True).tolist() == [[0, 0], [0, 1], [1, 1]]


def test_ranges():
    np.testing.assert_allclose(E.logspace(0, 3, 4).numpy(), [1, 10, 100, 1000])
    same(E.logspace(0, 3, 4, 2, dtype=E.int64), [1, 2, 4, 8])
    same(E.linspace(E.tensor(1), 3, 3), np.float32([1, 2, 3]))
    same(E.linspace(0, 1j, 2), np.complex64([0, 1j]))
    for n in (-1, 0, 2):
        same(E.tril_indices(3, 4, n), np.stack(np.tril_indices(3, n, 4)))
        same(E.triu_indices(3, 4, n), np.stack(np.triu_indices(3, n, 4)))
    same(E.vander(E.tensor([1, 2, 3])), np.vander([1, 2, 3]))
    i = E.tensor([5, 0, 11])
    for got, want in zip(E.unravel_index(i, (3, 4)), np.unravel_index([5, 0, 11], (3, 4))):
        same(got, want)
    assert E.broadcast_shapes((2, 1), 3) == (2, 3)


def test_wrong_shape_is_told_before_wrong_dtype():
    x = E.arange(4)
    for values in ([], [1.0, 2.0, 3.0]):
        with pytest.raises(RuntimeError, match="shape mismatch"):
            x[x > -1] = E.tensor(values)
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[x > -1] = E.ones(4)


def test_what_is_refused():
    x = E.ones(2, 3)
    for error, call in (
        (RuntimeError, lambda: x.squeeze((0, 0))),
        (RuntimeError, lambda: E.gather(x, 0, E.tensor([[5]]))),
        (RuntimeError, lambda: E.gather(x, 0, E.tensor([[0]]), out=x)),
        (RuntimeError, lambda: E.nonzero(x, out=E.empty(0, dtype=E.int32))),
        (IndexError, lambda: x.take(E.tensor([6]))),
        (IndexError, lambda: x.index_select(0, E.tensor([-1]))),
        (IndexError, lambda: x.index_fill(0, E.tensor([2]), 1)),
        (RuntimeError, lambda: x.index_add(0, E.tensor([2]), x[:1])),
        (RuntimeError, lambda: x.expand(2, 2, 3).view(E.int8).add_(1)),
        (RuntimeError, lambda: x.unfold(0, 3, 1)),
        (RuntimeError, lambda: E.select_scatter(x, E.ones(2), 0, 0)),
        (RuntimeError, lambda: x.unflatten(1, (2, -1))),
        (RuntimeError, lambda: x.hsplit(2)),
        (RuntimeError, lambda: x.scatter_reduce(0, E.tensor([[0]]), x, "median")),
        (NotImplementedError, lambda: E.zeros(2, layout=E.sparse_coo)),
        (RuntimeError, lambda: E.full((2,), 1, requires_grad=True).resize_(3)),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (4, 3), (8, 3), (3, 3, 3), (5, 0), (6, 1)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap):
    expected = np.zeros(shape)
    np.fill_diagonal(expected, 5, wrap=wrap)
    for x in (E.zeros(shape), E.zeros(shape[::-1]).permute(*range(len(shape))[::-1])):
        assert x.fill_diagonal_(5, wrap) is x and np.array_equal(x.numpy(), expected)
    x = E.ones(shape, requires_grad=True)
    (x * 2).fill_diagonal_(5, wrap).sum().backward()
    assert np.array_equal(x.grad.numpy(), np.where(expected == 5, 0, 2))


def test_fill_diagonal_refuses():
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        E.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="equal length"):
        E.zeros(2, 3, 2).fill_diagonal_(1)
