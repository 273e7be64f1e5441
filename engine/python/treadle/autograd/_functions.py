"""Functions that PyTorch keeps here for old programs."""

from __future__ import annotations

from typing import Any

from .. import _C
from .function import Function


class Resize(Function):
    """The elements in another shape."""

    @staticmethod
    def forward(ctx: Any, tensor: _C.Tensor, sizes: tuple[int, ...]) -> _C.Tensor:
        ctx.sizes = sizes
        count = 1
        for n in sizes:
            count *= n
        if tensor.numel() != count:
            raise RuntimeError(
                f"requested resize to {sizes} ({count} elements in total), but the given tensor "
                f"has a size of {tuple(tensor.shape)} ({tensor.numel()} elements). autograd's "
                "resize can only change the shape of a given tensor, while preserving the number "
                "of elements. "
            )
        ctx.input_sizes = tensor.shape
        return tensor.contiguous().view(sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: _C.Tensor) -> Any:
        return grad_output.contiguous().view(ctx.input_sizes), None
