"""Factories and what else makes or fills tensors, against NumPy; what they refuse, in PyTorch's
words. Random numbers are in test_recorded.py."""

import numpy as np
import pytest
import treadle as E


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: E.arange(0, 4, **k),
        lambda **k: E.linspace(0, 3, 4, **k),
        lambda **k: E.linspace(E.tensor(0.0), 3, 4, **k),
        lambda **k: E.logspace(0, 2, 4, base=4, **k),
    ],
)
def test_ranges_fill_out_of_any_shape(make):
    want = make(dtype=E.float32)
    x = E.zeros(2, 3)
    made = make(out=x.narrow(1, 1, 2))
    assert made.shape == (2, 2) and x[:, 0].tolist() == [0, 0]
    assert x[:, 1:].reshape(-1).tolist() == want.tolist()
    whole = E.zeros(4, dtype=E.int32)
    assert make(out=whole).dtype == E.int32
    with pytest.raises(RuntimeError, match="dtype Double does not match dtype of out"):
        make(out=E.zeros(4), dtype=E.float64)
    with pytest.warns(UserWarning, match="does not match the computed number of elements 4"):
        assert make(out=E.zeros(3)).shape == (4,)


def test_range():
    with pytest.warns(UserWarning, match="range is deprecated"):
        assert E.range(0, 3).tolist() == [0, 1, 2, 3]
        assert E.range(5, 0, -2).tolist() == [5, 3, 1]
        assert E.range(0, 1, 0.1).shape == (11,)
        assert E.range(1, 1, -1, dtype=E.int64).tolist() == [1]
        with pytest.raises(RuntimeError, match="inconsistent with step sign"):
            E.range(3, 0)


@pytest.mark.parametrize(
    "error, match, call",
    [
        (RuntimeError, "Storage size calculation overflowed", lambda: E.empty(2, 4, 2**29, 2**30)),
        (RuntimeError, "Storage size calculation overflowed", lambda: E.ones(2).resize_(2**62)),
        (RuntimeError, "Stride calculation overflowed", lambda: E.empty(0, 4, 2**62)),
        (RuntimeError, "Stride calculation overflowed", lambda: E.ones(2).resize_(0, 4, 2**62)),
        (RuntimeError, "n is too large", lambda: E.randperm(2**53 + 2, dtype=E.float64)),
        (RuntimeError, "and strides=", lambda: E.empty_strided([8, 8], [2**61, 1])),
        (RuntimeError, "overflow", lambda: E.arange(1e-38, 3e38)),
        (RuntimeError, "Only Tensors of floating", lambda: E.tensor([1], requires_grad=True)),
        (RuntimeError, r"torch.linspace\(\)", lambda: E.linspace(0, 1j, 3, dtype=E.float32)),
        (RuntimeError, "got Int and Float", lambda: E.polar(E.ones(2, dtype=E.int32), E.ones(2))),
        (RuntimeError, "for second argument", lambda: E.complex(E.ones(2), E.ones(2).double())),
        (RuntimeError, "argument 'out'", lambda: E.complex(E.ones(2), E.ones(2), out=E.ones(2))),
        (RuntimeError, "non-empty TensorList", lambda: E.meshgrid()),
        (RuntimeError, "Legacy tensor constructor", lambda: E.Tensor(E.ones(1), device="cpu")),
        (ValueError, "only one element tensors", lambda: E.tensor([E.ones(2)])),
        (ValueError, "only one element tensors", lambda: complex(E.ones(2))),
        (RuntimeError, "without overflow", lambda: float(E.tensor(1j))),
        (ValueError, "does not implement Python buffer", lambda: E.frombuffer([1], dtype=E.uint8)),
        (RuntimeError, "fewer than", lambda: E.from_file(__file__, size=2**40)),
        (RuntimeError, "more than one element", lambda: E.zeros(1).expand(3).add_(1)),
    ],
)  # fmt: skip
def test_refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_data():
    loop = [0]
    loop.append(loop)
    with pytest.raises(TypeError, match="self-referential"):
        E.tensor(loop)
    assert E.tensor([E.tensor([1]), E.tensor(2)]).tolist() == [1, 2]
    truths = E.tensor([2**63, 0, -(2**70), 1j, 0j], dtype=E.bool)
    assert truths.tolist() == [True, False, True, True, False]
    assert E.block_diag().shape == (1, 0)
    assert E.roll(E.arange(4), 1, None).tolist() == [3, 0, 1, 2]
    assert E.zeros(1).expand(3).fill_(2).tolist() == [2, 2, 2]
    assert int(E.tensor(2 + 0j)) == 2
    with E.device("cpu"):
        assert E.ones(1).device.type == "cpu"
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        E.frombuffer(b"ab", dtype=E.uint8)
    with pytest.warns(UserWarning, match="from is out of bounds"):
        E.zeros(2).random_(2**25, 2**26)


@pytest.mark.parametrize("dim", range(4))
def test_cat_keeps_channels_innermost(dim):
    x = E.arange(48.0).reshape(2, 2, 4, 3)
    last = x.contiguous(memory_format=E.channels_last)
    made = E.cat([last, last], dim)
    assert made.is_contiguous(memory_format=E.channels_last)
    assert E.equal(made, E.cat([x, x], dim))


def test_from_file(tmp_path):
    path = str(tmp_path / "numbers")
    np.arange(4.0).tofile(path)
    copy = E.from_file(path, size=4, dtype=E.float64)
    copy[0] = 7
    shared = E.from_file(path, shared=True, size=5, dtype=E.float64)
    assert shared.tolist() == [0, 1, 2, 3, 0] and copy.untyped_storage().filename is None
    assert shared.untyped_storage().filename == path
    shared[4] = 9
    del shared
    assert np.fromfile(path).tolist() == [0, 1, 2, 3, 9]
    assert E.UntypedStorage.from_file(path, True, 8).filename == path


def test_hash_tensor():
    x = np.array([[3, 5, -1], [2, 2, 9]])
    assert E.hash_tensor(E.tensor(x), 1).tolist() == [
        int(v) for v in np.bitwise_xor.reduce(x, 1).astype(np.uint64)
    ]
    f = np.array([0.5, -2, 7], np.float32)
    bits = np.bitwise_xor.reduce(f.astype(np.float64).view(np.uint64))
    assert E.tensor(f).hash_tensor().item() == int(bits)
    assert E.hash_tensor(E.zeros(0, 2), 0, keepdim=True).tolist() == [[0, 0]]


def test_settings_and_sizes():
    E.set_float32_matmul_precision("high")
    assert E.get_float32_matmul_precision() == "high"
    E.set_float32_matmul_precision("highest")
    assert E.set_flush_denormal(True) is False and E.get_num_interop_threads() == 1
    assert (E.sym_max(1, 2.0), E.sym_min(1, 2.0), E.sym_int(2.5)) == (2.0, 1.0, 2)
    t = E.ones(2, 3, 4).transpose(0, 1)
    assert t.dim_order() == (1, 0, 2) and t.get_device() == -1 and not t.is_pinned()
    assert E.Storage is E.FloatStorage and E.DoubleStorage(2).dtype == E.float64
    assert E.concatenate([E.ones(1), E.ones(2)], axis=0).shape == (3,)
    assert E.vmap(E.sum)(E.ones(2, 3)).tolist() == [3, 3]
