"""Every differentiable op of the table: its gradient against differences, the gradient's own
gradient, forward mode against reverse mode, vmap against a loop.

Arguments are made up from the schema; where shapes or values matter, ARGUMENTS has them, by the
op's name with or without its overload. A new op needs a row there only if the test says so.
"""

import pathlib
import re
import sys
import warnings

import pytest
import treadle as E
from treadle.func import jvp, vmap

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "engine" / "python"))
from opsdoc import FUNCTION, FUNCTIONAL, METHOD, SUBMODULE, arguments, name_of  # noqa: E402

made = []  # the sizes of this sample's tensors


def x(*shape, low=0.15, high=0.9):
    """Distinct numbers that require grad, further apart than the steps of the differences, also
    from those of the tensors before."""
    count = E.Size(shape).numel()
    values = E.linspace(low, high, max(count, 2), dtype=E.float64)[:count]
    values = values + (0, 0.0117, 0.0231, 0.0373, 0.0051)[len(made) % 5]
    made.append(count)
    return values[E.randperm(count)].reshape(shape).requires_grad_()


def z(*shape):
    return E.complex(x(*shape).detach(), x(*shape).detach()).requires_grad_()


def spd(n):
    """A matrix with all that factorisations ask for: symmetric, positive, of distinct values."""
    a = x(n, n).detach()
    return (a @ a.t() + E.diag(E.arange(1.0, n + 1, dtype=E.float64))).requires_grad_()


def t(*values):
    return E.tensor(values[0] if len(values) == 1 else values)


def c(*shape):
    """A tensor that needs no gradient."""
    return x(*shape).detach()


def call(*args, **kwargs):
    return args, kwargs


