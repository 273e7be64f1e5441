"""NumPy, the buffer protocol, DLPack, pickles and copies."""

import copy
import gc
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import treadle as E

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_both_ways_shares_memory(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    t = E.from_numpy(a)
    assert str(t.dtype) == f"treadle.{name}" and t.tolist() == a.tolist()
    assert t.data_ptr() == a.ctypes.data
    back = t.numpy()
    assert back.dtype == a.dtype and back.ctypes.data == a.ctypes.data
    assert np.shares_memory(np.asarray(t), a)
    assert np.shares_memory(np.from_dlpack(t), a)


def test_writes_are_seen_on_both_sides():
    a = np.zeros(3, dtype=np.float32)
    t = E.from_numpy(a)
    t[0] = 5
    a[1] = 7
    assert t.tolist() == [5, 7, 0] and a.tolist() == [5, 7, 0]


def test_strided_arrays():
    base = np.arange(24).reshape(4, 6)
    for v in (base.T, base[::2, 1::2], base[:, 3], base[:0]):
        assert E.from_numpy(v).tolist() == v.tolist()
        assert E.from_numpy(v).numpy().tolist() == v.tolist()


def test_negative_strides_are_refused_unless_unused():
    with pytest.raises(ValueError, match="negative"):
        E.from_numpy(np.arange(6)[::-1])
    a = np.arange(6.0).reshape(1, 3, 2)[::-1]
    assert E.from_numpy(a).tolist() == a.tolist()


def test_memory_outlives_the_other_side():
    t = E.from_numpy(np.arange(1000))
    gc.collect()
    assert t.sum().item() == 499500
    a = E.arange(1000).numpy()
    gc.collect()
    assert a.sum() == 499500
    b = np.from_dlpack(E.arange(1000))
    gc.collect()
    assert b.sum() == 499500


def test_read_only_arrays():
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        t = E.from_numpy(a)
    assert t.tolist() == [0, 1, 2] and (t + 1).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="read-only"):
        t.add_(1)
    with pytest.raises(RuntimeError, match="read-only"):
        t[0] = 1
    assert not t.numpy().flags.writeable
    assert memoryview(t).readonly


def test_foreign_dtypes_say_so():
    for bad in (np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]")):
        with pytest.raises(TypeError):
            E.from_numpy(bad)
    with pytest.raises(ValueError, match="byte order"):
        E.from_numpy(np.zeros(2, ">f4"))


def test_numpy_needs_no_grad():
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(E.ones(1, requires_grad=True))
    assert E.ones(1, requires_grad=True).numpy(force=True).tolist() == [1]


def test_mixed_arithmetic():
    t, a = E.ones(2), np.array([1.0, 2.0])
    assert isinstance(t * 2.0, E.Tensor)
    assert (t + np.float32(2)).tolist() == [3, 3]
    assert (np.float64(2) * t).tolist() == [2, 2]
    assert np.add(a, t).tolist() == [2, 3]
    assert np.sin(E.zeros(2)).tolist() == [0, 0]


def test_scalars_of_numpy():
    assert E.tensor(np.float32(1.5)).dtype == E.float32
    assert E.tensor(np.int64(3)).item() == 3
    assert E.zeros(np.int64(2), np.int64(3)).shape == (2, 3)
    assert E.arange(6)[np.int64(2)].item() == 2
    assert E.arange(6)[np.array([1, 3])].tolist() == [1, 3]


def test_buffer_protocol():
    t = E.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    m = memoryview(t)
    assert (m.shape, m.strides, m.format, m.readonly) == ((2, 3), (12, 4), "i", False)
    m[1, 2] = 9
    assert t[1, 2].item() == 9
    with pytest.raises(BufferError):
        memoryview(E.ones(1, requires_grad=True))
    assert memoryview(t.t()).strides == (4, 12)
    assert bytes(E.tensor([1, 2], dtype=E.uint8)) == b"\x01\x02"


