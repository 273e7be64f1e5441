"""Forward mode by hand: dual numbers within a `dual_level` block.

with dual_level():
    y = f(make_dual(x, tangent))
    value, moved = unpack_dual(y)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _C
from .._modes import forward
from ..func._api import _check_tangent
from ..func._batch import Batched
from ..func._dual import Dual
from ..func._levels import Level, Wrapped

Tensor = _C.Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1
_open: list[Level] = []


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual returns: the value, and its tangent or None."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Opens the level; returns its number, 0. RuntimeError if one is open: they don't nest."""
    global _current_level
    if _open:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. Use treadle.func.jvp, which "
            "nests."
        )
    _open.append(Level("jvp").__enter__())
    _open[0].manual = True
    _open[0].forward_outside = forward.enabled
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes it; tangents are gone."""
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    if not _open:
        raise RuntimeError("Trying to exit a forward AD level but no level was open")
    _open.pop().__exit__()
    _current_level = -1


class dual_level:
    """A level for a `with` block."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *args: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """An alias of the tensor that carries the tangent, of the same shape and dtype."""
    if level is None:
        level = _current_level
    if level < 0 or not _open:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    for what, t in (("forward gradient", tangent), ("Tensor", tensor)):
        if isinstance(t, Dual) and t._level is _open[0] and t._tangent is not None:
            if what == "Tensor":
                raise RuntimeError(
                    "Trying to set a forward gradient on a Tensor that already has one"
                )
            raise RuntimeError(
                "Trying to set a forward gradient that has a forward gradient at the same level. "
                "This is not supported."
            )
    if any(isinstance(t, Batched) and not t._level.manual for t in _layers(tensor)):
        raise RuntimeError(
            "Batching rule not implemented for aten::_make_dual; the fallback path doesn't work on "
            "out= or view ops."
        )
    _check_tangent(tensor, tangent)
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(
            f"Trying to set a forward gradient of dtype {tangent.dtype} on a Tensor of dtype "
            f"{tensor.dtype}"
        )
    if isinstance(tensor, Dual):
        tensor = tensor._inner
    if not isinstance(tensor, Wrapped) and not isinstance(tangent, Wrapped):
        tangent = _laid_out_like(tensor, tangent)
    return Dual.make(_alias(tensor), tangent, _open[0])


def _layers(tensor: Any) -> Iterator[Any]:
    while isinstance(tensor, Wrapped):
        yield tensor
        tensor = tensor._inner


def _layout(t: Tensor) -> tuple[Any, ...]:
    room = t.untyped_storage().nbytes() // t.element_size()
    return room, t.storage_offset(), t.stride(), t.is_conj(), t.is_neg()


def _laid_out_like(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent, a copy if its layout in memory isn't the primal's: ops on that layout (views
    such as as_strided) apply themselves to both."""
    room, offset, strides, conj, neg = layout = _layout(primal)
    if layout == _layout(tangent) or primal.numel() == 0:
        return tangent
    copy = _C.zeros((room,), dtype=tangent.dtype).as_strided(primal.shape, strides, offset)
    if conj:
        copy = copy.conj()
    if neg:
        copy = copy._neg_view()
    return copy.copy_(tangent)


def _alias(tensor: Tensor) -> Tensor:
    if isinstance(tensor, Wrapped) or tensor.requires_grad:
        return tensor.view_as(tensor)
    return tensor.detach()


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(an alias of the value, the tangent or None)."""
    if level is None:
        level = _current_level
    if level < 0 or not _open:
        inner = tensor._inner if isinstance(tensor, Dual) else tensor
        return UnpackedDualTensor(inner, None)
    if isinstance(tensor, Dual) and tensor._level is _open[0]:
        return UnpackedDualTensor(_alias(tensor._inner), tensor._tangent)
    if isinstance(tensor, Dual) and not tensor._level.alive:
        return UnpackedDualTensor(tensor._inner, None)
    return UnpackedDualTensor(tensor, None)


def _is_fwd_grad_enabled() -> bool:
    return forward.enabled


class _set_fwd_grad_enabled:
    """Turns forward mode on or off, at once; as a `with` block it is restored at the end."""

    def __init__(self, mode: bool) -> None:
        self.prev = forward.enabled
        forward.enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        forward.enabled = self.prev