LAYER = (True, 1, 0.0, False, False)  # of recurrent layers: with biases, one, no dropout, ...
# What the op is called with.
ARGUMENTS = """
_clamp_tensor: x(3, 3), c(3, 3) * 0.5, c(3, 3) + 0.4
arccosh: x(3) + 1
igamma: c(3), x(3)
igammac: c(3), x(3)
special_zeta: c(3) + 2, x(3)
_einsum: 'ij,jk->ik', [x(2, 3), x(3, 2)]
_segment_reduce: x(4, 2), 'sum', lengths=t(1, 3)
segment_reduce: x(4, 2), 'max', lengths=t(1, 3)
_upsample_bicubic2d_aa: x(1, 1, 4, 4), [3, 2]
_upsample_bilinear2d_aa: x(1, 1, 4, 4), [3, 2]
_upsample_nearest_exact1d: x(1, 2, 3), [5]
_upsample_nearest_exact2d: x(1, 2, 3, 2), [4, 5]
_upsample_nearest_exact3d: x(1, 1, 2, 2, 2), [3, 3, 1]
_vector_norm: x(2, 3), 3.0, [1]
adaptive_avg_pool1d: x(2, 5), [3]
adaptive_avg_pool2d: x(2, 5, 3), [3, 2]
adaptive_avg_pool3d: x(1, 3, 2, 3), [2, 2, 2]
adaptive_max_pool1d: x(2, 5), [3]
adaptive_max_pool2d: x(2, 5, 3), [3, 2]
adaptive_max_pool3d: x(1, 3, 2, 3), [2, 2, 2]
addbmm: x(2, 3), x(2, 2, 2), x(2, 2, 3)
addmv: x(2), x(2, 3), x(3)
addr: x(2, 3), x(2), x(3)
affine_grid_generator: x(1, 2, 3), [1, 1, 2, 3], False
as_strided: x(3, 3), [2, 2], [3, 1], 1
as_strided_copy: x(3, 3), [2, 2], [3, 1], 1
as_strided_scatter: x(3, 3), x(2, 2), [2, 2], [3, 1], 1
avg_pool1d: x(2, 5), [2]
avg_pool2d: x(2, 5, 4), [2, 2], [1, 2], [1, 0]
avg_pool3d: x(1, 3, 2, 3), [2, 2, 2]
baddbmm: x(2, 2, 3), x(2, 2, 2), x(2, 2, 3)
batch_norm: x(3, 2), x(2), x(2), None, None, True, 0.1, 1e-5, False
bilinear: x(3, 2), x(3, 4), x(2, 2, 4), x(2)
binary_cross_entropy: x(3, 2), x(3, 2)
bmm: x(2, 2, 3), x(2, 3, 2)
broadcast_to: x(3), [2, 3]
cartesian_prod: [x(2), x(3)]
cdist: x(3, 2), x(4, 2)
channel_shuffle: x(1, 4, 2, 2), 2
native_channel_shuffle: x(1, 4, 2, 2), 2
cholesky_inverse: spd(3)
cholesky_solve: x(3, 2), spd(3)
chunk: x(4, 2), 2
clamp.Tensor: x(3, 3), c(3, 3) * 0.5, c(3, 3) + 0.4
clip.Tensor: x(3, 3), c(3, 3) * 0.5, c(3, 3) + 0.4
clamp: x(3, 3), 0.3, 0.7
clip: x(3, 3), 0.3, 0.7
col2im: x(1, 4, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]
combinations: x(4)
complex: x(3), x(3)
constant_pad_nd: x(2, 3), [1, 2]
conv1d: x(1, 2, 5), x(2, 2, 3), x(2)
conv1d.padding: x(1, 2, 5), x(2, 2, 3), x(2), 1, 'same'
conv2d: x(1, 2, 4, 3), x(2, 2, 2, 2), x(2)
conv2d.padding: x(1, 2, 4, 3), x(2, 2, 2, 2), x(2), [1, 1], 'same'
conv3d: x(1, 1, 3, 3, 2), x(1, 1, 2, 2, 2), x(1)
conv3d.padding: x(1, 1, 3, 3, 2), x(1, 1, 2, 2, 2), x(1), [1, 1, 1], 'same'
conv_tbc: x(5, 1, 2), x(3, 2, 2), x(2)
conv_transpose1d: x(1, 2, 4), x(2, 2, 3), x(2), 2
conv_transpose2d.input: x(1, 2, 3, 2), x(2, 1, 2, 2), x(1), 2
conv_transpose3d.input: x(1, 1, 2, 2, 2), x(1, 1, 2, 2, 2), x(1)
convolution: x(1, 2, 5), x(2, 2, 3), x(2), [1], [1], [1], False, [0], 1
cosine_embedding_loss: x(3, 2), x(3, 2), t(1., -1., 1.)
cross_entropy_loss: x(3, 4), t(0, 3, 1), label_smoothing=0.1
ctc_loss.IntList: x(5, 1, 4), t([[1, 2]]), [5], [2]
ctc_loss.Tensor: x(5, 1, 4), t([[1, 2]]), t([5]), t([2])
cumprod: x(2, 3), 1
diagonal_scatter: x(3, 3), x(3)
dist: x(3), x(3) + 1
div.Tensor_mode: x(3), x(3), rounding_mode=None
divide.Tensor_mode: x(3), x(3), rounding_mode=None
dot: x(3), x(3)
vdot: x(3), x(3)
dsplit.int: x(1, 2, 4), 2
dsplit.array: x(1, 2, 4), [1, 3]
embedding: x(4, 2), t(1, 3, 1)
embedding_bag: x(4, 2), t(1, 3, 1), t(0, 2)
embedding_bag.padding_idx: x(4, 2), t(1, 3, 1), t(0, 2), False, 1, False, None, False, 2
expand: x(3), [2, 3]
expand_as: x(3), x(2, 3)
expand_copy: x(3), [2, 3]
fill: x(2, 3), x()
fractional_max_pool2d: x(1, 4, 4), [2, 2], [2, 2], c(1, 1, 2)
fractional_max_pool3d: x(1, 4, 4, 3), [2, 2, 2], [2, 2, 2], c(1, 1, 3)
gather: x(2, 3), 1, t([[0, 2], [1, 1]])
geqrf: x(3, 2)
ger: x(2), x(3)
outer: x(2), x(3)
glu: x(2, 4)
gradient.points: x(3, 4), spacing=[c(3).sort()[0], c(4).sort()[0]]
gradient.numbers: x(3, 4), spacing=[0.5, 2.0]
grid_sampler: x(1, 1, 3, 3), x(1, 2, 2, 2) - 0.53, 0, 0, False
grid_sampler_2d: x(1, 1, 3, 3), x(1, 2, 2, 2) - 0.53, 0, 0, False
grid_sampler_3d: x(1, 1, 2, 2, 2), x(1, 1, 2, 2, 3) - 0.53, 0, 0, False
group_norm: x(2, 4, 3), 2, x(4), x(4)
gru.input: x(2, 1, 3), x(1, 1, 4), [x(12, 3), x(12, 4), x(12), x(12)], *LAYER, False
gru.data: x(3, 3), t(2, 1), x(1, 2, 4), [x(12, 3), x(12, 4), x(12), x(12)], *LAYER
gru_cell: x(2, 3), x(2, 4), x(12, 3), x(12, 4), x(12), x(12)
rnn_relu.input: x(2, 1, 3), x(1, 1, 4), [x(4, 3), x(4, 4), x(4), x(4)], *LAYER, False
rnn_relu.data: x(3, 3), t(2, 1), x(1, 2, 4), [x(4, 3), x(4, 4), x(4), x(4)], *LAYER
rnn_tanh.input: x(2, 1, 3), x(1, 1, 4), [x(4, 3), x(4, 4), x(4), x(4)], *LAYER, False
rnn_tanh.data: x(3, 3), t(2, 1), x(1, 2, 4), [x(4, 3), x(4, 4), x(4), x(4)], *LAYER
rnn_relu_cell: x(2, 3), x(2, 4), x(4, 3), x(4, 4), x(4), x(4)
rnn_tanh_cell: x(2, 3), x(2, 4), x(4, 3), x(4, 4), x(4), x(4)
lstm.input: x(2, 1, 3), [x(1, 1, 2), x(1, 1, 2)], [x(8, 3), x(8, 2), x(8), x(8)], *LAYER, False
lstm.data: x(3, 3), t(2, 1), [x(1, 2, 2), x(1, 2, 2)], [x(8, 3), x(8, 2), x(8), x(8)], *LAYER
lstm_cell: x(2, 3), [x(2, 2), x(2, 2)], x(8, 3), x(8, 2), x(8), x(8)
hinge_embedding_loss: x(3), t(1., -1., 1.)
hsplit.int: x(2, 4), 2
huber_loss: x(3) * 4, x(3), 1, 0.8
im2col: x(1, 1, 3, 4), [2, 2], [1, 1], [0, 0], [1, 1]
imag: z(3)
index.Tensor: x(3, 3), [t(0, 2, 0)]
index_add: x(3, 2), 0, t(0, 2), x(2, 2)
index_copy: x(3, 2), 0, t(0, 2), x(2, 2)
index_fill: x(3, 2), 0, t(0, 2), x()
index_put: x(3, 2), [t(0, 2)], x(2, 2)
index_reduce: x(3, 2), 0, t(0, 2), x(2, 2), 'prod'
index_select: x(3, 2), 0, t(0, 2, 0)
instance_norm: x(2, 2, 3), x(2), x(2), None, None, True, 0.1, 1e-5, False
istft: z(3, 4), 4, 2, None, c(4) + 1
stft: x(8), 4, 2, None, c(4), return_complex=True
kthvalue: x(2, 3), 2
layer_norm: x(2, 3), [3], x(3), x(3)
rms_norm: x(2, 3), [3], x(3)
leaky_relu: x(3) - 0.5
linear: x(2, 3), x(2, 3), x(2)
lu_solve: x(3, 2), *E.linalg.lu_factor(spd(3).detach())
lu_unpack: *(v.detach().requires_grad_(v.is_floating_point()) for v in E.linalg.lu_factor(spd(3)))
masked_fill: x(2, 3), t([[True, False, True]]), x()
masked_scatter: x(2, 3), t([[True, False, True]]).expand(2, 3), x(6)
masked_select: x(2, 3), t([[True, False, True]])
max_pool1d: x(2, 5), [2]
max_pool1d_with_indices: x(2, 5), [2]
max_pool2d: x(1, 4, 4), [2, 2], [1, 2]
max_pool2d_with_indices: x(1, 4, 4), [2, 2], [1, 2]
max_pool3d: x(1, 3, 3, 2), [2, 2, 2]
max_pool3d_with_indices: x(1, 3, 3, 2), [2, 2, 2]
max_unpool2d: x(1, 2, 2), t([[[0, 3], [9, 14]]]), [4, 4]
max_unpool3d: x(1, 1, 2, 2), t([[[[0, 3], [9, 14]]]]), [2, 4, 4]
meshgrid: [x(2), x(3)]
meshgrid.indexing: [x(2), x(3)], indexing='xy'
multi_margin_loss: x(3, 4), t(0, 3, 1)
multilabel_margin_loss: x(2, 4), t([[3, 0, -1, 1], [0, 1, -1, 2]])
mv: x(2, 3), x(3)
mvlgamma: x(3) + 2, 2
nanquantile: x(3, 4), c(2).sort()[0], 1
quantile: x(3, 4), c(2).sort()[0], 1
narrow: x(4), 0, 1, 2
narrow_copy: x(4), 0, 1, 2
narrow.Tensor: x(4), 0, t(1), 2
native_batch_norm: x(3, 2), x(2), x(2), None, None, True, 0.1, 1e-5
native_group_norm: x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5
native_layer_norm: x(2, 3), [3], x(3), x(3), 1e-5
nll_loss: x(3, 4), t(0, 3, 1)
orgqr: x(3, 2), x(2)
ormqr: x(3, 2), x(2), x(3, 2)
pad: x(1, 2, 4), [1, 2], 'reflect'
permute: x(2, 3), [1, 0]
permute_copy: x(2, 3), [1, 0]
pixel_shuffle: x(1, 4, 2, 2), 2
pixel_unshuffle: x(1, 1, 4, 4), 2
poisson_nll_loss: x(3), x(3), True, False, 1e-8, 1
polar: x(3), x(3)
polygamma: 1, x(3)
prelu: x(2, 3) - 0.5, x(3)
put: x(2, 3), t(1, 4), x(2)
renorm: x(3, 2), 2, 0, 0.6
repeat: x(2, 3), [2, 1]
repeat_interleave.self_int: x(3), 2
repeat_interleave.self_Tensor: x(3), t(1, 2, 0)
reshape: x(2, 3), [3, 2]
scaled_dot_product_attention: x(1, 3, 2), x(1, 3, 2), x(1, 3, 2)
scatter.src: x(2, 3), 1, t([[0, 2], [1, 0]]), x(2, 2)
scatter.value: x(2, 3), 1, t([[0, 2], [1, 0]]), 0.5
scatter.reduce: x(2, 3), 1, t([[0, 2], [1, 0]]), x(2, 2), reduce='add'
scatter.value_reduce: x(2, 3), 1, t([[0, 2], [1, 0]]), 0.5, reduce='multiply'
scatter_add: x(2, 3), 1, t([[0, 2], [1, 1]]), x(2, 2)
scatter_reduce.two: x(2, 3), 1, t([[0, 2], [1, 1]]), x(2, 2), 'prod'
select_scatter: x(2, 3), x(3), 0, 1
slice_scatter: x(3, 2), x(2, 2), 0, 1
slogdet: spd(3)
soft_margin_loss: x(3), t(1., -1., 1.)
split.Tensor: x(5), 2
split.sizes: x(5), [2, 3]
split_copy.Tensor: x(5), 2
split_with_sizes: x(5), [2, 3]
split_with_sizes_copy: x(5), [2, 3]
sum_to_size: x(2, 3), [1, 3]
take: x(2, 3), t(0, 4, 4)
take_along_dim: x(2, 3), t([[0, 2], [1, 1]]), 1
tensor_split.sections: x(5), 2
tensor_split.indices: x(5), [1, 3]
tensor_split.tensor_indices_or_sections: x(5), t(2)
tile: x(2, 3), [2]
to.dtype: x(3), E.complex128
topk: x(2, 4), 2
triangular_solve: x(3, 2), spd(3)
triplet_margin_loss: x(3, 2), x(3, 2), x(3, 2)
unflatten.int: x(6), 0, [2, 3]
unfold: x(5), 0, 3, 1
unfold_copy: x(5), 0, 3, 1
unsafe_chunk: x(4), 2
unsafe_split.Tensor: x(5), 2
unsafe_split_with_sizes: x(5), [2, 3]
upsample_bicubic2d: x(1, 1, 3, 3), [4, 5]
upsample_bilinear2d: x(1, 1, 3, 3), [4, 5]
upsample_linear1d: x(1, 2, 3), [5]
upsample_nearest1d: x(1, 2, 3), [5]
upsample_nearest2d: x(1, 1, 3, 2), [4, 5]
upsample_nearest3d: x(1, 1, 2, 2, 2), [3, 3, 1]
upsample_trilinear3d: x(1, 1, 2, 2, 2), [3, 3, 1]
vander: x(3)
linalg_vander: x(3)
view: x(2, 3), [3, 2]
view_copy: x(2, 3), [3, 2]
view_as: x(2, 3), x(3, 2)
reshape_as: x(2, 3), x(3, 2)
view_as_complex: x(3, 2)
view_as_complex_copy: x(3, 2)
view_as_real: z(3)
view_as_real_copy: z(3)
vsplit.int: x(4, 2), 2
vsplit.array: x(4, 2), [1]
where.self: t([[True, False, True]]), x(2, 3), x(2, 3)
linalg_cholesky: spd(3)
linalg_cholesky_ex: spd(3)
linalg_cross: x(2, 3), x(2, 3)
linalg_eigh: spd(3)
linalg_eigvalsh: spd(3)
linalg_eig: spd(3)
linalg_eigvals: spd(3)
linalg_cond.p_str: spd(3), 'fro'
linalg_cond: spd(3)
linalg_matrix_norm: x(2, 3), 1
linalg_matrix_power: spd(3), 3
linalg_matrix_sqrth: spd(3)
linalg_multi_dot: [x(2, 3), x(3, 2), x(2, 2)]
linalg_norm.ord_str: x(2, 3), 'fro'
linalg_pinv: x(3, 2), 1e-8
linalg_pinv.rcond_tensor: x(3, 2), t(1e-8)
linalg_householder_product: x(3, 2), x(2)
linalg_lstsq: x(4, 2), x(4, 2)
linalg_lu_solve: *E.linalg.lu_factor(spd(3).detach()), x(3, 2)
linalg_qr: x(3, 2)
linalg_solve: spd(3), x(3, 2)
linalg_solve_ex: spd(3), x(3, 2)
linalg_inv: spd(3)
linalg_inv_ex: spd(3)
linalg_slogdet: spd(3)
linalg_det: spd(3)
linalg_solve_triangular: spd(3), x(3, 2), upper=True
linalg_tensorinv: spd(6).reshape(2, 3, 6)
linalg_tensorsolve: spd(6).reshape(2, 3, 6), x(2, 3)
linalg_ldl_factor: spd(3)
linalg_ldl_factor_ex: spd(3)
logdet: spd(3)
inverse: spd(3)
det: spd(3)
pinverse: x(3, 2)
norm.str: x(2, 3), 'fro'
norm.number: x(2, 3), 3
"""
# Not checked: why.
ROUNDS = "rounds, so that differences say nothing"
RAISES = "PyTorch has no derivative either"
SKIPPED = {
    **dict.fromkeys(("bfloat16", "cfloat", "chalf", "float", "half"), ROUNDS),
    "poisson": "its gradient is 0 by definition, not by differences",
    **dict.fromkeys(("geqrf", "linalg_ldl_factor", "linalg_ldl_factor_ex"), RAISES),
}
# The op looks at one triangle, or its gradient is that on symmetric, triangular or normalised input
# alone: what each input goes through first.
SYMMETRIC = ("linalg_cholesky", "linalg_cholesky_ex", "cholesky", "linalg_eigh", "linalg_eigvalsh",
             "linalg_matrix_sqrth")  # fmt: skip
