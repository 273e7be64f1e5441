"""Arguments, objects and threads that mean harm: no call may crash, hang or touch foreign memory.

One test for each kind of fault that was found. What could end the process runs in a child.
"""

import subprocess
import sys

import pytest
import treadle as E


def survives(code, seconds=60):
    """Runs `code` in a child with treadle as E; fails if it dies of a signal or hangs."""
    run = subprocess.run(
        [sys.executable, "-c", "import treadle as E\n" + code],
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert run.returncode == 0, f"ended with {run.returncode}: {run.stderr[-800:]}"


# --- sizes that overflow


@pytest.mark.parametrize(
    "call",
    [
        lambda: E.ones(2, 3).split([2**63 - 1, 2**63 - 1, 4]),  # the sum wraps to 2
        lambda: E.ones(1).expand(2**62, 2**62),
        lambda: E.ones(1).expand(2**32, 2**32 + 1),
        lambda: E.ones(4).as_strided((2**62, 2**62), (0, 0)),
        lambda: E.empty_strided((2**62, 2**62), (0, 0)),
        lambda: E.ones(3, 1).expand(-1, -2),
        lambda: E.ones(3).broadcast_to((-2, 3)),
    ],
)
def test_sizes_that_overflow_are_refused(call):
    with pytest.raises(RuntimeError):
        call()


def test_out_of_a_size_that_overflows_is_refused():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        E.add(E.ones(1).expand(2**62), 1, out=E.ones(1))


def test_huge_split_and_chunk_sizes():
    assert [p.shape for p in E.ones(2, 3).split(2**63 - 1)] == [(2, 3)]
    assert len(E.ones(2, 3).chunk(2**63 - 1)) == 2


def test_lists_longer_than_the_most_dimensions():
    pieces = E.arange(100).split([1] * 100)
    assert len(pieces) == 100 and pieces[99].item() == 99
    with pytest.raises(RuntimeError, match="at most 64 dimensions"):
        E.ones((1,) * 65)
    with pytest.raises(RuntimeError, match="at most 64 dimensions"):
        E.empty_strided((1,) * 65, (1,) * 65)


def test_empty_tensors_have_no_overlap():
    t = E.ones(1, 0).expand(3, 0)
    assert t.zero_().add_(1).shape == (3, 0)


@pytest.mark.parametrize(
    "code",
    [
        "E.vander(E.ones(2), 2**60)",
        "E.linalg.vander(E.ones(2), N=2**60)",
        "E.tril_indices(2**62, 1)",
        "E.triu_indices(1, 2**62)",
    ],
)
def test_counts_that_would_keep_a_loop_busy_for_ever(code):
    survives(f"""
try: {code}
except (MemoryError, RuntimeError): pass
else: raise SystemExit("made it")
""")


def test_triangles_with_more_rows_than_can_be_counted():
    assert E.tril_indices(2**62, 1, 1 - 2**62).tolist() == [[2**62 - 1], [0]]
    assert E.triu_indices(2**62, 1).tolist() == [[0], [0]]


def test_ranges_between_the_ends_of_int64():
    assert E.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert E.arange(2**63 - 3, 2**63 - 1).tolist() == [2**63 - 3, 2**63 - 2]


def test_a_nan_among_the_places_of_fractional_pooling():
    samples = E.full((1, 1, 2), float("nan"))
    pooled = E.nn.functional.fractional_max_pool2d(
        E.arange(16.0).view(1, 1, 4, 4), 2, output_size=2, _random_samples=samples
    )
    assert pooled.shape == (1, 1, 2, 2) and 0 <= pooled.min() and pooled.max() <= 15


def test_a_histogram_of_an_infinite_range():
    x = E.tensor([-1e300, 0.0, 1e300, float("nan")], dtype=E.float64)
    counts, _ = E.histogram(x, 2, range=(-1.7e308, 1.7e308))
    assert counts.sum() <= 3


# --- sequences that change while they are read


def test_numbers_that_change_their_list():
    survives("""
class Number:
    def __init__(self, act): self.act = act
    def __float__(self): self.act(); return 1.0
    def __index__(self): self.act(); return 1
for act in (lambda: data.clear(), lambda: data.extend([1.0] * 1000)):
    for call in (E.tensor, E.zeros, lambda d: E.zeros(3, 3)[d]):
        data = [1, Number(act), 2, 3]
        try: call(data)
        except (RuntimeError, IndexError, TypeError, ValueError): pass
inner = []
class Late:  # the first look measures, the second writes
    seen = 0
    def __float__(self):
        Late.seen += 1
        if Late.seen > 1: inner.extend([1.0] * 100000)
        return 1.0
inner.extend([Late(), 1.0])
try: E.tensor([inner])
except RuntimeError as e: assert "changed" in str(e)
""")


# --- the graph


def test_a_long_chain_of_nodes_that_python_has_seen():
    survives("""
import gc
x = E.ones(1, requires_grad=True)
y = x
for _ in range(100000): y = y + 1
node, seen = y.grad_fn, []
while node.next_functions:
    seen.append(node)
    node = node.next_functions[0][0]
del y, node
seen = None
gc.collect()
""")


def test_hooks_from_many_threads():
    # Copying a hook under a lock took the GIL, while the GIL's owner waited for the lock.
    survives("""
import threading
x = E.ones(10, requires_grad=True)
def work():
    for _ in range(300):
        hook = x.register_hook(lambda g: g)
        (x * 1).sum().backward()
        hook.remove()
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""")


def test_saved_tensors_of_python_from_many_threads():
    survives("""
import threading
w = E.ones(8, requires_grad=True)
def work():
    for _ in range(300):
        a = w * 2
        b = a * a
        b.sum().backward()
        w.grad
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""")


def test_internal_functions_check_their_arguments():
    base = E._C._FunctionBase
    with pytest.raises(TypeError):
        base._make(int, "x", [])
    ctx = base._make(type("Ctx", (base,), {}), "x", [])
    with pytest.raises(ValueError, match="output numbers"):
        ctx._save([E.ones(1)], [])


@pytest.mark.parametrize("bad", [5, "a", [1.0]])
def test_a_function_that_returns_no_tensor_as_gradient(bad):
    class Wrong(E.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return (bad,)

    y = Wrong.apply(E.ones(2, requires_grad=True)).sum()
    with pytest.raises(TypeError, match="expected a Tensor or None"):
        y.backward()


def test_the_graph_can_be_walked_to_its_leaves():
    x = E.ones(1, requires_grad=True)
    leaf = (x * 2).grad_fn.next_functions[0][0]
    assert leaf.variable is x and leaf.next_functions == ()


def test_gradient_of_a_maximum_that_is_nan():
    nan = float("nan")
    for op in (E.max, E.amax, E.min, E.amin):
        x = E.tensor([1.0, nan, 2.0, nan], requires_grad=True)
        op(x).backward()
        assert x.grad.tolist() == [0, 0.5, 0, 0.5]


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_and_"])
def test_comparing_in_place_has_a_gradient_of_zero(name):
    x = E.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    getattr(y, name)(E.ones(2))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_out_of_an_op_without_derivative_takes_inputs_with_gradient():
    out = E.gt(E.ones(2, requires_grad=True), 0, out=E.zeros(2, dtype=E.bool))
    assert out.tolist() == [True, True] and not out.requires_grad


def test_div_in_place_with_a_mode_of_none():
    x, w = E.ones(2), E.full((2,), 2.0, requires_grad=True)
    x.div_(w, rounding_mode=None)
    x.sum().backward()
    assert w.grad.tolist() == [-0.25, -0.25]


def test_clamp_on_its_bounds():
    x = E.tensor([1.0, 0.0, -1.0, 0.5], requires_grad=True)
    x.clamp(0, 1).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1]
    x.grad = None
    low, high = E.zeros(4, requires_grad=True), E.ones(4, requires_grad=True)
    x.clamp(low, high).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5, 0, 1]
    assert low.grad.tolist() == [0, 0.5, 1, 0] and high.grad.tolist() == [0.5, 0, 0, 0]
    assert E.ones(2).clamp(float("nan")).isnan().all()


