"""nn.functional beyond activations: gradients of first and second order, values against NumPy, and
what is refused.

To add a function: a row of GRADIENTS (a call on float64 tensors made from shapes), and a reference
if its values aren't covered elsewhere.
"""

import itertools
import math

import numpy as np
import pytest
import treadle as tr
import treadle.nn.functional as F


def rand(*shape, seed=0, dtype=tr.float64):
    values = np.random.RandomState(1000 * seed + sum(shape)).uniform(-1, 1, shape)
    return tr.from_numpy(values).to(dtype)


def leaf(*shape, seed=0):
    return rand(*shape, seed=seed).requires_grad_()


labels = tr.tensor([1, 0, 3, 2])
signs = tr.tensor([1.0, -1.0, 1.0, -1.0], dtype=tr.float64)
running = tr.tensor([0.1, -0.2], dtype=tr.float64), tr.tensor([1.5, 0.7], dtype=tr.float64)
theta = tr.tensor([[[0.7, 0.2, 0.1], [-0.1, 0.8, 0.05]]], dtype=tr.float64)
allowed = tr.tensor([[True, False, True], [True, True, False], [False, False, False]])

# name: (function, shapes of its differentiable arguments)
GRADIENTS = {
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2), [(2, 4, 9), (3, 4, 3), (3,)]),
    "conv1d groups": (lambda x, w: F.conv1d(x, w, groups=2), [(4, 7), (6, 2, 3)]),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0)),
        [(2, 2, 5, 4), (3, 2, 3, 2), (3,)],
    ),
    "conv2d same": (lambda x, w: F.conv2d(x, w, padding="same"), [(1, 2, 4, 5), (2, 2, 2, 3)]),
    "conv2d 1x1": (lambda x, w: F.conv2d(x, w), [(2, 3, 3, 2), (2, 3, 1, 1)]),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), [(1, 2, 3, 3, 2), (1, 2, 2, 3, 2)]),
    "conv_transpose1d": (
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1, 2, 2),
        [(2, 4, 4), (4, 1, 3), (2,)],
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        [(1, 2, 3, 2), (2, 3, 2, 3)],
    ),
    "conv_tbc": (lambda x, w, b: F.conv_tbc(x, w, b, 1), [(5, 2, 3), (3, 3, 2), (2,)]),
    "unfold": (lambda x: F.unfold(x, (2, 3), 1, 1, 2), [(2, 2, 4, 5)]),
    "fold": (lambda x: F.fold(x, (4, 5), (2, 3), 1, 1, 2), [(2, 12, 9)]),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1, True, False), [(2, 2, 8)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, 1, divisor_override=3), [(2, 3, 4)]),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, 2, 1), [(1, 2, 3, 4, 3)]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, None)), [(2, 2, 5, 4)]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1, 1, True), [(2, 2, 8)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, 1, 1, 2), [(2, 2, 4, 5)]),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), [(1, 2, 4, 4, 2)]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 3)), [(1, 2, 5, 4)]),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(
            x, 2, (3, 2), _random_samples=tr.tensor([[[0.3, 0.6]] * 2], dtype=tr.float64)
        ),
        [(2, 6, 5)],
    ),
    "max_unpool2d": (
        lambda x: F.max_unpool2d(x, tr.tensor([[[0, 3], [8, 14]]]), 2),
        [(1, 2, 2)],
    ),
    "lp_pool2d": (lambda x: F.lp_pool2d(x.exp(), 3.0, 2), [(1, 1, 4, 4)]),
    "pad constant": (lambda x: F.pad(x, (1, -1, 0, 2), value=3.0), [(2, 3, 4)]),
    "pad reflect": (lambda x: F.pad(x, (2, 1), "reflect"), [(2, 3, 4)]),
    "pad replicate": (lambda x: F.pad(x, (2, -1, 1, 1), "replicate"), [(2, 3, 4)]),
    "pad circular": (lambda x: F.pad(x, (2, 1, -1, 1), "circular"), [(1, 1, 3, 4)]),
    "nearest": (lambda x: F.interpolate(x, scale_factor=1.7), [(1, 2, 3, 4)]),
    "linear": (lambda x: F.interpolate(x, 7, mode="linear"), [(1, 2, 4)]),
    "bilinear": (
        lambda x: F.interpolate(x, (5, 3), mode="bilinear", align_corners=True),
        [(1, 2, 3, 4)],
    ),
    "bicubic": (lambda x: F.interpolate(x, (5, 3), mode="bicubic"), [(1, 1, 4, 4)]),
    "antialias": (
        lambda x: F.interpolate(x, (2, 3), mode="bilinear", antialias=True),
        [(1, 2, 5, 5)],
    ),
    "trilinear": (lambda x: F.interpolate(x, (3, 2, 4), mode="trilinear"), [(1, 1, 2, 3, 2)]),
    "area": (lambda x: F.interpolate(x, (2, 3), mode="area"), [(1, 2, 5, 4)]),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        [(1, 2, 4, 3), (1, 2, 3, 2)],
    ),
    "grid_sample bicubic": (
        lambda x, g: F.grid_sample(x, g, "bicubic", "border", True),
        [(1, 2, 4, 3), (1, 2, 2, 2)],
    ),
    "grid_sample 3d": (
        lambda x, g: F.grid_sample(x, g * 2, "bilinear", "reflection", False),
        [(1, 1, 3, 2, 3), (1, 1, 2, 2, 3)],
    ),
    "affine_grid": (lambda t: F.affine_grid(t, (1, 2, 3, 4), False), [(1, 2, 3)]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), [(1, 8, 2, 3)]),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), [(1, 2, 4, 6)]),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), [(1, 4, 2, 2)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(2, 3, 4), (4,), (4,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (3, 2), w), [(2, 3, 2), (3, 2)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        [(3, 2, 4), (2,), (2,)],
    ),
    "batch_norm eval": (lambda x, w: F.batch_norm(x, *running, w), [(3, 2), (2,)]),
    "instance_norm": (lambda x, w: F.instance_norm(x, weight=w), [(2, 2, 4), (2,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "native_layer_norm": (lambda x: tr.native_layer_norm(x, (4,), None, None, 1e-5), [(3, 4)]),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), [(2, 4, 3)]),
    "normalize": (lambda x: F.normalize(x, 3.0, -1), [(2, 4)]),
    "embedding": (
        lambda w: F.embedding(labels, w, scale_grad_by_freq=True),
        [(4, 3)],
    ),
    "embedding_bag": (
        lambda w, p: F.embedding_bag(
            labels, w, tr.tensor([0, 0, 3]), mode="sum", per_sample_weights=p
        ),
        [(4, 3), (4,)],
    ),
    "embedding_bag mean": (
        lambda w: F.embedding_bag(labels.view(2, 2), w),
        [(4, 3)],
    ),
    "embedding_bag max": (lambda w: F.embedding_bag(labels.view(2, 2), w, mode="max"), [(4, 3)]),
    "bilinear layer": (F.bilinear, [(3, 2), (3, 4), (2, 2, 4), (2,)]),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, labels, ignore_index=3, label_smoothing=0.1),
        [(4, 4)],
    ),
    "cross_entropy probabilities": (
        lambda x, t: F.cross_entropy(x, t.softmax(1), reduction="none"),
        [(4, 3), (4, 3)],
    ),
    "linear_cross_entropy": (lambda x, w: F.linear_cross_entropy(x, w, labels), [(4, 3), (4, 3)]),
    "nll_loss": (
        lambda x: F.nll_loss(x, labels.view(2, 2), tr.ones(4, dtype=tr.float64)),
        [(2, 4, 2)],
    ),
    "bce": (
        lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.sigmoid(), reduction="none"),
        [(5,), (5,)],
    ),
    "bce logits": (
        lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w),
        [(4, 3), (4, 3), (3,)],
    ),
    "mse": (F.mse_loss, [(4, 3), (4, 3)]),
    "l1": (F.l1_loss, [(4, 3), (4, 3)]),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), [(4, 3), (4, 3)]),
    "huber": (lambda x, y: F.huber_loss(x, y, delta=0.5), [(4, 3), (4, 3)]),
    "kl_div": (
        lambda x, t: F.kl_div(x.log_softmax(1), t.softmax(1), reduction="batchmean"),
        [(4, 3), (4, 3)],
    ),
    "kl_div log": (lambda x, t: F.kl_div(x, t, reduction="sum", log_target=True), [(4, 3), (4, 3)]),
    "poisson": (lambda x, t: F.poisson_nll_loss(x, t + 3, full=True), [(4,), (4,)]),
    "gaussian": (lambda x, t, v: F.gaussian_nll_loss(x, t, v.exp()), [(4, 3), (4, 3), (4,)]),
    "hinge": (lambda x: F.hinge_embedding_loss(x, signs, 0.5), [(4,)]),
    "ranking": (lambda x, y: F.margin_ranking_loss(x, y, signs, 0.1), [(4,), (4,)]),
    "cosine_embedding": (
        lambda x, y: F.cosine_embedding_loss(x, y, signs, 0.1),
        [(4, 3), (4, 3)],
    ),
    "soft_margin": (lambda x: F.soft_margin_loss(x, signs), [(4,)]),
    "multi_margin": (lambda x: F.multi_margin_loss(x, labels, p=2), [(4, 4)]),
    "multilabel_margin": (
        lambda x: F.multilabel_margin_loss(x, tr.tensor([[2, 0, -1, 1], [1, -1, 0, 0]])),
        [(2, 4)],
    ),
    "multilabel_soft_margin": (
        lambda x: F.multilabel_soft_margin_loss(x, (rand(4, 3) > 0).double()),
        [(4, 3)],
    ),
    "triplet": (lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True), [(4, 3)] * 3),
    "triplet distance": (
        lambda a, p, n: F.triplet_margin_with_distance_loss(a, p, n, margin=0.3),
        [(4, 3)] * 3,
    ),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, -1), [(4, 3), (1, 3)]),
    "pairwise_distance": (lambda x, y: F.pairwise_distance(x, y, 3.0), [(4, 3), (4, 3)]),
    "cdist": (tr.cdist, [(2, 3, 4), (2, 2, 4)]),
    "cdist p": (lambda x, y: tr.cdist(x, y, 1.5), [(3, 4), (2, 4)]),
    "pdist": (F.pdist, [(4, 3)]),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, allowed),
        [(2, 3, 4), (2, 3, 4), (2, 3, 2)],
    ),
    "attention causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        [(1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)],
    ),
    "softmin": (lambda x: F.softmin(x, 1), [(2, 3)]),
    "lstm_cell": (
        lambda x, h, c, wi, wh: tr.lstm_cell(x, (h, c), wi, wh),
        [(2, 3), (2, 2), (2, 2), (8, 3), (8, 2)],
    ),
    "gru": (
        lambda x, h, wi, wh, bi, bh: tr.gru(
            x, h, [wi, wh, bi, bh], True, 1, 0.0, False, False, False
        ),
        [(3, 2, 3), (1, 2, 2), (6, 3), (6, 2), (6,), (6,)],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    f, shapes = GRADIENTS[name]
    inputs = [leaf(*s, seed=i) for i, s in enumerate(shapes)]
    assert tr.autograd.gradcheck(f, inputs)
    assert tr.autograd.gradgradcheck(f, inputs)


def test_complex_convolution_gradients():
    def f(*parts):
        x, w = tr.complex(*parts[:2]), tr.complex(*parts[2:])
        return tr.view_as_real(F.conv1d(x, w, padding=1))

    parts = [leaf(1, 2, 5), leaf(1, 2, 5, seed=1), leaf(3, 2, 2), leaf(3, 2, 2, seed=1)]
    assert tr.autograd.gradcheck(f, parts)
    assert tr.autograd.gradgradcheck(f, parts)


# --- values ---------------------------------------------------------------------------------------


def reference_conv(x, w, stride, padding, dilation, groups):
    """y[n, o, p] = sum of w[o, c, k] x[n, c, p * stride - padding + k * dilation]."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * rank)
    per = w.shape[0] // groups
    size = [
        (x.shape[2 + d] - dilation * (w.shape[2 + d] - 1) - 1) // stride + 1 for d in range(rank)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    for o in range(w.shape[0]):
        first = o // per * w.shape[1]
        for k in itertools.product(*map(range, w.shape[2:])):
            window = tuple(
                slice(i * dilation, i * dilation + (n - 1) * stride + 1, stride)
                for i, n in zip(k, size, strict=True)
            )
            for c in range(w.shape[1]):
                y[:, o] += w[(o, c, *k)] * x[(slice(None), first + c, *window)]
    return y


@pytest.mark.parametrize(
    "stride,padding,dilation,groups", [(1, 0, 1, 1), (2, 2, 1, 2), (1, 3, 2, 4)]
)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_is_its_definition(rank, stride, padding, dilation, groups):
    x = rand(2, 8, *(7, 6, 5)[:rank])
    w = rand(4, 8 // groups, *(3, 2, 2)[:rank])
    conv = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    want = reference_conv(x.numpy(), w.numpy(), stride, padding, dilation, groups)
    got = conv(x, w, None, stride, padding, dilation, groups)
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)
    # The transposed form is the gradient for the input.
    y = rand(*want.shape, seed=5)
    back = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    x.requires_grad_()
    conv(x, w, None, stride, padding, dilation, groups).backward(y)
    extra = [
        n - ((m - 1) * stride - 2 * padding + dilation * (k - 1) + 1)
        for n, m, k in zip(x.shape[2:], y.shape[2:], w.shape[2:], strict=True)
    ]
    got = back(y, w, None, stride, padding, extra, groups, dilation)
    np.testing.assert_allclose(got.numpy(), x.grad.numpy(), atol=1e-12)


def test_convolution_of_large_images_and_dtypes():
    x, w = rand(1, 5, 90, 110), rand(6, 5, 3, 3)
    want = reference_conv(x.numpy(), w.numpy(), 1, 1, 1, 1)
    for dtype, tolerance in ((tr.float32, 1e-5), (tr.float16, 3e-2), (tr.bfloat16, 3e-1)):
        got = F.conv2d(x.to(dtype), w.to(dtype), padding=1)
        assert got.dtype == dtype
        np.testing.assert_allclose(got.double().numpy(), want, atol=tolerance)
    whole = F.conv2d(tr.ones(1, 1, 3, 3, dtype=tr.int64), tr.ones(1, 1, 2, 2, dtype=tr.int64))
    assert whole.tolist() == [[[[4, 4], [4, 4]]]]


def test_threads_change_no_bits():
    x = rand(2, 6, 40, 40, dtype=tr.float32).requires_grad_()
    w = rand(8, 6, 3, 3, dtype=tr.float32).requires_grad_()

    def results():
        y = F.avg_pool2d(F.max_pool2d(F.conv2d(x, w, padding=1), 2), 3)
        y = F.interpolate(F.group_norm(y, 2), (31, 17), mode="bilinear")
        return [y, *tr.autograd.grad(y.square().sum(), [x, w])]

    before = tr.get_num_threads()
    try:
        tr.set_num_threads(1)
        alone = results()
        tr.set_num_threads(3)
        for a, b in zip(alone, results(), strict=True):
            assert tr.equal(a, b)
    finally:
        tr.set_num_threads(before)


def test_channels_last_input_gives_the_same():
    x = rand(2, 3, 5, 6)
    last = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    w = rand(4, 3, 3, 3)
    for f in (
        lambda t: F.conv2d(t, w),
        lambda t: F.max_pool2d(t, 2),
        lambda t: F.avg_pool2d(t, 2),
        lambda t: F.interpolate(t, (3, 9), mode="bilinear"),
        lambda t: F.batch_norm(t, None, None, training=True),
    ):
        np.testing.assert_allclose(f(last).numpy(), f(x).numpy(), atol=1e-12)


def test_pooling_is_its_definition():
    x = rand(1, 1, 5, 6).numpy()[0, 0]
    t = tr.from_numpy(x)[None, None]
    padded = np.pad(x, 1)
    sums = np.array(
        [[padded[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].sum() for j in range(3)] for i in range(3)]
    )
    np.testing.assert_allclose(F.avg_pool2d(t, 3, 2, 1)[0, 0].numpy(), sums / 9, atol=1e-12)
    low = np.pad(x, 1, constant_values=-np.inf)
    most = np.array(
        [[low[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max() for j in range(3)] for i in range(3)]
    )
    got, at = F.max_pool2d(t, 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(got[0, 0].numpy(), most)
    np.testing.assert_array_equal(x.ravel()[at[0, 0].numpy()], most)
    back = F.max_unpool2d(got[0], at[0], 3, 2, 1, output_size=(5, 6))
    assert set(back.numpy().ravel()) == {0.0, *most.ravel()}
    nan = tr.tensor([[1.0, math.nan, 2.0]])
    assert math.isnan(F.max_pool1d(nan, 3).item())
    assert F.avg_pool2d(tr.tensor([[[1, 2], [4, 8]]]), 2).tolist() == [[[3]]]


def test_adaptive_windows_cover_everything():
    x = rand(1, 1, 7)
    edges = [(i * 7 // 3, -(-(i + 1) * 7 // 3)) for i in range(3)]
    want = [x[0, 0, a:b].mean().item() for a, b in edges]
    np.testing.assert_allclose(F.adaptive_avg_pool1d(x, 3)[0, 0].numpy(), want, atol=1e-12)
    want = [x[0, 0, a:b].max().item() for a, b in edges]
    assert F.adaptive_max_pool1d(x, 3)[0, 0].tolist() == want


def test_interpolation_values():
    x = tr.tensor([[[0.0, 1.0, 4.0]]])
    assert F.interpolate(x, 6).tolist() == [[[0, 0, 1, 1, 4, 4]]]
    got = F.interpolate(x, 5, mode="linear", align_corners=True)
    assert got.tolist() == [[[0.0, 0.5, 1.0, 2.5, 4.0]]]
    # A cubic through points of a line is the line, away from the borders.
    line = tr.arange(16.0).reshape(1, 1, 1, 16).expand(1, 1, 4, 16)
    wide = F.interpolate(line, (4, 31), mode="bicubic", align_corners=True)[0, 0, 1]
    np.testing.assert_allclose(wide.numpy()[4:-4], np.arange(31)[4:-4] / 2, atol=1e-5)
    small = F.interpolate(line, (4, 4), mode="bilinear", antialias=True)[0, 0, 0]
    assert abs(small.mean().item() - 7.5) < 1e-5
    image = tr.tensor([[[[0, 255], [255, 0]]]], dtype=tr.uint8)
    assert F.interpolate(image, (1, 1), mode="bilinear").tolist() == [[[[128]]]]


def test_padding_modes():
    x = tr.arange(4.0)[None, None]
    assert F.pad(x, (2, 1)).tolist() == [[[0, 0, 0, 1, 2, 3, 0]]]
    assert F.pad(x, (2, 1), "reflect").tolist() == [[[2, 1, 0, 1, 2, 3, 2]]]
    assert F.pad(x, (2, 1), "replicate").tolist() == [[[0, 0, 0, 1, 2, 3, 3]]]
    assert F.pad(x, (2, 1), "circular").tolist() == [[[2, 3, 0, 1, 2, 3, 0]]]
    assert F.pad(x, (-1, -1)).tolist() == [[[1, 2]]]


def test_identity_grids_give_the_image():
    x = rand(1, 2, 4, 5)
    eye = tr.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=tr.float64)
    for align, mode in itertools.product((True, False), ("bilinear", "nearest", "bicubic")):
        grid = F.affine_grid(eye, (1, 2, 4, 5), align)
        got = F.grid_sample(x, grid, mode, "border", align)
        np.testing.assert_allclose(got.numpy(), x.numpy(), atol=1e-12)
    far = tr.full((1, 1, 1, 2), math.nan, dtype=tr.float64)
    assert F.grid_sample(x, far, "nearest", "zeros", False).tolist() == [[[[0.0]], [[0.0]]]]


def test_norms_have_zero_mean_and_unit_variance():
    x = rand(4, 6, 5) * 3 + 100
    for y, dims in (
        (F.layer_norm(x, (5,), eps=0), -1),
        (F.group_norm(x, 2, eps=0).reshape(4, 2, 15), -1),
        (F.instance_norm(x, eps=0), -1),
        (F.batch_norm(x, None, None, training=True, eps=0), (0, 2)),
    ):
        y = y.numpy()
        np.testing.assert_allclose(y.mean(axis=dims), 0, atol=1e-10)
        np.testing.assert_allclose(y.var(axis=dims), 1, atol=1e-10)
    mean, var = tr.zeros(6, dtype=tr.float64), tr.ones(6, dtype=tr.float64)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    data = x.numpy()
    np.testing.assert_allclose(mean.numpy(), data.mean((0, 2)) / 2)
    np.testing.assert_allclose(var.numpy(), 0.5 + data.var((0, 2), ddof=1) / 2)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(tr.ones(1, 3), None, None, training=True)


def test_ctc_sums_over_all_alignments():
    steps, labels_, classes = 4, [1, 2], 3
    scores = rand(steps, 1, classes).requires_grad_()
    logp = scores.log_softmax(-1)
    p = logp.detach().numpy()[:, 0]

    def collapse(path):
        merged = [k for k, _ in itertools.groupby(path)]
        return [c for c in merged if c != 0]

    total = sum(
        math.exp(sum(p[t, c] for t, c in enumerate(path)))
        for path in itertools.product(range(classes), repeat=steps)
        if collapse(path) == labels_
    )
    loss = F.ctc_loss(logp, tr.tensor([labels_]), [steps], [2], reduction="sum")
    assert abs(loss.item() + math.log(total)) < 1e-12
    # The gradient is exact behind log_softmax.
    assert tr.autograd.gradcheck(
        lambda s: F.ctc_loss(s.log_softmax(-1), tr.tensor([labels_]), [steps], [2]), [scores]
    )
    never = F.ctc_loss(logp[:1], tr.tensor([labels_]), [1], [2], reduction="none")
    assert never.tolist() == [math.inf]
    assert F.ctc_loss(logp[:1], tr.tensor([labels_]), [1], [2], zero_infinity=True).item() == 0


def test_packed_sequences_agree_with_padded_ones():
    wi, wh = rand(8, 3), rand(8, 2)
    params = [wi, wh] + [rand(8, 3, seed=1), rand(8, 2, seed=1)]
    zero = tr.zeros(2, 2, 2, dtype=tr.float64)
    x = rand(4, 2, 3)
    lengths = [4, 2]
    options = (False, 1, 0.0, False, True)
    alone = [
        tr.lstm(x[:n, i : i + 1], [zero[:, :1]] * 2, params, *options, False)
        for i, n in enumerate(lengths)
    ]
    data = tr.cat([x[:2].reshape(4, 3), x[2:, 0]])
    out, h, c = tr.lstm(data, tr.tensor([2, 2, 1, 1]), [zero, zero], params, *options)
    first = tr.cat([out[0:1], out[2:3], out[4:]])
    np.testing.assert_allclose(first.numpy(), alone[0][0][:, 0].numpy(), atol=1e-12)
    np.testing.assert_allclose(out[1:4:2].numpy(), alone[1][0][:, 0].numpy(), atol=1e-12)
    for i in range(2):
        np.testing.assert_allclose(h[:, i].numpy(), alone[i][1][:, 0].numpy(), atol=1e-12)
        np.testing.assert_allclose(c[:, i].numpy(), alone[i][2][:, 0].numpy(), atol=1e-12)


def test_several_heads():
    x = rand(3, 2, 4)
    out, weights = F.multi_head_attention_forward(
        x, x, x, 4, 2, rand(12, 4), None, None, None, False, 0.0, rand(4, 4), None
    )
    assert out.shape == (3, 2, 4)
    np.testing.assert_allclose(weights.sum(-1).numpy(), np.ones((2, 3)), atol=1e-12)
    fast, none = F.multi_head_attention_forward(
        x, x, x, 4, 2, rand(12, 4), None, None, None, False, 0.0, rand(4, 4), None,
        need_weights=False,
    )  # fmt: skip
    assert none is None
    np.testing.assert_allclose(fast.numpy(), out.numpy(), atol=1e-12)


def test_dropout_of_channels():
    tr.manual_seed(0)
    y = F.dropout2d(tr.ones(8, 8, 3, 3), 0.5)
    per_channel = y.reshape(64, 9)
    assert bool((per_channel == per_channel[:, :1]).all())
    assert set(y.flatten().tolist()) == {0.0, 2.0}
    z = F.alpha_dropout(tr.randn(10000), 0.3, True)
    assert abs(z.mean().item()) < 0.05 and abs(z.numpy().var() - 1) < 0.1
    hard = F.gumbel_softmax(tr.randn(5, 4), hard=True)
    assert hard.sum(-1).tolist() == [1.0] * 5


def test_rows_that_count_less():
    w = leaf(4, 2)
    index = tr.tensor([1, 1, 2, 0])
    F.embedding(index, w, padding_idx=2, scale_grad_by_freq=True).sum().backward()
    assert w.grad.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    bags = F.embedding_bag(index, w, tr.tensor([0, 2]), padding_idx=-2)
    np.testing.assert_allclose(bags.detach().numpy(), w.detach().numpy()[[1, 0]])
    F.embedding(index, w.detach(), max_norm=0.1)
    assert (w.detach()[:3].norm(dim=1) <= 0.1 + 1e-6).all()


# --- refusals -------------------------------------------------------------------------------------

x4 = tr.ones(1, 2, 4, 4)
huge = 1 << 62
REFUSED = [
    (lambda: F.conv2d(x4, tr.ones(1, 3, 2, 2)), RuntimeError, "channels"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 5, 5)), RuntimeError, "Kernel size can't be greater"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 2, 2), stride=0), RuntimeError, "non-positive stride"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 2, 2), padding=-1), RuntimeError, "negative padding"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 2, 2), dilation=huge), RuntimeError, "too large"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 2, 2).double()), RuntimeError, "should be the same"),
    (lambda: F.conv2d(x4, tr.ones(1, 2, 2, 2), groups=0), RuntimeError, "groups"),
    (lambda: F.conv2d(x4 > 0, tr.ones(1, 2, 2, 2) > 0), NotImplementedError, "Bool"),
    (
        lambda: F.conv_transpose2d(x4, tr.ones(2, 1, 2, 2), output_padding=9),
        RuntimeError,
        "smaller",
    ),
    (lambda: F.max_pool2d(x4, 3, padding=2), RuntimeError, "at most half"),
    (lambda: F.max_pool2d(x4, 0), RuntimeError, "greater than zero"),
    (lambda: F.max_pool2d(x4, 9), RuntimeError, "too small"),
    (lambda: F.avg_pool2d(x4, 2, divisor_override=0), RuntimeError, "not zero"),
    (lambda: F.adaptive_avg_pool2d(x4, (huge, 1)), RuntimeError, "too large"),
    (lambda: F.adaptive_max_pool2d(x4, (1 << 30, 1)), RuntimeError, "too large"),
    (lambda: F.interpolate(x4, (1 << 30, 1)), RuntimeError, "too large"),
    (lambda: F.pdist(tr.ones(1 << 33, 0)), RuntimeError, "overflow|large|fit"),
    (lambda: F.max_unpool2d(x4, tr.full((1, 2, 4, 4), 64), 2), RuntimeError, "invalid max index"),
    (lambda: F.unfold(x4, 9), RuntimeError, "sliding blocks"),
    (lambda: F.fold(tr.ones(1, 4, 3), 4, 2), RuntimeError, "sliding blocks"),
    (lambda: F.pad(x4, (5, 0, 0, 0), "reflect"), RuntimeError, "Padding size should be less"),
    (lambda: F.pad(x4, (huge, huge)), RuntimeError, "too large|overflow|large"),
    (lambda: F.interpolate(x4, (0, 3)), RuntimeError, "greater than 0"),
    (lambda: F.interpolate(x4, 3, scale_factor=2), ValueError, "only one"),
    (
        lambda: F.grid_sample(x4, tr.ones(2, 3, 3, 2), align_corners=True),
        RuntimeError,
        "batch size",
    ),
    (lambda: F.pixel_shuffle(x4, 3), RuntimeError, "divisible"),
    (lambda: F.embedding(tr.tensor([9]), tr.ones(3, 2)), IndexError, "out of (range|bounds)"),
    (lambda: F.embedding_bag(tr.tensor([9]), tr.ones(3, 2), tr.tensor([0])), RuntimeError, "idx"),
    (lambda: F.embedding(labels, tr.ones(4, 2), sparse=True), NotImplementedError, "sparse"),
    (lambda: F.nll_loss(tr.ones(2, 3), tr.tensor([0, 5])), IndexError, "out of bounds"),
    (lambda: F.mse_loss(x4, x4, reduction="some"), ValueError, "not a valid value"),
    (lambda: F.multi_margin_loss(tr.ones(1, 3), tr.tensor([7])), RuntimeError, "out of range"),
    (lambda: F.ctc_loss(tr.ones(3, 1, 2), tr.tensor([[7]]), [3], [1]), RuntimeError, "range"),
    (lambda: F.ctc_loss(tr.ones(3, 1, 2), tr.tensor([[1]]), [9], [1]), RuntimeError, "at most 3"),
    (lambda: tr.cdist(tr.ones(2, 3), tr.ones(2, 4)), RuntimeError, "number of columns"),
    (lambda: F.scaled_dot_product_attention(x4, x4, x4.double()), RuntimeError, "same dtype"),
    (lambda: tr.gru(x4[0], x4[0], [], True, 1, 0.0, False, False, False), RuntimeError, "size"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals(case):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()
