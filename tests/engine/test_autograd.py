"""The tape from Python: modes, hooks, in-place rules, custom functions, checks, memory."""

import gc
import weakref

import pytest
import treadle as E
from treadle.autograd import Function, gradcheck, gradgradcheck


def leaf(*shape):
    return E.randn(*shape, dtype=E.float64, requires_grad=True)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.tanh(),
        lambda x: (x * x).exp().log(),
        lambda x: x.sigmoid() * x,
        lambda x: x @ x.t(),
        lambda x: x.softmax(1),
        lambda x: x.log_softmax(0),
        lambda x: x.sum(1, keepdim=True) / x.std(),
        lambda x: x[:, 1:].reshape(-1) * 2,
        lambda x: E.cat([x, x.t().reshape(3, 4)], 0),
        lambda x: x.relu().sum(0),
        lambda x: E.where(x > 0, x, x * 0.1),
        lambda x: x.pow(3),
        lambda x: x.gather(1, E.tensor([[0, 2], [1, 1], [3, 0]])),
        lambda x: x[E.tensor([2, 0, 0])],
        lambda x: E.nn.functional.layer_norm(x, (4,)),
        lambda x: E.nn.functional.gelu(x),
        lambda x: E.nn.functional.cross_entropy(x, E.tensor([0, 3, 1])),
    ],
)
def test_gradcheck(fn):
    x = leaf(3, 4)
    assert gradcheck(fn, (x,))
    assert gradgradcheck(fn, (x,))


def test_gradcheck_finds_a_wrong_gradient():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = leaf(3)
    with pytest.raises(E.autograd.GradcheckError):
        gradcheck(Wrong.apply, (x,))
    assert gradcheck(Wrong.apply, (x,), raise_exception=False) is False


def test_accumulates_and_zeroes():
    x = E.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6, 6]
    x.grad = None
    assert x.grad is None


def test_modes_nest_and_decorate():
    x = E.ones(1, requires_grad=True)
    with E.no_grad():
        assert not (x * 2).requires_grad
        with E.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad

    @E.no_grad()
    def f(t):
        return t * 2

    @E.no_grad
    def g(t):
        return t * 2

    assert not f(x).requires_grad and not g(x).requires_grad and (x * 2).requires_grad
    with E.set_grad_enabled(False):
        assert not E.is_grad_enabled()
    assert E.is_grad_enabled()


def test_mode_of_a_generator_is_its_own():
    @E.no_grad()
    def numbers():
        for _ in range(2):
            yield E.is_grad_enabled()

    for inside in numbers():
        assert not inside and E.is_grad_enabled()


def test_identity_and_attributes_survive_the_tape():
    x = E.ones(2, requires_grad=True)
    x.name_of_mine = "kept"
    y = x * x
    assert y.grad_fn.next_functions[0][0].variable is x
    del y
    gc.collect()
    assert x.name_of_mine == "kept"
    (x * 1).sum().backward()
    assert x.grad is x.grad


def test_hooks():
    x = E.ones(2, requires_grad=True)
    seen = []
    y = x * 2
    h = y.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert seen == [[1, 1]] and x.grad.tolist() == [20, 20]
    h.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_post_accumulate_hook():
    x = E.ones(2, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2).sum().backward()
    assert seen == [(True, [2, 2])]


def test_error_in_a_hook_comes_out():
    x = E.ones(2, requires_grad=True)

    def bad(g):
        raise KeyError("mine")

    x.register_hook(bad)
    with pytest.raises(KeyError, match="mine"):
        (x * 2).sum().backward()