PREPARED = {
    **dict.fromkeys(SYMMETRIC, lambda a: (a + a.mT) / 2),
    **dict.fromkeys(
        ("cholesky_inverse", "cholesky_solve"), lambda a: a.tril() if a.shape == (3, 3) else a
    ),
    **dict.fromkeys(("ctc_loss.IntList", "ctc_loss.Tensor"), lambda a: a.log_softmax(2)),
}
# What vmap refuses, or of which it makes other random numbers.
NO_VMAP = (
    "alpha_dropout dropout feature_alpha_dropout feature_dropout native_dropout poisson "
    "masked_select"
).split()
# PyTorch's gradient of it can't be differentiated either, which forward mode needs.
ONCE = ("ctc_loss.IntList", "ctc_loss.Tensor")
# Of eigenvectors only what doesn't depend on their phase.
FINISHED = {
    "linalg_eig": lambda values, vectors: (values, vectors.abs()),
    "linalg_eigh": lambda values, vectors: (values, vectors.abs()),
}


def table():
    """The rows as {name: source of the arguments}."""
    found = {}
    for line in ARGUMENTS.strip().splitlines():
        name, _, source = line.partition(": ")
        found[name] = source
    return found


SOURCES = table()
ROWS = {
    name_of(row["schema"]): row
    for row in E._C._op_table()
    if row["differentiable"] and row["variants"] & (FUNCTION | METHOD | FUNCTIONAL | SUBMODULE)
}


