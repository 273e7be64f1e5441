"""treadle.fft, stft and the windows against NumPy; gradients; errors in PyTorch's words."""

import numpy as np
import pytest
import treadle as E
from treadle.autograd import gradcheck, gradgradcheck

rng = np.random.default_rng(0)


def complex_numbers(*shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


# 67, 131, 1009: Bluestein; 7, 11, 13: primes with direct sums.
SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 30, 49, 60, 64, 67, 120, 131, 134, 210, 1009, 1024, 2310]


@pytest.mark.parametrize("n", SIZES)
def test_lengths(n):
    c, r = complex_numbers(3, n), rng.standard_normal((3, n))
    tolerance = {"rtol": 1e-12, "atol": 2e-13 * n}
    for name in ("fft", "ifft"):
        want = getattr(np.fft, name)(c)
        np.testing.assert_allclose(getattr(E.fft, name)(E.from_numpy(c)).numpy(), want, **tolerance)
        single = getattr(E.fft, name)(E.from_numpy(c.astype(np.complex64))).numpy()
        assert single.dtype == np.complex64
        assert np.abs(single - want).max() <= 2e-6 * np.abs(want).max()
    half = np.fft.rfft(r)
    np.testing.assert_allclose(E.fft.rfft(E.from_numpy(r)).numpy(), half, **tolerance)
    np.testing.assert_allclose(E.fft.irfft(E.from_numpy(half), n).numpy(), r, **tolerance)
    np.testing.assert_allclose(
        E.fft.hfft(E.from_numpy(half), n).numpy(), np.fft.hfft(half, n), **tolerance
    )
    np.testing.assert_allclose(E.fft.ihfft(E.from_numpy(r)).numpy(), np.fft.ihfft(r), **tolerance)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_dimensions(name, norm):
    a = rng.standard_normal((3, 4, 6)) if name == "rfft" else complex_numbers(3, 4, 6)
    t = E.from_numpy(a)
    for s, dim in [(None, None), ((5, 2), (0, 2)), ((4, 7), (-1, 1)), (None, (2, 0))]:
        axes = dim if dim is not None else (tuple(range(3)) if s is None else None)
        want = getattr(np.fft, name + "n")(a, s, axes, norm)
        got = getattr(E.fft, name + "n")(t, s, dim, norm=norm).numpy()
        np.testing.assert_allclose(got, want, atol=1e-12)
    want = getattr(np.fft, name + "2")(a, norm=norm)
    np.testing.assert_allclose(getattr(E.fft, name + "2")(t, norm=norm).numpy(), want, atol=1e-12)
    want = getattr(np.fft, name)(a, 9, 1, norm)
    np.testing.assert_allclose(getattr(E.fft, name)(t, 9, 1, norm).numpy(), want, atol=1e-12)


def through_pairs(f, from_complex):
    """f over pairs of real numbers, which gradcheck takes everywhere."""

    def g(t):
        y = f(E.view_as_complex(t) if from_complex else t)
        return E.view_as_real(y) if y.is_complex() else y

    return g


@pytest.mark.parametrize("n", [4, 5])
def test_gradients(n):
    c = E.from_numpy(rng.standard_normal((2, 5, 2))).requires_grad_()
    r = E.from_numpy(rng.standard_normal((2, 5))).requires_grad_()
    for name in ("fft", "ifft", "irfft", "hfft", "irfftn", "hfft2", "fftn"):
        args = (n, 0) if name[-1] == "t" else ((3, n),)
        f = getattr(E.fft, name)
        g = through_pairs(lambda t, f=f, args=args: f(t, *args), True)
        assert gradcheck(g, (c,)) and gradgradcheck(g, (c,))
    for name in ("fft", "rfft", "ihfft"):
        f = getattr(E.fft, name)
        g = through_pairs(lambda t, f=f: f(t, n), False)
        assert gradcheck(g, (r,)) and gradgradcheck(g, (r,))