class Cube(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3 * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x * ctx.factor, None


def test_function():
    x = E.tensor([1.0, 2.0], requires_grad=True)
    y = Cube.apply(x, 2.0)
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [6, 24]
    assert gradcheck(lambda t: Cube.apply(t, 2.0), (leaf(3),))
    assert gradgradcheck(lambda t: Cube.apply(t, 2.0), (leaf(3),))


def test_function_without_grad():
    assert not Cube.apply(E.ones(1), 1.0).requires_grad
    with E.no_grad():
        assert not Cube.apply(E.ones(1, requires_grad=True), 1.0).requires_grad


def test_function_wrong_number_of_gradients():
    class Bad(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g

    x = E.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Bad.apply(x, x).backward()


def test_function_mark_dirty_and_non_differentiable():
    class Inc(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = E.ones(1, requires_grad=True)
    y = x * 1
    z = Inc.apply(y)
    assert z is y
    z.backward()
    assert x.grad.item() == 5

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            i = (x > 0).to(E.float32)
            ctx.mark_non_differentiable(i)
            return x * 2, i

        @staticmethod
        def backward(ctx, g, gi):
            return g * 2

    a, b = Both.apply(x)
    assert a.requires_grad and not b.requires_grad


def test_saved_tensor_changed_in_place():
    x = E.ones(2, requires_grad=True)
    y = x * 1
    z = Cube.apply(y, 1.0)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("keep", ["saved", "attribute"])
def test_function_that_keeps_its_output_is_freed(keep):
    refs = []

    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            refs.append(weakref.ref(ctx))
            y = x.clone()
            if keep == "saved":
                ctx.save_for_backward(y)
            else:
                ctx.y = y
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    y = Keep.apply(E.rand(8, requires_grad=True))
    del y
    gc.collect()
    assert refs[0]() is None


def test_cycle_through_a_hook_is_collected():
    class Big:
        pass

    big = Big()
    ref = weakref.ref(big)
    x = E.ones(1, requires_grad=True)
    x.register_hook(lambda g, x=x, big=big: None)
    del x, big
    gc.collect()
    assert ref() is None


def test_deep_graph_is_freed_without_recursion():
    x = E.ones(1, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_grad_arguments():
    x, unused = E.ones(2, requires_grad=True), E.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with pytest.raises(RuntimeError):
        E.autograd.grad(y, (x, unused), retain_graph=True)
    g, u = E.autograd.grad(y, (x, unused), retain_graph=True, allow_unused=True)
    assert g.tolist() == [2, 2] and u is None
    g, u = E.autograd.grad(y, (x, unused), materialize_grads=True)
    assert u.tolist() == [0, 0]
    assert x.grad is None


def test_backward_with_inputs_only():
    a, b = E.ones(1, requires_grad=True), E.ones(1, requires_grad=True)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 1 and b.grad is None


def test_inference_mode():
    x = E.ones(1, requires_grad=True)
    with E.inference_mode():
        y = x * 2
    assert not y.requires_grad


# --- views on the tape, and nodes


class Narrow(Function):
    @staticmethod
    def forward(ctx, x, several):
        part = x.narrow(0, 0, 2)
        return (part, part + 1) if several else part

    @staticmethod
    def backward(ctx, *grads):
        return sum(E.cat([g, E.zeros(2, dtype=g.dtype)]) for g in grads), None


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda x: x.unbind()[1], "Output 1 of UnbindBackward0 is a view .* multiple views"),
        (lambda x: x.split(2)[1], "Output 1 of SplitBackward0 is a view .* multiple views"),
        (lambda x: Narrow.apply(x, False), "Output 0 of NarrowBackward is a view .* custom Func"),
        (lambda x: Narrow.apply(x, True)[0], "Output 0 of NarrowBackward is a view .* multiple"),
        (lambda x: E.no_grad()(lambda: x[:1])(), "A view was created in no_grad mode and is being"),
    ],
)
def test_views_that_cannot_be_written(view, message):
    with pytest.raises(RuntimeError, match=message):
        view(leaf(4).clone()).mul_(2)
    # It is the op that decides, not the view.
    with pytest.raises(RuntimeError, match=message.split(" .* ")[-1].replace("A view was", "")):
        view(leaf(4).clone()).copy_(leaf(1))


def test_a_view_without_history_whose_base_changed():
    x = leaf(3)
    with E.no_grad():
        part = x[:1]
        part.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been mod"):
        part * 2
    assert "grad_fn=<Invalid>" in repr(part)


def test_views_of_two_transforms_say_so():
    x = E.zeros(2)
    with E.no_grad():
        y = x.view(2)
    z = y.requires_grad_().view(2)
    with pytest.raises(RuntimeError, match="a view of a view which was created in no_grad mode"):
        z /= 2


@pytest.mark.parametrize(
    "cut", [lambda x: x.split([1, 3]), lambda x: x.unbind(), lambda x: x.chunk(2)]
)
def test_parts_are_outputs_of_one_node(cut):
    x = leaf(4, 2)
    parts = cut(x)
    assert all(p.grad_fn is parts[0].grad_fn and p.output_nr == i for i, p in enumerate(parts))
    arrived = []
    parts[1].register_hook(arrived.append)
    parts[0].sum().backward()
    assert arrived == [None] and x.grad.sum().item() == parts[0].numel()
    assert gradcheck(lambda x: cut(x)[-1], (x,)) and gradgradcheck(lambda x: cut(x)[0] ** 2, (x,))


def test_nodes_that_saved_nothing_run_again():
    x = leaf(3)
    y = x.clone().view(3, 1).sum()
    y.backward()
    y.backward()
    assert (x.grad == 2).all()
    z = x[E.tensor([0, 0])].sum()
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


def test_functions_run_although_no_gradient_arrived():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(g)
            return g

    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(2)
    Nothing.apply(Two.apply(x)).sum().backward()
    assert len(seen) == 1 and (seen[0] == 0).all() and (x.grad == 0).all()


def test_leaves_are_finished_as_soon_as_they_can_be():
    order = []
    a, b = leaf(2), leaf(2)
    early = (a * 2).sin()
    late = early * b
    early.register_hook(lambda g: order.append("early"))
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    late.sum().backward()
    assert order == ["b", "early", "a"]


def test_a_node_can_be_called():
    x = E.tensor([2.0], requires_grad=True)
    node = x.square().grad_fn
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(x, x)
    assert node(E.ones(1)).item() == 4


def test_saved_tensors_hooks_keep_the_tape():
    with E.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        x = leaf(3)
        (g,) = E.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    assert E.allclose(x.grad, 6 * x)
    kept = E.ones(3)
    with E.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = leaf(3) * kept
    assert y.grad_fn._saved_other is kept


def test_what_mark_dirty_takes():
    class Add(Function):
        @staticmethod
        def forward(ctx, x, wrong, several):
            out = x + 1 if wrong else x.add_(1)
            ctx.mark_dirty(out)
            return (out, out * 2) if several else out

        @staticmethod
        def backward(ctx, *grads):
            return grads[0], None, None

    with pytest.warns(UserWarning, match="Only input Tensors should be given to ctx.mark_dirty"):
        Add.apply(leaf(2).clone(), True, False)
    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view"):
        Add.apply(leaf(2).clone().view(2), False, True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        Add.apply(leaf(2), False, False)


def test_an_edge_for_a_tensor():
    x = leaf(2).clone()
    y = leaf(2).clone()
    edge, other = map(E.autograd.graph.get_gradient_edge, (x, y))
    out = x.clone()
    assert (E.autograd.grad(out.sum(), edge)[0] == 1).all()
    E.autograd.grad(out.sum(), (edge, y), allow_unused=True, materialize_grads=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        E.autograd.grad(out.sum(), (x, other), allow_unused=True, materialize_grads=True)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        E.autograd.grad(edge, (x,), E.ones(3))


def test_a_hook_can_be_removed_after_its_tensor_is_gone():
    x, seen = leaf(2), []
    y = x * 2
    handle = y.register_hook(seen.append)
    z = y.sum()
    del y
    handle.remove()
    z.backward()
    assert not seen


def test_warnings_come_again_if_asked_for():
    x = leaf(2)
    E.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="create_graph=True"):
                (x * x).sum().backward(create_graph=True)
    finally:
        E.set_warn_always(False)
        x.grad = None


# --- forward mode of Functions, and gradcheck of it


def moving(forward, jvp):
    """A Function of one tensor."""
    return type(
        "Moving",
        (Function,),
        {"forward": staticmethod(forward), "jvp": staticmethod(jvp), "backward": None},
    )


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("forward", "jvp", "message"),
    [
        (lambda c, x: x[:2], lambda c, t: t[:2].clone(), "is not returning a view"),
        (lambda c, x: x[:2], lambda c, t: t[:2].clone()[:], "a view of the given grad input"),
        (lambda c, x: x, lambda c, t: t, "is not returning a view"),
        (written, lambda c, t: t * 2, "not modifying the forward mode gradients inplace"),
        (written, lambda c, t: t, "not modifying the forward mode gradients inplace"),
        (lambda c, x: x.round().int(), lambda c, t: t, "You should return None at that position"),
        (lambda c, x: x * 2, lambda c, t: 3, "expected Variable or None"),
        (lambda c, x: x * 2, lambda c, t: (t, t), "expected 1 but got 2"),
    ],
)
def test_what_jvp_may_return(forward, jvp, message):
    fw = E.autograd.forward_ad
    with fw.dual_level(), pytest.raises(RuntimeError, match=message):
        moving(forward, jvp).apply(fw.make_dual(E.ones(3), E.ones(3)))


def test_jvp_sees_what_was_saved_for_forward():
    fw = E.autograd.forward_ad

    class Double(Function):
        @staticmethod
        def forward(ctx, x, kept):
            ctx.save_for_backward(x)
            ctx.save_for_forward(kept)
            return x * 2

        @staticmethod
        def jvp(ctx, t, other):
            assert other is None and len(ctx.saved_tensors) == 1
            return t * ctx.saved_tensors[0]

        @staticmethod
        def vjp(ctx, g):
            assert len(ctx.saved_tensors) == 1
            return g * 2, None

    x = leaf(3)
    with fw.dual_level():
        y = Double.apply(fw.make_dual(x, E.ones(3, dtype=E.float64)), E.tensor(2))
        assert (fw.unpack_dual(y).tangent == 2).all()
        y.sum().backward()
    assert (x.grad == 2).all()
    with fw.dual_level():  # view_as() asks its argument for the shape alone
        d = fw.make_dual(E.ones(2), E.ones(2))
        assert fw.unpack_dual(d.view_as(d)).tangent._is_view()


def test_gradcheck_of_forward_mode():
    fw, count = E.autograd.forward_ad, [0]

    class Copy(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            count[0] += 1
            return x, y

    def wrong(x, y):
        if fw._current_level >= 0:
            p, t = fw.unpack_dual(y)
            y = fw.make_dual(p, t * 1.1)
        return x + y, y

    x, y = leaf(2), leaf(2)
    options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": True}
    assert gradcheck(Copy.apply, (x, y), check_batched_forward_grad=True, **options)
    assert count[0] == 12  # once, then with zeros or nothing for each input, a batch and a loop
    with pytest.raises(RuntimeError, match="forward mode mismatch for output 0 with .* input 1"):
        gradcheck(wrong, (x, y), **options)
    draws = moving(lambda c, x: x * 2, lambda c, t: t * 2 + E.randn_like(t) * 0)
    with pytest.raises(RuntimeError, match="calling random operations inside of vmap"):
        gradcheck(draws.apply, x, check_batched_forward_grad=True, **options)