def function_of(name, variants):
    base = name.partition(".")[0]
    if variants & FUNCTION:
        return getattr(E._C, base)
    if variants & FUNCTIONAL:
        return getattr(E._C._nn, base)
    if variants & SUBMODULE:
        module, _, short = base.partition("_")
        return getattr(getattr(E, module), short)
    return getattr(E.Tensor, base)


def made_up(row):
    """Arguments from the schema alone: square matrices of numbers that most ops take."""
    schema = row["schema"]
    low, high = row.get("domain", (0.0, 1.0)) if row["elementwise"] else (0.0, 1.0)
    low, high = max(low, -2.0), min(high, 2.0)
    span = dict(low=low + 0.13 * (high - low), high=high - 0.11 * (high - low))
    keyword = schema.partition("*, ")[2]
    args, kwargs = [], {}
    for kind, name, default in arguments(schema):
        if default:
            continue
        base = kind.rstrip("?")
        if base.startswith("Tensor") and "[" in base:
            value = [x(3, 3), x(3, 3)]
        elif base.startswith("Tensor"):
            value = x(3, 3, **span)
        elif kind.endswith("?"):
            value = None
        elif base.startswith("int["):
            value = [0]
        else:
            value = {"Scalar": 1, "int": 0, "float": 0.5, "bool": False, "str": "fro"}[base]
        if re.search(rf"[ (]{name}[,)=]", keyword):
            kwargs[name] = value
        else:
            args.append(value)
    return args, kwargs


