"""The grad modes under the name that PyTorch's users import them from, and rarer switches."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Switch:
    """A flag that is set at once; as a `with` block it is restored at the end."""

    value = True

    def __init__(self, mode: bool) -> None:
        self.prev = type(self).value
        self.mode = mode
        type(self).value = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        type(self).value = self.prev

    def __call__(self, function: Any) -> Any:
        import functools

        type(self).value = self.prev  # as a decorator it acts in the calls alone

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.mode):
                return function(*args, **kwargs)

        return wrapped


class set_multithreading_enabled(_Switch):
    """Kept for programs that set it: on one device backward uses the calling thread either way."""


class _force_original_view_tracking(_Switch):
    """Kept for programs that set it: views are always tracked by their geometry."""

    value = False


class _unsafe_preserve_version_counter:
    """In the block, writes to the tensors don't count as changes."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        for t, v in zip(self.tensors, self.versions):
            _C._set_version(t, v)


def is_multithreading_enabled() -> bool:
    return set_multithreading_enabled.value


def is_view_replay_enabled() -> bool:
    return _force_original_view_tracking.value