class Old:
    """A DLPack producer of before version 1.0, which knows no max_version."""

    def __init__(self, t):
        self.t = t

    def __dlpack__(self, stream=None):
        return self.t.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_dlpack():
    a = E.arange(12.0).reshape(3, 4)
    assert a.__dlpack_device__() == (1, 0)
    b = E.from_dlpack(a.t())
    assert b.data_ptr() == a.data_ptr() and b.stride() == (1, 4)
    assert E.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert E.from_dlpack(Old(a)).data_ptr() == a.data_ptr()
    assert E.from_dlpack(a.__dlpack__(copy=True)).data_ptr() != a.data_ptr()
    capsule = a.__dlpack__()
    E.utils.dlpack.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="only once"):
        E.utils.dlpack.from_dlpack(capsule)
    with pytest.raises(BufferError):
        E.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(AssertionError, match="None on cpu"):
        a.__dlpack__(stream=5)
    with pytest.raises(TypeError, match="stream"):
        a.__dlpack__(stream=object())
    with pytest.raises(TypeError, match="__dlpack__"):
        E.from_dlpack([1, 2])
    wide = E.arange(77).reshape(1, 77)
    assert E.from_dlpack(wide).stride() == (77, 1)


def test_dlpack_read_only():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = E.as_tensor(a)
    assert not np.from_dlpack(t).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()


def test_exports_do_not_leak():
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096 / 1e6

    start = resident()
    for _ in range(60):
        t = E.rand(1_000_000)
        t.__dlpack__()
        t.numpy()
        memoryview(t)
    gc.collect()
    assert resident() - start < 60


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    for t in (
        E.arange(6.0).reshape(2, 3).t(),
        E.tensor(3),
        E.empty(0, 2),
        E.tensor([True, False]),
        E.ones(2, requires_grad=True),
        E.nn.Parameter(E.ones(2)),
    ):
        u = pickle.loads(pickle.dumps(t, protocol))
        assert type(u) is type(t) and u.dtype == t.dtype and u.shape == t.shape
        assert u.tolist() == t.tolist() and u.requires_grad == t.requires_grad
    for o in (E.float32, E.device("cpu"), E.Size([2, 3])):
        assert pickle.loads(pickle.dumps(o, protocol)) == o
    assert pickle.loads(pickle.dumps(E.float32)) is E.float32


def test_copy():
    t = E.ones(2, requires_grad=True)
    t.note = [1]
    u = copy.deepcopy(t)
    assert u.requires_grad and u.note == [1] and u.note is not t.note
    u.data[0] = 5
    assert t[0].item() == 1
    m = E.nn.Linear(2, 2)
    n = copy.deepcopy(m)
    n.weight.data.fill_(0)
    assert m.weight.abs().sum().item() > 0
    with pytest.raises(RuntimeError):
        copy.deepcopy(t * 2)
    shared = E.ones(1)
    a, b = copy.deepcopy([shared, shared])
    assert a is b


def test_import_is_light():
    code = (
        "import sys, time; s = time.process_time(); import treadle; "
        "print(time.process_time() - s, 'numpy' in sys.modules, 'treadle.nn' in sys.modules)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(5)
    ]
    # Processor time: the wall clock of a busy machine says nothing about the import.
    assert min(float(r[0]) for r in runs) < 0.06
    assert runs[0][1:] == ["False", "False"]


