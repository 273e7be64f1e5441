"""func's transforms against each other: grad and vjp read the tape, jvp passes tangents on, vmap
runs a batch; whatever is nested must agree with a loop over plain calls."""

import pytest
import treadle as t
from treadle.autograd import forward_ad
from treadle.func import (
    debug_unwrap,
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    rearrange,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)
from treadle.func._rearrange import DimensionBindError


def x64(*shape):
    return t.rand(*shape, dtype=t.float64) + 0.5


# Functions of a (3, 4) matrix: elementwise ops, reductions, views, products, in-place writes.
FUNCTIONS = {
    "sin": lambda x: x.sin(),
    "pow": lambda x: x**2.5 / (1 + x),
    "sum": lambda x: x.sum(1) * x.mean(0).sum(),
    "softmax": lambda x: t.softmax(x, -1),
    "cumsum": lambda x: x.cumsum(0),
    "view": lambda x: x.t().reshape(2, 6)[:, 1:4] * 2,
    "matmul": lambda x: x @ x.t(),
    "cat": lambda x: t.cat([x, x * x], 1),
    "max": lambda x: x.max(1).values,
    "inplace": lambda x: x.clone().mul_(x).add_(1),
    "setitem": lambda x: _with_row(x),
    "gather": lambda x: x.gather(1, t.tensor([[0], [2], [1]])).exp(),
    "sort": lambda x: x.sort(1).values * x,
}


def _with_row(x):
    y = x.clone()
    y[1] = x[0] * x[2]
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_modes_agree(name):
    f = FUNCTIONS[name]
    x, v = x64(3, 4), x64(3, 4)
    reverse = jacrev(f)(x)
    assert t.allclose(reverse, jacfwd(f)(x))
    out, moved = jvp(f, (x,), (v,))
    assert t.allclose(out, f(x))
    assert t.allclose(moved, (reverse * v).sum((-2, -1)))
    assert t.allclose(linearize(f, x)[1](v), moved)
    u = x64(*out.shape)
    _, pull = vjp(f, x)
    assert t.allclose((pull(u)[0] * v).sum(), (u * moved).sum())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop(name):
    f = FUNCTIONS[name]
    batch = x64(5, 3, 4)
    expected = t.stack([f(x) for x in batch])
    assert t.allclose(vmap(f)(batch), expected)
    assert t.allclose(vmap(f, in_dims=1, chunk_size=2)(batch.movedim(0, 1)), expected)
    total = lambda x: f(x).sum()  # noqa: E731
    assert t.allclose(vmap(grad(total))(batch), t.stack([grad(total)(x) for x in batch]))
    whole = grad(lambda b: vmap(total)(b).sum())(batch)
    assert t.allclose(whole, vmap(grad(total))(batch))


def test_nesting():
    x = t.tensor(0.7, dtype=t.float64)
    assert grad(grad(t.sin))(x).item() == pytest.approx(-t.sin(x).item())
    # Perturbations of different levels don't mix.
    assert grad(lambda a: grad(lambda b: a * b)(t.ones_like(a)) * a)(x).item() == pytest.approx(1.4)
    y = x64(3)
    assert t.allclose(hessian(lambda a: (a**3).sum())(y), t.diag(6 * y))
    assert t.allclose(jvp(grad(lambda a: (a**3).sum()), (y,), (t.ones_like(y),))[1], 6 * y)
    y.requires_grad_()
    grad(lambda a: (a**3).sum())(y).sum().backward()
    assert t.allclose(y.grad, 6 * y)


def test_results_have_no_history_of_their_own():
    x = x64(3)
    assert not grad(lambda a: a.sin().sum())(x).requires_grad
    assert not hessian(lambda a: a.sin().sum())(x).requires_grad
    assert not jvp(t.sin, (x,), (x,))[1].requires_grad


def test_vmap_refuses_looks_at_values():
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda x: x if x > 0 else -x)(t.ones(2))
    with pytest.raises(RuntimeError, match=r"\.item\(\)"):
        vmap(lambda x: x.item())(t.ones(2))
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda x: x + t.rand(()))(t.ones(2))
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(lambda: None)()


def test_dual_numbers():
    x, v = x64(3), x64(3)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, v)
        assert forward_ad.unpack_dual(d).tangent is v
        assert t.allclose(forward_ad.unpack_dual(d * d).tangent, 2 * x * v)
        d.mul_(2)
        assert forward_ad.unpack_dual(d.detach() * 1).tangent is None
        with t.no_grad():
            assert forward_ad.unpack_dual(d * 3).tangent is not None
    assert forward_ad.unpack_dual(d).tangent is None