# --- numbers that don't fit


@pytest.mark.parametrize(
    "call",
    [
        lambda: E.full((2,), 300, dtype=E.uint8),
        lambda: E.full((2,), float("nan"), dtype=E.int64),
        lambda: E.ones(2).fill_(1e300),
        lambda: E.ones(2, dtype=E.uint8).masked_fill(E.ones(2, dtype=E.bool), 300),
        lambda: E.ones(2, dtype=E.uint8).index_fill(0, E.tensor([0]), 300),
        lambda: E.ones(2, dtype=E.uint8).scatter(0, E.tensor([0]), 300),
        lambda: E.ones(2, dtype=E.uint8).__setitem__(E.tensor([0]), 300),
        lambda: E.randint(300, (2,), dtype=E.uint8),
        lambda: E.randint(5, (2,), dtype=E.bool),
        lambda: E.ones(2, dtype=E.uint8).random_(1000),
        lambda: E.ones(2).uniform_(-3.4e38, 3.4e38),
        lambda: E.ones(2).uniform_(0, 1e300),
        lambda: E.isclose(E.ones(2), E.ones(2), rtol=-1),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(RuntimeError):
        call()


def test_numbers_that_fit():
    assert E.ones(2, dtype=E.uint8).fill_(-1).tolist() == [255, 255]
    assert E.full((1,), float("-inf")).item() == float("-inf")
    assert E.clamp(E.ones(2, dtype=E.uint8), -1, 300).tolist() == [1, 1]
    assert E.floor_divide(E.tensor([-0.5, 0.5]), float("inf")).tolist() == [-1, 0]


# --- as PyTorch


def test_two_numbers_make_a_tensor():
    assert E.add(1, 2).item() == 3 and E.add(1, 2).dtype == E.int64
    assert E.add(2.0, 3.0).dtype == E.float32
    assert E.floor_divide(7, 2).item() == 3
    with pytest.raises(TypeError):
        E.maximum(1, 2)


def test_max_of_two_tensors_isnt_max_along_a_dimension():
    a, b = E.tensor([[1, 5], [7, 2]]), E.tensor(1)
    assert E.max(a, b).tolist() == [[1, 5], [7, 2]]
    assert E.min(a, b).tolist() == [[1, 1], [1, 1]]
    assert E.max(a, 1).indices.tolist() == [1, 0]


def test_any_and_all_of_uint8():
    assert E.ones(2, dtype=E.uint8).all().dtype == E.uint8
    assert E.ones(2, 2, dtype=E.uint8).any(0).dtype == E.uint8


def test_zero_dimensions():
    assert E.tensor(1.0).masked_select(E.tensor(True)).tolist() == [1]
    assert E.tensor(1.0).masked_select(E.tensor(False)).tolist() == []
    with pytest.raises(IndexError):
        E.tensor(1.0).flatten(0, 1)


def test_broadcast_tensors_takes_tensors():
    a, b = E.broadcast_tensors(E.ones(2, 1), E.ones(3))
    assert a.shape == b.shape == (2, 3)


def test_an_index_is_a_vector():
    index = E.tensor([[0]])
    for call in (
        lambda: E.ones(2).index_copy(0, index, E.ones(1)),
        lambda: E.ones(2).index_add(0, index, E.ones(1)),
        lambda: E.ones(2).index_fill(0, index, 1),
    ):
        with pytest.raises(IndexError, match="vector"):
            call()


def test_movedim_takes_ints():
    assert E.ones(2, 3, 4).movedim(0, 2).shape == (3, 4, 2)


def test_out_gives_the_dtype_of_creation():
    out = E.empty(3, dtype=E.int64)
    assert E.zeros(3, out=out) is out and out.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        E.ones(3, dtype=E.float32, out=E.empty(3, dtype=E.float64))


def test_random_numbers_go_in_the_order_of_memory():
    # Recorded with PyTorch 2.15, seed 0.
    E.manual_seed(0)
    t = E.empty(2, 3).t().random_(100)
    assert t.tolist() == [[44, 60], [39, 63], [33, 79]]
    E.manual_seed(0)
    row = E.empty(4, 5).t().normal_()[0]
    E.testing.assert_close(row, E.tensor([1.5410, -1.3986, -0.5966, 0.1227]), rtol=0, atol=1e-4)


def test_errors_name_the_element_that_is_wrong():
    with pytest.raises(TypeError, match="found element of type float at pos 0"):
        E.empty((2.5, 2))
    with pytest.raises(TypeError, match="found element of type int at pos 1"):
        E.cat([E.ones(1), 5])
    with pytest.raises(TypeError, match="max_version must be a tuple"):
        E.ones(2).__dlpack__(max_version="x")