def test_from_dlpack_device_and_copy():
    a = E.arange(3)
    assert E.from_dlpack(a).data_ptr() == a.data_ptr()
    assert E.from_dlpack(a, device="cpu", copy=False).data_ptr() == a.data_ptr()
    for producer in (a, Old(a), np.arange(3)):
        made = E.from_dlpack(producer, copy=True)
        made[0] = 9
        assert made.tolist() == [9, 1, 2] and a.tolist() == [0, 1, 2]
    with pytest.raises(AssertionError, match="capsule"):
        E.from_dlpack(a.__dlpack__(), copy=True)
    with pytest.raises(NotImplementedError):
        E.from_dlpack(a, device="cuda")
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        E.from_dlpack(frozen)[0] = 1
    assert E.tensor(Old(E.ones(2, 2))).shape == (2, 2)
    assert E.from_dlpack(E.rand(16)[::3][:1]).stride() == (1,)


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.int16).tobytes())
    t = E.frombuffer(data, dtype=E.int16)
    t[0] = 7
    assert data[0] == 7 and t.tolist() == [7, 1, 2, 3]
    assert E.frombuffer(data, dtype=E.int16, count=2, offset=4).tolist() == [2, 3]
    for bad in (
        dict(dtype=E.int16, count=5), dict(dtype=E.int16, count=0), dict(dtype=E.int16, offset=8),
        dict(dtype=E.int16, offset=-1), dict(dtype=E.int32, offset=2),
        dict(dtype=E.int16, offset=1), dict(dtype=E.int16, offset=1, count=1),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            E.frombuffer(data, **bad)
    with pytest.raises(ValueError, match="must not be 0"):
        E.frombuffer(b"", dtype=E.uint8)
    with pytest.raises(RuntimeError, match="read-only"):
        E.frombuffer(b"ab", dtype=E.uint8)[0] = 1


def test_asarray():
    a = np.arange(3)
    t = E.arange(3)
    assert E.asarray(t) is t and E.asarray(t, copy=True) is not t
    assert E.asarray(a).data_ptr() == a.ctypes.data != E.asarray(a, copy=True).data_ptr()
    assert E.asarray(a, dtype=E.float32).dtype == E.float32
    assert E.asarray([1, 2.5]).tolist() == [1, 2.5] and E.asarray(3).shape == ()
    assert E.asarray(b"ab").tolist() == [97, 98]
    assert E.asarray(2**64 - 1, dtype=E.uint64).item() == 2**64 - 1
    for bad in (dict(obj=[1]), dict(obj=np.int64(1)), dict(obj=t, dtype=E.float32)):
        obj = bad.pop("obj")
        error = RuntimeError if isinstance(obj, np.generic) else ValueError
        with pytest.raises(error, match="can't alias"):
            E.asarray(obj, copy=False, **bad)
    leaf = E.ones(2, requires_grad=True)
    assert (
        E.asarray(leaf * 2).grad_fn is not None and E.asarray(leaf * 2, requires_grad=False).is_leaf
    )


def test_misaligned_arrays():
    raw = np.zeros(9, np.uint8)
    odd = raw[1:].view(np.float64)
    with pytest.raises(ValueError, match="aligned"):
        E.from_numpy(odd)
    assert E.tensor(odd).tolist() == [0] == E.as_tensor(odd).tolist()


def test_large_integers():
    assert E.tensor(2**63, dtype=E.uint64).item() == 2**63
    assert E.full((1,), 2**64 - 1, dtype=E.uint64).tolist() == [2**64 - 1]
    assert E.tensor([1.0, 2**70], dtype=E.float64).tolist() == [1.0, 2.0**70]
    for bad in (2**63, [2**64], 2**70):
        with pytest.raises((ValueError, OverflowError)):
            E.tensor(bad)
    with pytest.raises(RuntimeError, match="overflow"):
        E.full((2,), 2**63)


def test_legacy_types():
    assert E.FloatTensor(2, 3).shape == (2, 3) and E.LongTensor([1, 2]).dtype == E.int64
    assert isinstance(E.ones(1), E.FloatTensor) and not isinstance(E.ones(1), E.LongTensor)
    assert E.ones(1).type() == "treadle.FloatTensor" == E.typename(E.ones(1))
    assert E.ones(1).type(E.IntTensor).dtype == E.int32 == E.ones(1).type("IntTensor").dtype
    assert E.ones(1).new([1, 2]).dtype == E.float32
    with pytest.raises(ValueError, match="invalid type"):
        E.ones(1).type("foo")
    with pytest.raises(TypeError, match="sequence"):
        E.Tensor(1.5)
    with pytest.raises(TypeError, match="device"):
        E.Tensor(1, dtype=E.int32)
    E.set_default_tensor_type("treadle.DoubleTensor")
    try:
        assert E.get_default_dtype() == E.float64
    finally:
        E.set_default_tensor_type(E.FloatTensor)


def test_size_joins_tuples():
    size = E.Size([1, 2])
    assert repr((3,) + size) == "treadle.Size([3, 1, 2])" and type(size + (3,)) is E.Size
    assert repr(E.Size([True])) == "treadle.Size([1])"
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        size + [1]
    assert pickle.loads(pickle.dumps((size, E.device("cuda:1"), E.float32))) == (
        size, E.device("cuda:1"), E.float32,
    )  # fmt: skip


def test_array_equality():
    t, a = E.arange(3), np.arange(3)
    assert (t == a).tolist() == [True] * 3 == (a == t).tolist()
    assert (t != a).tolist() == [False] * 3


def test_storages():
    x = E.arange(6.0).reshape(2, 3)
    s = x[1].untyped_storage()
    assert s.nbytes() == 24 and s.data_ptr() == x.data_ptr() and s == x.untyped_storage()
    assert x[1].storage().tolist() == [0, 1, 2, 3, 4, 5] and len(x.storage()) == 6
    x.storage()[0] = 7
    assert x[0, 0].item() == 7 and E.is_storage(s) and not E.is_storage(x)
    assert E.empty(0).set_(x.storage(), 1, (2,), (3,)).tolist() == [1, 4]
    with pytest.raises(RuntimeError):
        E.empty(0).set_(x.storage(), 1, (7,), (1,))
    with pytest.raises(RuntimeError):
        E.empty(0).set_(x.storage(), -1, (1,), (1,))


def test_resize():
    x = E.arange(4.0)
    assert x.resize_(2).tolist() == [0, 1] and x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(3, 2).shape == (3, 2) and x.tolist()[:2] == [[0, 1], [2, 3]]
    assert x.resize_as_(E.ones(1)).tolist() == [0]
    with pytest.raises(RuntimeError, match="require grad"):
        E.ones(2, requires_grad=True).resize_(3)
    y = E.ones(2)
    a = y.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        y.resize_(5)
    assert a.tolist() == [1, 1]
    z, versions = E.ones(4), []
    for n in (2, 2, 100):
        versions.append(z.resize_(n)._version)
    assert [v - versions[0] for v in versions] == [0, 0, 1]
    images = E.ones(1, 2, 3, 4).contiguous(memory_format=E.channels_last)
    w = E.ones(1).resize_as_(images, memory_format=E.preserve_format)
    assert w.stride() == images.stride()
    assert E.ones(3, 2).resize_as_(E.ones(2, 3).t()).stride() == (2, 1)


def test_another_dtype_has_no_gradient():
    x = E.ones(2, requires_grad=True)
    for dtype in (E.float32, E.int32):
        y = x.view(dtype)
        assert not y.requires_grad and not y._is_view() and y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles_share_memory(protocol):
    x = E.arange(6.0)
    parts = [x, x[2:], x.view(2, 3).t(), E.empty(0), E.tensor(2j)]
    made = pickle.loads(pickle.dumps(parts, protocol))
    made[0][3] = 99
    assert made[1].tolist() == [2, 99, 4, 5] and made[2].tolist() == [[0, 99], [1, 4], [2, 5]]
    assert made[2].stride() == (1, 3) and x[3].item() == 3 and made[4].item() == 2j
    again = copy.deepcopy(parts)
    again[0][3] = 99
    assert again[2][0, 1].item() == 99 and x[3].item() == 3
    assert copy.copy(x).data_ptr() == x.data_ptr()


def test_pickles_beside_the_stream():
    buffers = []
    data = pickle.dumps(E.arange(1000), 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert pickle.loads(data, buffers=buffers).sum().item() == 499500


def test_generators_pickle():
    g = E.Generator().manual_seed(3)
    E.rand(2, generator=g)
    other = pickle.loads(pickle.dumps(g))
    assert E.equal(E.rand(3, generator=g), E.rand(3, generator=other))
    result = E.arange(3.0).max(0)
    assert pickle.loads(pickle.dumps(result)).values.item() == 2
    assert repr(result) == ("treadle.return_types.max(\nvalues=tensor(2.),\nindices=tensor(2))")


@pytest.mark.parametrize(
    "data, text",
    [
        ([1 + 2j, -1.5], "tensor([ 1.0000+2.j, -1.5000+0.j])"),
        (1j, "tensor(0.+1.j)"),
        ([complex(math.inf, 1), 0.5], "tensor([   inf+1.j, 0.5000+0.j])"),
        ([1e-10 + 1j], "tensor([1.0000e-10+1.j])"),
    ],
)
def test_complex_numbers_print(data, text):
    assert repr(E.tensor(data)) == text


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_16_bit_random_numbers_are_float32s_rounded(name):
    dtype = getattr(E, name)
    E.manual_seed(5)
    short = E.rand(5, dtype=dtype), E.randn(16, dtype=dtype)
    E.manual_seed(5)
    wide = E.rand(5), E.randn(16)
    assert all(E.equal(s, w.to(dtype)) for s, w in zip(short, wide))