def test_modules_as_functions():
    models = [t.nn.Linear(3, 2) for _ in range(4)]
    params, buffers = stack_module_state(models)
    x = t.rand(5, 3)
    out = vmap(lambda p: functional_call(models[0], p, (x,)))(params)
    assert t.allclose(out, t.stack([m(x) for m in models]), 1e-5, 1e-6)


def test_functions_of_the_user():
    class Cube(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

        @staticmethod
        def jvp(ctx, v):
            (x,) = ctx.saved_tensors
            return 3 * x * x * v

    x = x64(4)
    assert t.allclose(grad(lambda a: Cube.apply(a).sum())(x), 3 * x * x)
    assert t.allclose(jvp(Cube.apply, (x,), (t.ones_like(x),))[1], 3 * x * x)
    assert t.allclose(vmap(Cube.apply)(x), x**3)
    assert t.allclose(vmap(grad(Cube.apply))(x), 3 * x * x)


def test_an_operator_with_kernels_for_the_transforms():
    from treadle._functorch.utils import enable_single_level_autograd_function
    from treadle._ops import DispatchKey, HigherOrderOperator
    from treadle.func import _interpreter as inside

    class Scale(HigherOrderOperator):
        def __init__(self):
            super().__init__("scale")

    scale = Scale()

    @scale.py_impl(inside.TransformType.Vmap)
    def _(interpreter, x):
        with interpreter.lower():
            made = scale(inside.get_unwrapped(x))
        return inside._add_batch_dim(made, inside.maybe_get_bdim(x), interpreter.level())

    @scale.py_impl(inside.TransformType.Grad)
    def _(interpreter, x):
        class Node(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                below = inside._unwrap_for_grad(x, interpreter.level())
                with interpreter.lower():
                    return inside._wrap_for_grad(scale(below), interpreter.level())

            @staticmethod
            def backward(ctx, g):
                return g * 30 * ctx.saved_tensors[0] ** 2  # ten times too much, to be seen

        with enable_single_level_autograd_function():
            return Node.apply(x)

    @scale.py_impl(DispatchKey.CPU)
    def _(x):
        return x**3

    x = t.tensor([1.0, 2.0])
    assert t.equal(scale(x), x**3) and t.equal(vmap(scale)(x), x**3)
    assert t.equal(vmap(grad(scale))(x), 30 * x**2)
    assert t.equal(grad(lambda x: vmap(scale)(x).sum())(x), 30 * x**2)
    assert t.equal(vmap(grad(grad(scale)))(x), 60 * x)
    with pytest.raises(NotImplementedError, match="Jvp"):
        jvp(scale, (x,), (x,))


def test_what_a_transformed_function_must_not_do():
    x = t.ones(3)
    for transform in (vmap, grad, lambda f: lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(RuntimeError, match=r"Tensor.requires_grad_\(\)"):
            transform(lambda x: x.requires_grad_().sum())(x)
    with pytest.raises(RuntimeError, match=r"Tensor.retain_grad\(\)"):
        grad(lambda x: x.sin().retain_grad())(x)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda x: x.nonzero())(t.ones(2, 3))
    hooks = t.autograd.graph.save_on_cpu
    with pytest.raises(RuntimeError, match="saved tensor hooks"), hooks():
        vjp(t.sin, x)
    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        with hooks():
            grad(lambda x: x.sin().sum())(x)
    with pytest.raises(RuntimeError, match="non-empty output"):
        vjp(lambda x: None, x)
    assert x.requires_grad_().requires_grad  # outside again


def test_tensors_inside_transforms_print_their_levels():
    seen = []

    def f(x):
        seen.append(repr(x))
        return x.sum()

    vmap(grad(f))(t.ones(2, 3))
    text = "".join(seen.pop().split())
    assert text == (
        "GradTrackingTensor(lvl=2,value=BatchedTensor(lvl=1,bdim=0,"
        "value=tensor([[1.,1.,1.],[1.,1.,1.]])))"
    )
    grad(lambda x: grad(f)(x).sum())(t.ones(1))
    assert seen.pop().count("GradTrackingTensor") == 2
    other = t.ones(1)
    vjp(lambda x: (f(other), x.sum())[1], t.ones(1))
    assert seen.pop() == "tensor([1.])"


def test_a_function_of_nested_and_returned_inputs():
    class Pair(t.autograd.Function):
        @staticmethod
        def forward(x, ys):
            return x + ys[0] + ys[1]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, ys):
            assert in_dims == (0, [0, None])
            return x + ys[0] + ys[1], 0

    x = t.arange(3.0)
    assert t.equal(vmap(lambda x: Pair.apply(x, [x, t.ones(())]))(x), 2 * x + 1)

    class Same(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g

    for call in (Same.apply, grad(lambda x: Same.apply(x.clone()).sum())):
        with pytest.raises(RuntimeError, match="A input that has been returned as-is"):
            call(x)


def test_in_place_ops_of_views_in_forward_mode_below_vmap():
    def f(x, y):
        x = x.clone()
        before, row = x[1], x[0]
        row.copy_(y)
        x.mul_(y)
        return x, before, row

    x, y, v = t.randn(4, 2, 3), t.randn(4, 3), t.randn(4, 3)
    push = vmap(lambda x, y, v: jvp(lambda y: f(x, y), (y,), (v,))[1])(x, y, v)
    for i in range(4):
        whole, before, row = (p[i] for p in push)
        assert t.allclose(row, 2 * y[i] * v[i]) and t.allclose(before, x[i, 1] * v[i])
        assert t.equal(whole, t.stack([row, before]))
    jac = jacfwd(lambda x, y: y.copy_(x))(t.ones(2), t.zeros(2))
    assert t.equal(jac, t.eye(2))
    squeezed = vmap(lambda x: x.squeeze_(0).t_() * 2)(t.ones(3, 1, 2, 4))
    assert squeezed.shape == (3, 4, 2)


def test_auxiliary_results_of_nested_jacobians():
    def f(x):
        return x.sin(), x * 2

    jac, aux = vmap(jacfwd(jacrev(f, has_aux=True), has_aux=True))(t.ones(3, 2))
    assert jac.shape == (3, 2, 2, 2) and t.equal(aux, t.full((3, 2), 2.0))


def test_nearest_points_have_no_tangent_and_layouts_count_dimensions():
    sample = t.nn.functional.grid_sample
    x, at = t.randn(1, 2, 3, 4), t.zeros(1, 2, 2, 2)
    moved = jvp(lambda at: sample(x, at, mode="nearest", align_corners=True), (at,), (at + 1,))[1]
    assert not moved.any()
    whole = t.randn(2, 1, 2, 3, 4)
    assert t.equal(vmap(lambda x: x.to(memory_format=t.channels_last))(whole), whole)
    rows = t.randn(3, 4)
    made = vmap(lambda x, y: t.as_strided_scatter(x, y, (2,), (2,)))(rows, t.zeros(3, 2))
    assert t.equal(made, rows * t.tensor([0.0, 1, 0, 1]))


@pytest.mark.parametrize("outer", ["same", "different"])
@pytest.mark.parametrize("inner", ["same", "different"])
@pytest.mark.parametrize("draw", [lambda x: t.rand(2), t.rand_like], ids=["rand", "rand_like"])
def test_each_vmap_has_its_own_randomness(outer, inner, draw):
    both = vmap(vmap(draw, randomness=inner), randomness=outer)(t.ones(3, 4, 2))
    want = 2 * (3 if outer == "different" else 1) * (4 if inner == "different" else 1)
    assert both.shape == (3, 4, 2) and both.unique().numel() == want
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(vmap(draw, randomness=inner))(t.ones(3, 4, 2))


def test_vmap_over_an_empty_batch():
    x = t.ones(0, 3)
    assert vmap(lambda x: x.sin().sum())(x).shape == (0,)
    assert vmap(lambda x: t.linalg.norm(x.outer(x)))(x).shape == (0,)
    assert vmap(grad(lambda x: (x**2).sum()))(x).shape == (0, 3)
    assert vmap(lambda x: (x.flip(0), x.argsort()), out_dims=(1, 0))(x)[0].shape == (3, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: vmap(t.sin, in_dims=(None,))(x), ValueError, "at least one Tensor to vmap over"),
        (lambda x: vmap(t.sin, in_dims=([0],))(x), ValueError, "in_dims is not compatible"),
        (lambda x: vmap(t.sin, out_dims="a")(x), ValueError, "must be an int, None or a python"),
        (lambda x: vmap(lambda x: x[x > 0])(x), RuntimeError, "indexing with a boolean mask"),
        (
            lambda x: vmap(
                lambda x: t.nn.functional.batch_norm(
                    x.expand(2, 3), t.zeros(3), t.ones(3), training=True
                )
            )(x),
            RuntimeError,
            "Batch norm got a batched tensor as input",
        ),
        (lambda x: vmap(t.nn.functional.one_hot)(x.long()), RuntimeError, "explicit positive"),
        (lambda x: vmap(lambda x: x.data_ptr())(x), RuntimeError, "Cannot access data pointer"),
        (lambda x: vmap(lambda x: x.sum(3))(x), IndexError, r"expected to be in range of \[-1, 0"),
        (lambda x: grad(t.sin)(x), RuntimeError, r"return a scalar Tensor, got tensor with 2 dims"),
        (lambda x: grad(lambda x: 3)(x), RuntimeError, r"to return a Tensor, got <class 'int'>"),
        (lambda x: grad(t.sum)(3), ValueError, "Thing passed to transform API must be Tensor"),
        (lambda x: grad(t.sum)(x.long()), RuntimeError, "only Tensors of floating point dtype"),
        (lambda x: vjp(t.argmax, x), RuntimeError, "outputs of f must be floating-point"),
        (lambda x: vjp(t.sin, x)[1]((x,)), RuntimeError, r"cotangents: \(\*,\), primal output: \*"),
        (lambda x: jvp(t.sin, (3,), (x,)), RuntimeError, "primals to only contain Tensors, got"),
        (lambda x: linearize(t.sin, x)[1](x[0]), RuntimeError, "tangent:0 with shape"),
    ],
)
def test_errors_in_pytorchs_words(call, error, text):
    with pytest.raises(error, match=text):
        call(t.ones(2, 3))