def test_same_bits_for_any_number_of_threads():
    t = E.from_numpy(complex_numbers(300, 360))
    before = E.get_num_threads()
    results = []
    for threads in (1, 2, 5):
        E.set_num_threads(threads)
        results.append(E.fft.fft(t).numpy().tobytes())
    E.set_num_threads(before)
    assert len(set(results)) == 1
    assert E.fft.fft(t[7]).numpy().tobytes() == E.fft.fft(t)[7].contiguous().numpy().tobytes()


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        np.testing.assert_allclose(E.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(E.fft.rfftfreq(n).numpy(), np.fft.rfftfreq(n))
    a = np.arange(20.0).reshape(4, 5)
    for f in ("fftshift", "ifftshift"):
        for dim in (None, 0, (1,)):
            want = getattr(np.fft, f)(a, dim)
            assert getattr(E.fft, f)(E.from_numpy(a), dim).tolist() == want.tolist()


def test_errors():
    x = E.zeros(4, 6)
    c = x.to(E.complex64)
    for error, text, call in [
        (RuntimeError, r"Invalid number of data points \(0\)", lambda: E.fft.fft(x, 0)),
        (RuntimeError, "Invalid normalization mode", lambda: E.fft.fft(x, norm="bad")),
        (IndexError, "Dimension out of range", lambda: E.fft.fft(x, dim=5)),
        (IndexError, "tensor has no dimensions", lambda: E.fft.fft(E.tensor(1.0))),
        (TypeError, "rfft expects a real input", lambda: E.fft.rfft(c)),
        (RuntimeError, "dims must be unique", lambda: E.fft.fft2(x, dim=(1, -1))),
        (RuntimeError, "same length", lambda: E.fft.fftn(x, (2,), (0, 1))),
        (RuntimeError, "at least one axis", lambda: E.fft.rfftn(x, dim=())),
        (NotImplementedError, "Unsupported dtype Half", lambda: E.fft.fft(x.half())),
        (RuntimeError, "floating point or complex", lambda: E.fft.fftfreq(3, dtype=E.int64)),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert E.fft.fft(E.zeros(0, 3)).shape == (0, 3)
    assert E.fft.fft(E.ones(3, dtype=E.int32)).dtype == E.complex64


def test_stft_and_back():
    x = rng.standard_normal((2, 40))
    t = E.from_numpy(x).requires_grad_()
    window = E.hann_window(8, dtype=E.float64)
    y = E.stft(t, 8, 3, window=window, return_complex=True)
    wide = np.pad(x, ((0, 0), (4, 4)), mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(wide, 8, -1)[:, ::3] * window.numpy()
    np.testing.assert_allclose(
        y.detach().numpy(), np.fft.rfft(frames).transpose(0, 2, 1), atol=1e-12
    )
    back = E.istft(y, 8, 3, window=window, length=40)
    np.testing.assert_allclose(back.detach().numpy(), x, atol=1e-10)
    short = t[:, :16].detach().requires_grad_()
    assert gradcheck(through_pairs(lambda v: E.stft(v, 8, 3, return_complex=True), False), (short,))
    z = E.view_as_real(y[:, :, :4].detach()).clone().requires_grad_()
    assert gradcheck(through_pairs(lambda v: E.istft(v, 8, 3), True), (z,))
    for mode in ("constant", "replicate", "circular"):
        assert t.stft(8, pad_mode=mode, return_complex=True).shape == (2, 5, 21)
    with pytest.raises(RuntimeError, match="return_complex parameter"):
        t.stft(8)
    with pytest.raises(RuntimeError, match="n_fft"):
        t.stft(-1, return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        E.istft(y, 8, 3, window=E.zeros(8, dtype=E.float64))


def test_windows():
    w = E.signal.windows
    for name in ("hann", "hamming", "blackman", "bartlett"):
        want = {"hann": np.hanning}.get(name, getattr(np, name, None))(9)
        got = getattr(w, name)(9, dtype=E.float64).numpy()
        np.testing.assert_allclose(got, want, atol=1e-15)
        periodic = getattr(E, name + "_window")(8, dtype=E.float64).numpy()
        np.testing.assert_allclose(periodic, want[:8], atol=1e-15)
    np.testing.assert_allclose(w.kaiser(9, beta=5.0, dtype=E.float64).numpy(), np.kaiser(9, 5.0))
    np.testing.assert_allclose(
        E.kaiser_window(9, False, 5.0, dtype=E.float64).numpy(), np.kaiser(9, 5.0)
    )
    assert w.exponential(5).tolist()[2] == 1 and w.gaussian(5).tolist()[2] == 1
    for name in w.__all__:
        extra = {"a": [0.5, 0.5]} if name == "general_cosine" else {}
        f = getattr(w, name)
        assert [f(m, **extra).shape[0] for m in (0, 1, 4)] == [0, 1, 4]
        np.testing.assert_allclose(
            f(6, sym=False, **extra).numpy(), f(7, **extra).numpy()[:6], atol=1e-6
        )
        with pytest.raises(ValueError, match="non-negative"):
            f(-1, **extra)
        with pytest.raises(ValueError, match="float32 or float64"):
            f(3, dtype=E.int64, **extra)
    with pytest.raises(RuntimeError, match="non-negative window_length"):
        E.hann_window(-1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("fft", "complex"), ("rfft2", "complex"), ("irfft", "floating point"), ("hfftn", "floating")],
)
def test_out_is_complex_or_real_as_the_result(name, kind):
    x = E.ones(2, 3, dtype=E.complex64 if kind != "complex" else E.float32)
    out = E.empty(0, dtype=E.float32 if kind == "complex" else E.complex64)
    with pytest.raises(RuntimeError, match=f"{name} expects a {kind} .*output tensor, but got"):
        getattr(E.fft, name)(x, out=out)
    wide = E.empty(0, dtype=E.complex128 if kind == "complex" else E.float64)
    assert getattr(E.fft, name)(x, out=wide) is wide
