"""The process-wide generator and its state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _C
from ._C import default_generator, initial_seed, manual_seed, seed

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def get_rng_state() -> _C.Tensor:
    """State of the default generator, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: _C.Tensor) -> None:
    """Puts a state of get_rng_state() back."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Restores the default generator at the end of the block.

    devices, device_type: which other devices' generators are restored, too: there are none.
    """
    if devices and device_type not in (None, "cpu"):
        raise RuntimeError(f"{_caller}(): this build has only the cpu device")
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