def sample(name):
    """(function of the tensors that require grad, those tensors)."""
    made.clear()
    row = ROWS[name]
    function = function_of(name, row["variants"])
    source = SOURCES.get(name) or SOURCES.get(name.partition(".")[0])
    args, kwargs = eval(f"call({source})", globals()) if source else made_up(row)  # noqa: S307
    places = []  # of the tensors: (container, key)
    args = list(args)
    for i, a in enumerate(args):
        if isinstance(a, list) and any(isinstance(v, E.Tensor) for v in a):
            places += [(i, k) for k, v in enumerate(a) if v.requires_grad]
        elif isinstance(a, E.Tensor) and a.requires_grad:
            places.append((i, None))

    def run(*tensors):
        filled = [list(a) if isinstance(a, list) else a for a in args]
        for (i, k), v in zip(places, tensors):
            v = PREPARED[name](v) if name in PREPARED else v
            if k is None:
                filled[i] = v
            else:
                filled[i][k] = v
        E.manual_seed(0)
        out = function(*filled, **kwargs)
        outs = [out] if isinstance(out, E.Tensor) else list(out)
        if name in FINISHED:
            outs = FINISHED[name](*outs)
        return tuple(o for o in outs if o.is_floating_point() or o.is_complex())

    return run, [(args[i] if k is None else args[i][k]).detach() for i, k in places]


