"""How long each op takes: profile, and blocks named with record_function.

with profile() as p:
    y = model(x)
print(p.key_averages().table(sort_by="self_cpu_time_total"))

An event is a call that the program makes in this thread, timed by a mode that takes over all calls:
ops that another op is composed of are part of its event, and a backward pass isn't broken down.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from .. import _C
from ..overrides import TorchFunctionMode
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]

# Operators whose op has another name than the method without its underscores.
_OPERATORS = {
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "invert": "bitwise_not",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "getitem": "index",
    "setitem": "index_put_",
}
_BINARY = frozenset("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split())


class _Running(threading.local):
    """The profiles that are on in this thread."""

    def __init__(self) -> None:
        self.profiles: list[profile] = []


_running = _Running()


def _enabled() -> bool:
    return bool(_running.profiles)


def _op_name(func: Any) -> str:
    """As PyTorch names the op: "aten::add"."""
    name = func.__name__
    if name[:2] == "__" and name[-2:] == "__":
        name = name[2:-2]
        if name[:1] in "ri" and name[1:] in _BINARY:
            inplace, name = name[0] == "i", name[1:]
            name = _OPERATORS.get(name, name) + "_" * inplace
        else:
            name = _OPERATORS.get(name, name)
    return f"aten::{name}"


def _shapes(args: Any) -> list[Any]:
    """For each argument the shape of a tensor, the shapes of a list of tensors, or []."""

    def one(a: Any) -> list[Any]:
        if isinstance(a, _C.Tensor):
            return list(a.shape)
        if isinstance(a, (list, tuple)) and any(isinstance(t, _C.Tensor) for t in a):
            return [one(t) for t in a]
        return []

    return [one(a) for a in args]


class _Timer(TorchFunctionMode):
    def __init__(self, owner: profile) -> None:
        self.owner = owner

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("__get__", "__set__"):  # attributes
            return func(*args, **kwargs)
        shapes = _shapes((*args, *kwargs.values())) if self.owner.record_shapes else None
        start = time.perf_counter_ns()
        try:
            return func(*args, **kwargs)
        finally:
            self.owner._note(_op_name(func), start, shapes)


class profile:
    """Times what runs in the block; `function_events` has the events in the order of their starts.

    record_shapes: with the shapes of the arguments. use_cpu and use_kineto choose among PyTorch's
    tracers; here there is one. NotImplementedError for what isn't measured: devices other than the
    CPU, memory, flops, stacks and modules.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
    ) -> None:
        for option, given in (
            ("use_cuda", use_cuda),
            ("use_device", use_device is not None and use_device != "cpu"),
            ("with_flops", with_flops),
            ("profile_memory", profile_memory),
            ("with_stack", with_stack),
            ("with_modules", with_modules),
        ):
            if given:
                raise NotImplementedError(f"profile: {option} is not supported")
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False
        self._events: EventList | None = None
        self._noted: list[FunctionEvent] = []

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._start = time.perf_counter_ns()
        self._timer = _Timer(self)
        self._timer.__enter__()
        _running.profiles.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        if not self.enabled:
            return
        _running.profiles.remove(self)
        self._timer.__exit__(None, None, None)
        self._events = EventList(
            sorted(self._noted, key=lambda e: (e.time_range.start, -e.time_range.end))
        )
        self._events._populate_cpu_children()

    def _note(self, name: str, start: int, shapes: Any = None) -> None:
        """An event that ends now."""
        self._noted.append(
            FunctionEvent(
                id=len(self._noted),
                name=name,
                thread=threading.get_ident(),
                start_us=(start - self._start) / 1e3,
                end_us=(time.perf_counter_ns() - self._start) / 1e3,
                input_shapes=shapes,
            )
        )

    @property
    def function_events(self) -> EventList:
        """RuntimeError before the block has ended."""
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def table(self, *args: Any, **kwargs: Any) -> str:
        """EventList.table of all events."""
        return self.function_events.table(*args, **kwargs)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """EventList.key_averages of all events."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        """EventList.export_chrome_trace of all events."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return "<unfinished profile>" if self._events is None else str(self._events)

    __repr__ = __str__


class record_function:
    """Names a block, or the calls of a function that it decorates, in the profiles that are on."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = time.perf_counter_ns()
        return self

    def __exit__(self, *exc: Any) -> None:
        for running in _running.profiles:
            running._note(self.name, self._start)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return wrapped


class emit_itt:
    """Would mark each op for Intel's tracer. Entering it raises NotImplementedError."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_itt:
        if self.enabled:
            raise NotImplementedError(
                f"{type(self).__name__}: no tracer of another vendor is built in; use profile"
            )
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class emit_nvtx(emit_itt):
    """Would mark each op for NVIDIA's tracer. Entering it raises NotImplementedError."""