@pytest.mark.parametrize(
    ("pattern", "lengths", "want"),
    [
        ("a b c -> c (a b)", {}, lambda x: x.permute(2, 0, 1).reshape(4, 6)),
        ("a b (c d) -> a d c b", {"c": 2}, lambda x: x.reshape(2, 3, 2, 2).permute(0, 3, 2, 1)),
        ("a b c -> a 1 (c b)", {}, lambda x: x.permute(0, 2, 1).reshape(2, 1, 12)),
        ("... c -> c ...", {}, lambda x: x.permute(2, 0, 1)),
        ("a ... -> (... a)", {}, lambda x: x.permute(1, 2, 0).reshape(-1)),
        ("... -> (...)", {}, lambda x: x.reshape(-1)),
    ],
)  # fmt: skip
def test_rearrange(pattern, lengths, want):
    x = t.arange(24.0).reshape(2, 3, 4)
    assert t.equal(rearrange(x, pattern, **lengths), want(x))
    batch = t.stack([x, -x])
    made = vmap(lambda x: rearrange(x, pattern, **lengths))(batch)
    assert t.equal(made[1], want(-x))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a b c", "single '->'"),
        ("a b -> b a", "must be equal to the number of dimensions"),
        ("a b c -> a b", "only on one side"),
        ("a a b -> a b", "duplicate dimension 'a'"),
        ("a b c -> a (b (c))", "one-level"),
        ("a b c -> a (b c", "Imbalanced parentheses"),
        ("a b (c d) -> a b c d", "two dimensions at once"),
        ("(a ...) c -> a ... c", "left side is not allowed"),
        ("a b _c -> a b _c", "Invalid axis identifier"),
    ],
)
def test_rearrange_refuses(pattern, text):
    with pytest.raises((ValueError, DimensionBindError), match=text):
        rearrange(t.ones(2, 3, 4), pattern)


def test_batch_norm_below_vmap_and_looking_through_transforms():
    net = t.nn.Sequential(t.nn.BatchNorm1d(3), t.nn.Flatten())
    assert replace_all_batch_norm_modules_(net) is net and not list(net.buffers())
    params = dict(net.named_parameters())
    x = t.randn(2, 4, 3)
    grads = vmap(grad(lambda p, x: functional_call(net, p, x).square().sum()), in_dims=(None, 0))(
        params, x
    )
    assert grads["0.weight"].shape == (2, 3)
    seen = []

    def look(x):
        seen.extend((debug_unwrap(x), debug_unwrap(x, recurse=False)))
        return x.sum()

    vmap(grad(look))(x)
    assert seen[0].shape == (2, 4, 3) and not seen[0].requires_grad and seen[1].shape == (4, 3)
