"""Warnings that are given once, unless set_warn_always() asks for them each time."""

from __future__ import annotations

_always = False
_given: set[str] = set()


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once come each time; tests of warnings want that."""
    global _always
    _always = bool(b)


def is_warn_always_enabled() -> bool:
    """What set_warn_always() has set."""
    return _always


def first_time(warning: str) -> bool:
    """Whether the warning of that name is to be given now."""
    if _always:
        return True
    if warning in _given:
        return False
    _given.add(warning)
    return True
