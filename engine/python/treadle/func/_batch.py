"""vmap: tensors with a hidden batch dimension, and how ops treat it.

A rule moves the batch dimension to the front and calls the op once, on the whole batch: elementwise
ops (the table knows them), ops along dimensions, views, matrix products and joins have one. Any
other op runs for one example after another; its results are stacked. The rules are in _rules.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _C, random
from .._modes import forward
from ._dual import Dual, elementwise
from ._levels import (
    Level,
    Tensor,
    Wrapped,
    batch_levels,
    map_tensors,
    plain_calls,
    tape_grad,
    tensors_in,
)
from ._refusals import CHECKS

DATA = (
    "vmap: It looks like you're {} on a Tensor. We don't support vmap over {} on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere "
    "inside PyTorch internals, please file a bug report."
)


MEMORY = (
    "Cannot access data pointer of Tensor that doesn't have storage: vmap doesn't support calling "
    "{} on a Tensor"
)
# By the name of the op; filled by _rules.
RULES: dict[str, Any] = {}


class Batched(Wrapped):
    """A tensor of which the function sees one example; `_inner` has all, along `_bdim`."""

    _bdim: int

    @staticmethod
    def make(inner: Tensor, bdim: int, level: Level) -> Batched:
        with plain_calls():
            if level.size == 0 and inner.shape[bdim] == 0:  # there is no first example: any does
                shape = tuple(inner.shape)
                first = inner.detach().new_zeros((*shape[:bdim], *shape[bdim + 1 :]))
            else:
                first = inner.detach().select(bdim, 0)
            made: Batched = _C._make_subclass(Batched, first)
        made._inner, made._bdim, made._level = inner, bdim, level
        if forward.seen is not None:
            forward.seen[id(inner)] = weakref.ref(made)
        return made

    def _rewrap(self, inner: Tensor) -> Tensor:
        return Batched.make(inner, self._bdim, self._level)

    @classmethod
    def _call(cls, func: Any, args: Any, kwargs: Any, level: Level) -> Any:
        if not level.alive:
            raise RuntimeError(
                "a tensor that vmap made for its function was used after vmap returned"
            )
        name = func.__name__
        if kwargs.get("out") is not None:
            raise RuntimeError(
                f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't "
                "work on out= or view ops."
            )
        if name == "__setitem__" or (name[-1] == "_" and name[-2:] != "__"):
            return _inplace(func, name, args, kwargs, level)
        if _draws(name):
            if level.randomness == "error":
                random_error(level)
            with _drawing_outside(level):
                return loop(func, args, kwargs, level)
        if name in CHECKS:
            CHECKS[name](args, kwargs, lambda t: _ours(t, level))
        rule = RULES.get(name) or (RULES["elementwise"] if name in elementwise() else None)
        if rule is not None:
            result = rule(func, args, kwargs, level)
            if result is not NotImplemented:
                return result
        return loop(func, args, kwargs, level)

    @classmethod
    def _tape_grad(
        cls,
        level: Level,
        outputs: list[Any],
        inputs: list[Any],
        grads: list[Any],
        create_graph: bool,
        retain_graph: bool | None,
        allow_unused: bool,
    ) -> tuple[Any, ...]:
        """On the tape of the whole batch at once, if each example's result depends on its own
        inputs alone; else for one example after another."""

        def ours(t: Any) -> bool:
            return isinstance(t, Batched) and t._level is level

        def inner(t: Any) -> Any:
            return t._inner if ours(t) else t

        direct = all(ours(o) or not ours(g) for o, g in zip(outputs, grads))
        if direct and (not any(map(ours, outputs)) or all(ours(i) for i in inputs)):
            cot = []
            for o, g in zip(outputs, grads):
                if ours(g):
                    g = g._inner.movedim(g._bdim, o._bdim)
                elif g is not None and ours(o):
                    g = g.unsqueeze(o._bdim).expand(o._inner.shape)
                elif g is None and ours(o):
                    g = _C.ones_like(o._inner)
                cot.append(g)
            found = tape_grad(
                [inner(o) for o in outputs],
                [inner(i) for i in inputs],
                cot,
                create_graph,
                retain_graph,
                allow_unused,
            )
            return tuple(
                Batched.make(g, i._bdim, level) if g is not None and ours(i) else g
                for g, i in zip(found, inputs)
            )
        if level.size == 0:
            return tuple(_C.zeros_like(i) for i in inputs)
        rows = []
        for k in range(level.size):
            one = [o._inner.select(o._bdim, k) if ours(o) else o for o in outputs]
            cot = [g._inner.select(g._bdim, k) if ours(g) else g for g in grads]
            rows.append(
                tape_grad(one, [inner(i) for i in inputs], cot, create_graph, True, allow_unused)
            )
        result: list[Any] = []
        for column, i in zip(zip(*rows), inputs):
            if all(g is None for g in column):
                result.append(None)
                continue
            filled = [_C.zeros_like(inner(i)) if g is None else g for g in column]
            if ours(i):  # each example's own gradient lies in its own part
                filled = [g.select(i._bdim, k) for k, g in enumerate(filled)]
            result.append(Batched.make(_C.stack(filled, 0), 0, level))
        return tuple(result)

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't support that yet, please file an issue at "
            "https://github.com/pytorch/pytorch/issues ."
        )

    def item(self) -> Any:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def tolist(self) -> Any:
        raise RuntimeError(MEMORY.format(".tolist()"))

    def data_ptr(self) -> int:
        raise RuntimeError(MEMORY.format(".data_ptr()"))

    def __float__(self) -> float:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def __int__(self) -> int:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def __index__(self) -> int:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(MEMORY.format(".numpy()"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError(MEMORY.format(".numpy()"))


def spread(t: Tensor, levels: Iterable[Level]) -> Tensor:
    """Batched at all these vmaps, so that each example has its own; the same memory."""
    held = set()
    inner: Any = t
    while isinstance(inner, Wrapped):
        held.add(inner._level.id)
        inner = inner._inner
    for level in levels:
        if level.id not in held:
            t = _put_below(t, level)
    return t


def _put_below(t: Any, level: Level) -> Tensor:
    """t with a batch dimension for the level, below the wrappers of levels inside it."""
    if isinstance(t, Wrapped) and t._level.id > level.id:
        if isinstance(t, Dual):
            tangent = t._tangent
            assert tangent is not None
            return Dual.make(_put_below(t._inner, level), tangent, t._level)
        assert isinstance(t, Batched)
        return Batched.make(_put_below(t._inner, level), t._bdim, t._level)
    return Batched.make(t.unsqueeze(0).expand((level.size, *t.shape)), 0, level)


# --- parts of rules -------------------------------------------------------------------------------


def _ours(t: Any, level: Level) -> bool:
    return isinstance(t, Batched) and t._level is level


def front(t: Any) -> Tensor:
    """The whole batch, its dimension first."""
    return t._inner if t._bdim == 0 else t._inner.movedim(t._bdim, 0)


def _aligned(t: Any, rank: int) -> Tensor:
    """The batch first, then 1s up to `rank` dimensions."""
    whole = front(t)
    missing = rank - t.dim()
    if missing > 0:
        whole = whole.reshape((whole.shape[0], *(1,) * missing, *whole.shape[1:]))
    return whole


def wrap(result: Any, level: Level) -> Any:
    """Results whose first dimension is the batch."""
    return map_tensors(lambda t: Batched.make(t, 0, level), result)


def example(x: Any, level: Level, i: int) -> Any:
    return map_tensors(lambda t: t._inner.select(t._bdim, i) if _ours(t, level) else t, x)


# Ops that count elements of memory: each example needs its own, as if alone.
COUNTS_MEMORY = frozenset(("as_strided_scatter",))
# Views by a place in memory.
PLACES = frozenset(("as_strided", "as_strided_copy"))


def _own_place(args: Any, kwargs: Any, whole: Tensor) -> tuple[Any, dict[str, Any]]:
    """The offset counts from where the batch's memory begins: for an example from where its own
    does."""
    given = dict(zip(("size", "stride", "storage_offset"), args[1:]), **kwargs)
    if given.get("storage_offset") is not None:
        given["storage_offset"] += args[0].storage_offset() - whole.storage_offset()
    return args[:1], given


def loop(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """One example after another."""
    if level.size == 0:
        return _loop_over_none(func, args, kwargs, level)
    results = []
    state = random.get_rng_state() if level.randomness == "same" and _draws(func.__name__) else None
    for i in range(level.size):
        if state is not None:
            random.set_rng_state(state)
        one_args, one_kwargs = example((args, kwargs), level, i)
        if func.__name__ in COUNTS_MEMORY:
            one_args = map_tensors(_C.clone, one_args)
        elif func.__name__ in PLACES and _ours(args[0], level):
            one_args, one_kwargs = _own_place(one_args, one_kwargs, args[0]._inner)
        results.append(func(*one_args, **one_kwargs))
    first = results[0]
    if isinstance(first, Tensor):
        return _stack(results, level)
    if isinstance(first, (tuple, list)) and any(isinstance(f, Tensor) for f in first):
        columns = [_stack(list(c), level) for c in zip(*results)]
        if hasattr(first, "_fields"):
            return type(first)(*columns)
        return type(first)(columns)
    if any(r != first for r in results):
        raise RuntimeError(
            f"vmap: {func.__name__} gives different values for the examples of the batch, which a "
            "function under vmap can't tell apart (data-dependent control flow)"
        )
    return first


def _loop_over_none(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """Of an empty batch: results have the shape that they have for an example of zeros."""

    def zeros(t: Tensor) -> Any:
        return t._inner.new_zeros(tuple(t.shape)) if _ours(t, level) else t

    def none(t: Tensor) -> Tensor:
        return Batched.make(t.new_zeros((0, *t.shape)), 0, level)

    return map_tensors(none, func(*map_tensors(zeros, args), **map_tensors(zeros, kwargs)))


def _stack(column: list[Any], level: Level) -> Any:
    if not isinstance(column[0], Tensor):
        return column[0]
    if any(c.shape != column[0].shape for c in column):
        raise RuntimeError(
            "vmap: the op gives results of different shapes for the examples of the batch "
            "(data-dependent output shapes aren't supported)"
        )
    return Batched.make(_C.stack(column, 0), 0, level)


# In-place ops that change the shape alone: the tensor becomes another view of its memory.
RESHAPING = frozenset("squeeze_ unsqueeze_ transpose_ swapaxes_ swapdims_ t_ as_strided_".split())


def _inplace(func: Any, name: str, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if name in ("requires_grad_", "detach_"):
        return func(self._inner, *args[1:], **kwargs) if name == "requires_grad_" else self
    if not _ours(self, level):
        what = "inplace arithmetic" if name == "copy_" or name[:-1] in elementwise() else name
        raise RuntimeError(
            f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor "
            "`other` in extra_args that has more elements than `self`. This happened due to "
            "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
            f"use out-of-place operators instead of {what}. If said operator is being called "
            "inside the PyTorch framework, please file a bug report instead."
        )
    if name in ("resize_", "resize_as_", "set_"):
        raise RuntimeError(f"vmap: {name} changes the memory of a Tensor, which isn't supported")
    if _draws(name):
        if level.randomness == "error":
            random_error(level)
        with _drawing_outside(level):
            return _inplace_loop(func, name, args, kwargs, level)
    if name[:-1] in elementwise():
        rank = self.dim()
        others = [t for t in tensors_in((args[1:], kwargs)) if _ours(t, level)]
        if all(o.dim() <= rank for o in others):
            whole = front(self)

            def aligned(t: Tensor) -> Tensor:
                return _aligned(t, rank) if _ours(t, level) else t

            func(whole, *map_tensors(aligned, args[1:]), **map_tensors(aligned, kwargs))
            return self
    if name in ("zero_", "fill_") and not any(_ours(t, level) for t in tensors_in(args[1:])):
        func(self._inner, *args[1:], **kwargs)
        return self
    if name in RESHAPING:
        moved = getattr(self, name[:-1])(*args[1:], **kwargs)
        with plain_calls():  # what is seen of the first example, which says the shape
            func(self, *args[1:], **kwargs)
        self._inner, self._bdim = moved._inner, moved._bdim
        return self
    return _inplace_loop(func, name, args, kwargs, level)


def _inplace_loop(func: Any, name: str, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    before = self.shape
    loop_args = (args, kwargs)
    state = random.get_rng_state() if level.randomness == "same" and _draws(name) else None
    for i in range(level.size):
        if state is not None:
            random.set_rng_state(state)
        own_args, own_kwargs = example(loop_args, level, i)
        own = own_args[0]
        func(*own_args, **own_kwargs)
        if name != "__setitem__" and own.shape != before:
            raise RuntimeError(f"vmap: {name} changes the shape in place, which isn't supported")
    return None if name == "__setitem__" else self


def random_error(level: Level) -> None:
    if level.manual:
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please perform "
            "random operations outside of vmap as a workaround"
        )
    raise RuntimeError(
        "vmap: called random operation while in randomness error mode. Please either use the 'same'"
        " or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
    )


_RANDOM = frozenset(
    "bernoulli multinomial normal poisson rand_like randn_like randint_like dropout alpha_dropout "
    "feature_dropout feature_alpha_dropout dropout1d dropout2d dropout3d rrelu uniform_ normal_ "
    "random_ bernoulli_ exponential_ log_normal_ cauchy_ geometric_ rand randn randint randperm "
    "native_dropout _standard_gamma _sample_dirichlet binomial".split()
)


def _draws(name: str) -> bool:
    return name in _RANDOM


def random_factory(level: Level) -> Callable[..., Any]:
    """What vmap does with randn(3) and the like, in which no argument is batched."""

    def call(func: Any, args: Any, kwargs: Any) -> Any:
        if level.randomness == "error":
            random_error(level)
        with _drawing_outside(level):
            if level.randomness == "same":
                return func(*args, **kwargs)
            if func.__name__[-1] == "_":
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. "
                    "This will appear like same randomness. If this is necessary for your usage, "
                    "please file an issue with functorch."
                )
            return loop(func, args, kwargs, level)

    return call


@contextmanager
def _drawing_outside(level: Level) -> Iterator[None]:
    """A block whose random ops come to the next vmap outside."""
    outside = [v for v in batch_levels() if v.id < level.id]
    before = _C._set_random_override(random_factory(outside[-1]) if outside else None)
    try:
        yield
    finally:
        _C._set_random_override(before)
