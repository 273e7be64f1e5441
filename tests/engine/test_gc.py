"""The graph under Python's garbage collector: cycles through it are collected, what is used stays.

A test makes a cycle, drops it, and asks weak references whether it is gone after a collection."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest
import treadle as torch


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


@pytest.fixture(autouse=True)
def only_asked_for():
    """No collection but those of the test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def gone(*references):
    alive = [r for r in references if r() is not None]
    assert alive, "freed without the collector: the test shows nothing"
    gc.collect()
    return all(r() is None for r in references)


def grad_of(x, y):
    y.backward(torch.ones_like(y), create_graph=True)
    return weakref.ref(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.tanh(),  # saves its output, uses it twice
        lambda x: x * x,  # saves its input twice
        lambda x: (x @ x).exp(),  # closures over saved tensors
        lambda x: torch.stack([x[0] * x[1], x.sum(0)]),  # views and joins
        lambda x: x.softmax(1).log().pow(3),
    ],
)
def test_gradient_with_a_graph(function):
    def make():
        x = leaf(3, 3)
        return grad_of(x, function(x))

    assert gone(make())


def test_several_leaves_share_one_graph():
    def make():
        a, b, c = leaf(4), leaf(4), leaf(4)
        y = (a * b).tanh() * c + a / c
        y.sum().backward(create_graph=True)
        return [weakref.ref(t) for t in (a, b, c)]

    assert gone(*make())


def test_gradient_with_a_graph_of_a_module():
    def make():
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        loss = model(torch.randn(5, 4)).square().mean()
        loss.backward(create_graph=True)
        (sum(p.grad.square().sum() for p in model.parameters())).backward(create_graph=True)
        return [weakref.ref(p) for p in model.parameters()] + [weakref.ref(model)]

    assert gone(*make())


def test_tensor_keeps_its_result_as_attribute():
    def make():
        x = leaf(3)
        h = x
        for _ in range(50):
            h = (h * 2).sin()
        x.result = h.sum()
        return weakref.ref(x)

    assert gone(make())


def test_hook_that_knows_its_tensor():
    def make():
        x = leaf(3)
        y = x * 2
        y.register_hook(lambda g: print(x, y))
        out = y.sum()
        y.out = out
        return weakref.ref(x), weakref.ref(y)

    assert gone(*make())


def test_hook_of_a_leaf_that_knows_it():
    def make():
        x = leaf(3)
        x.register_hook(lambda g: x * g)
        return weakref.ref(x)

    assert gone(make())


def test_accumulated_hook_that_knows_its_leaf():
    def make():
        x = leaf(3)
        x.register_post_accumulate_grad_hook(lambda t: x.zero_())
        return weakref.ref(x)

    assert gone(make())


def test_function_that_keeps_its_output():
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.output = x * 2
            return ctx.output

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    def make():
        x = leaf(3)
        y = Keep.apply(x)
        x.keeps = y.exp()
        return weakref.ref(x), weakref.ref(y.grad_fn)

    assert gone(*make())


def test_view_and_base_know_each_other():
    def make():
        x = torch.randn(4)
        x.first = x[0]
        return weakref.ref(x)

    assert gone(make())


def test_in_place_history():
    def make():
        x = leaf(4)
        y = x * 1
        y[1:3].mul_(x[0])
        x.y = y
        return weakref.ref(x)

    assert gone(make())


# --- what is in use stays -------------------------------------------------------------------------


def test_graph_in_use_survives_collections():
    a, b = leaf(3), leaf(3)
    h = (a * b).tanh()
    u, v = h.exp(), h.sin()  # h's node is shared; drop its tensor
    want = torch.autograd.grad((u * v).sum(), [a, b], retain_graph=True)
    del h
    for _ in range(3):
        gc.collect()
        got = torch.autograd.grad((u * v).sum(), [a, b], retain_graph=True)
        assert all(torch.equal(x, y) for x, y in zip(got, want))
    assert (u + v).grad_fn is not None


def test_half_dropped_graph_keeps_what_the_rest_needs():
    def make():
        a, b = leaf(3), leaf(3)
        y = (a * b).tanh() + a
        y.sum().backward(create_graph=True)
        grad = a.grad
        want = torch.autograd.grad(grad.sum(), b, retain_graph=True)[0]
        a.me = a
        return b, grad, want, weakref.ref(a)

    b, grad, want, a = make()
    for _ in range(2):
        gc.collect()
        assert a() is not None  # the graph of `grad` leads to it
        assert torch.equal(torch.autograd.grad(grad.sum(), b, retain_graph=True)[0], want)
    b.grad = None
    del b, grad
    gc.collect()
    assert a() is None


def test_hook_survives_while_its_graph_does():
    fired = []

    def make():
        a = leaf(1)
        b = a.clone()
        node = b.grad_fn
        b.register_hook(lambda g: (fired.append(1), node)[0])
        return b.clone()

    out = make()
    out.backward(retain_graph=True)
    gc.collect()
    out.backward(retain_graph=True)
    assert fired == [1, 1]


def test_collection_inside_a_hook():
    x = leaf(3)
    y = x.tanh()
    y.register_hook(lambda g: [gc.collect(), None][1])
    z = (y * y).sum()
    z.backward(create_graph=True)
    first = x.grad.clone()
    x.grad = None
    z.backward(create_graph=True)
    assert torch.equal(x.grad, first)


def test_collections_while_other_threads_run_graphs():
    failures = []

    def work():
        try:
            for _ in range(30):
                x = leaf(64, 64)
                y = (x @ x).tanh().sum()
                y.backward(create_graph=True)
                again = torch.autograd.grad(x.grad.sum(), x)[0]
                if again.shape != x.shape:
                    failures.append(again.shape)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        gc.collect()
    for t in threads:
        t.join()
    assert not failures


def test_exposed_objects_stay_themselves():
    x = leaf(3)
    y = x.tanh()
    u, v = y * 2, y * 3
    del y
    gc.collect()  # the node of y is shared: Python gets to know it
    node = u.grad_fn.next_functions[0][0]
    assert node is v.grad_fn.next_functions[0][0]
    assert node.name() == "TanhBackward0"


def test_deep_chain_is_followed_and_freed_without_recursion():
    def make():
        x = leaf(1)
        y = x
        for _ in range(100_000):
            y = y + 1
        x.chain = y
        return weakref.ref(x)

    assert gone(make())


def test_memory_of_gradients_with_a_graph_comes_back():
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    def step():
        x = torch.rand(250_000, requires_grad=True)
        grad_of(x, x.tanh())

    step()
    gc.collect()
    start = resident()
    for _ in range(20):
        step()
        gc.collect()
    assert resident() - start < 10e6


def test_last_collection_of_the_interpreter():
    # It runs when Py_IsInitialized() says no, and hands nodes that several others hold to Python.
    script = """
import treadle as torch
from treadle.func import jvp, vjp
from treadle.nn.functional import grid_sample
torch.set_default_dtype(torch.float64)
x, g = torch.randn(2, 3, 4, 5), torch.rand(2, 3, 3, 2) - 0.5
f = lambda x, g: grid_sample(x, g, mode="bicubic", align_corners=False)
vx, vg = torch.randn_like(x), torch.randn_like(g)
out, pull = vjp(f, x, g)
gx, gg = pull(torch.ones_like(out))
_, moved = jvp(f, (x, g), (vx, vg))
_, moved = jvp(lambda z: f(x, z), (g,), (vg,))
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
