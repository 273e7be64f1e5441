"""What the tape keeps and hands out: layouts of .grad, saved tensors, views and inference mode,
names of nodes, checkpoints inside each other."""

import gc
import warnings

import pytest
import treadle as E
from treadle.autograd import Function, forward_ad, graph
from treadle.utils.checkpoint import checkpoint


def leaf(*shape):
    return E.randn(*shape, dtype=E.float64, requires_grad=True)


def test_grad_has_the_layout_of_its_leaf():
    x = E.randn(3, 4).t().requires_grad_()
    (x * E.ones(4, 3)).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 4)
    spread = E.empty_strided((2, 2), (4, 2)).fill_(1).requires_grad_()
    spread.sum().backward()
    assert spread.grad.stride() == (2, 1)
    y = leaf(2)
    (y * y).sum().backward(create_graph=True)
    assert type(y.grad.grad_fn).__name__ == y.grad.grad_fn.name() == "CopyBackwards"


def test_grad_takes_a_gradient_that_nobody_else_has():
    class Twice(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            Twice.address = grad.data_ptr()
            return grad, grad

    a, b = leaf(5), leaf(5)
    Twice.apply(a, b)[1:2].sum().backward()
    addresses = [a.grad.data_ptr(), b.grad.data_ptr()]
    assert Twice.address in addresses and addresses[0] != addresses[1]


def test_inputs_that_are_no_leaves_run_their_hooks():
    a = leaf(2)
    b = a * 1
    log = []
    b.grad_fn.register_prehook(lambda grads: log.append("node"))
    b.register_hook(lambda grad: log.append("tensor") or grad * 3)
    b.sum().backward(inputs=[b])
    assert log == ["tensor", "node"] and b.grad.tolist() == [3, 3] and a.grad is None


def test_retained_grad_follows_a_view_that_is_written():
    base = leaf(1).clone()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert view.grad.tolist() == other.grad.tolist() == [1]


def test_grad_of_what_is_no_leaf_warns():
    x = leaf(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_accumulation_hooks_return_nothing():
    x = leaf(1)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_hooks_that_backward_enters_end_with_it():
    stray = graph.saved_tensors_hooks(lambda x: x, lambda x: x)

    def unpack(x):
        stray.__enter__()
        return x

    x = leaf(2)
    with graph.saved_tensors_hooks(lambda x: x, unpack):
        y = x.sin().sum()
    y.backward()
    assert E._C._saved_tensors_hooks_depth() == 0


def test_packed_tensors_differentiate_twice():
    x = leaf(3)
    with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        y = x**3
    (g,) = E.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = E.autograd.grad(g.sum(), x)
    assert E.allclose(h, 6 * x)


def test_saved_tensor_that_was_detached():
    a = leaf(1).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        b.backward()
    a = leaf(1).clone()
    b = a.exp()  # keeps its output
    a.detach_()
    b.backward()


def test_writes_to_saved_tensors_are_undone_in_backward():
    with graph.allow_mutation_on_saved_tensors() as saved:
        a = leaf(2)
        b = a.clone()
        y = (b * b).sum()
        b.zero_()
        assert len(saved.cloned) == 1
        y.backward()
        assert E.equal(a.grad, 2 * a)
        y = (a * a).sum()
    with pytest.raises(AssertionError, match="outside of the"):
        y.backward()


def test_data_keeps_the_version_counter():
    x = E.zeros(2)
    view = x[:]
    x.data = E.ones(3)
    assert x._version == view._version == 0
    x.add_(1)
    assert x._version == view._version == 1
    with pytest.raises(RuntimeError, match="floating point or complex"):
        leaf(1).data = E.ones(1, dtype=E.int64)


@pytest.mark.parametrize("write", [lambda t: t.add_(2), lambda t: t.transpose_(0, 0)])
def test_views_made_in_inference_mode(write):
    a = leaf(2).clone()
    with E.inference_mode():
        view = a.view(2)
        assert view._is_view() and view.requires_grad and not view.is_inference()
    with pytest.raises(RuntimeError, match="created in inference mode and is being modified"):
        write(view)
    write(a)
    with pytest.raises(RuntimeError, match="its base or another view of its base"):
        view.grad_fn  # noqa: B018
    with E.inference_mode():
        c = E.ones(2, requires_grad=True)
    out = c.view(2)
    assert out.is_inference() and not out.requires_grad and not out._is_view() and out.is_leaf


def test_no_derivative():
    x = leaf(2)
    with pytest.raises(NotImplementedError, match="derivative for 'nextafter'"):
        E.nextafter(x, x).sum().backward()
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="use forward AD with"):
        dual = forward_ad.make_dual(x.detach().abs(), E.ones(2, dtype=E.float64))
        E.igamma(dual, dual)
    src = E.zeros(2, dtype=E.float64, requires_grad=True)
    out = E.scatter_reduce(leaf(1), 0, E.tensor([0, 0]), src, "prod")
    (g,) = E.autograd.grad(out.sum(), src, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        g.sum().backward()


def test_once_differentiable_keeps_its_none():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            ctx.factor = factor
            return x * factor + y

        @staticmethod
        @E.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * ctx.factor, None, grad

    x, y = leaf(2), leaf(2)
    seed = leaf(2)
    (g, h) = E.autograd.grad(Scale.apply(x, 2.0, y), (x, y), seed, create_graph=True)
    assert E.equal(g, 2 * seed) and E.equal(h, seed)
    assert type(g.grad_fn).__name__ == "Error"
    assert [n is None for n, _ in g.grad_fn.next_functions] == [False, True, False]
    with pytest.raises(RuntimeError, match="differentiate twice"):
        g.sum().backward()


def test_function_may_ask_for_none_where_nothing_is_differentiable():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            second = x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = False
            return x.clone(), second

        @staticmethod
        def backward(ctx, grad, nothing):
            assert nothing is None
            return grad

    Pair.apply(leaf(2))[0].sum().backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Pair()
    with pytest.raises(RuntimeError, match="'next_functions' is invalid"):
        made.next_functions  # noqa: B018


def test_tangents_are_laid_out_like_their_tensors():
    x, t = E.randn(5)[:4].detach(), E.randn(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        moved = forward_ad.unpack_dual(dual).tangent
        assert moved is not t and E.equal(moved, t)
        assert dual.as_strided((5,), (1,), 0).shape == (5,)
        plain = forward_ad.make_dual(x.clone(), t)
        assert forward_ad.unpack_dual(plain).tangent is t
        copy = (plain * 2).clone()
        copy.detach_()
        assert forward_ad.unpack_dual(copy * 2).tangent is None


@pytest.mark.parametrize("early_stop", [False, True])
def test_checkpoints_inside_checkpoints(early_stop):
    def inner(x):
        return x.sin().exp().sin()

    def kept(f):
        return lambda x: checkpoint(f, x, use_reentrant=False, early_stop=early_stop)

    def slope(f):
        def run(x):
            return E.autograd.grad(f(x).sum(), x, create_graph=True)[0]

        return run

    x = leaf(3)
    want = slope(slope(lambda t: inner(inner(t))))(x)
    both = kept(lambda t: kept(inner)(kept(inner)(t)))
    assert E.allclose(slope(slope(both))(x), want)
    assert E.allclose(slope(kept(slope(both)))(x), want)
    gc.collect()
