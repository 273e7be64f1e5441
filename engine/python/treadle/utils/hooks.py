"""Ordered tables of hooks and the handles that take a hook out again.

Every place that accepts hooks (modules, optimizers) keeps one `HookTable`; `add` returns the
`RemovableHandle` that the public `register_*_hook` methods hand to the user.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

_ids = itertools.count()


class HookTable(OrderedDict[int, Any]):
    """Hooks in calling order, by the id of their handle."""

    def add(self, hook: Callable[..., Any], *, prepend: bool = False) -> RemovableHandle:
        if not callable(hook):
            raise TypeError(f"hook must be callable, not {type(hook).__name__}")
        handle = RemovableHandle(self)
        self[handle.id] = hook
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle


class RemovableHandle:
    """Takes one hook out of its table: `handle.remove()`, or leave a `with` block.

    Holds the table weakly, so a forgotten handle keeps no module alive. Removing twice is allowed.
    """

    def __init__(self, table: OrderedDict[int, Any]) -> None:
        self._table = weakref.ref(table)
        self.id = next(_ids)

    def remove(self) -> None:
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