def dot(a, b):
    """The real inner product of two lists of tensors."""
    total = E.zeros((), dtype=E.float64)
    for p, q in zip(a, b):
        if p is not None and q is not None:
            total = total + (p * q.conj()).real.sum().to(E.float64)
    return total


def like(tensors):
    return [E.randn(v.shape, dtype=v.dtype) for v in tensors]


@pytest.mark.parametrize("name", sorted(ROWS))
def test_derivatives(name):
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(name)


def check(name):
    run, inputs = sample(name)
    leaves = [v.clone().requires_grad_() for v in inputs]
    outs = run(*leaves)
    rolled = [o for o in outs if o.requires_grad]
    assert rolled, "no result requires grad"
    chosen = [i for i, o in enumerate(outs) if o.requires_grad]
    weights, step = like(rolled), like(leaves)

    def value(*tensors):
        results = run(*tensors)
        return dot([results[i] for i in chosen], weights)

    def slope(*tensors):
        """The derivative in the direction of `step`, by reverse mode."""
        found = E.autograd.grad(value(*tensors), tensors, create_graph=True, allow_unused=True)
        return dot(found, step)

    def differences(f):
        h = 1e-5
        with E.enable_grad():
            up = f(*(v.add(s, alpha=h).requires_grad_() for v, s in zip(inputs, step)))
            down = f(*(v.sub(s, alpha=h).requires_grad_() for v, s in zip(inputs, step)))
        return float((up - down).detach()) / (2 * h)

    def close(a, b, what, tolerance=1e-5):
        a, b = float(a), float(b)
        assert abs(a - b) <= tolerance * max(1.0, abs(a), abs(b)), f"{what}: {a} and {b}"

    first = slope(*leaves)
    close(first.detach(), differences(value), "gradient and differences")
    if name not in ONCE:
        _, tangents = jvp(lambda *v: tuple(run(*v)[i] for i in chosen), tuple(inputs), tuple(step))
        close(first.detach(), dot(tangents, weights), "reverse and forward mode", 1e-9)
    if name not in NO_VMAP:
        both = [E.stack([v, 0.98 * v]) for v in inputs]
        for i, (v, a, b) in enumerate(
            zip(vmap(run)(*both), run(*inputs), run(*(v[1].clone() for v in both)))
        ):
            assert E.allclose(v, E.stack([a, b]), rtol=1e-9, atol=1e-12), f"vmap and a loop, {i}"
    if first.requires_grad and name not in ONCE:
        second = E.autograd.grad(first, leaves, allow_unused=True)
        close(dot(second, step), differences(slope), "second gradient and differences", 1e-4)
