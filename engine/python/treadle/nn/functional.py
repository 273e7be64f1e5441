"""Functions of layers: what nn's modules call. Each is one op of the engine or composed of ops, so
that it has gradients of any order.
"""

from __future__ import annotations

from .. import _C
from ._attention import *  # noqa: F403
from ._images import *  # noqa: F403
from ._losses import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._pooling import *  # noqa: F403

Tensor = _C.Tensor
_nn = _C._nn


# --- layers ---------------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: (*, in) with weight (out, in) gives (*, out)."""
    return _nn.linear(input, weight, bias)


conv1d = _C.conv1d
conv2d = _C.conv2d
conv3d = _C.conv3d
conv_transpose1d = _C.conv_transpose1d
conv_transpose2d = _C.conv_transpose2d
conv_transpose3d = _C.conv_transpose3d
conv_tbc = _C.conv_tbc
bilinear = _C.bilinear
cosine_similarity = _C.cosine_similarity
pairwise_distance = _C.pairwise_distance
pdist = _C.pdist


# --- activations ----------------------------------------------------------------------------------


def _into(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """What an activation returns that has no in-place op of its own."""
    return input.copy_(result) if inplace else result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return input.relu_() if inplace else input.relu()


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x."""
    return _into(input, _nn.leaky_relu(input, negative_slope), inplace)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x * Phi(x), or its tanh approximation (approximate="tanh")."""
    return _nn.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _into(input, _nn.silu(input), inplace)


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    return _nn.softplus(input, beta, threshold)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x cut to [min_val, max_val]."""
    return _into(input, _nn.hardtanh(input, min_val, max_val), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return _nn.logsigmoid(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (exp(x) - 1)."""
    return _into(input, _nn.elu(input, alpha), inplace)
