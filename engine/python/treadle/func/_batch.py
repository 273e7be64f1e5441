"""vmap: tensors with a hidden batch dimension, and how ops treat it.

A rule moves the batch dimension to the front and calls the op once, on the whole batch: elementwise
ops (the table knows them), ops along dimensions, views, matrix products and joins have one. Any
other op runs for one example after another; its results are stacked. To add a rule: a function
`rule(func, args, kwargs, level)` in RULES; it may return NotImplemented for calls that it leaves to
the loop.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .. import _C, random
from .._modes import forward
from ._dual import Dual, elementwise
from ._levels import Level, Tensor, Wrapped, map_tensors, plain_calls, tape_grad, tensors_in

DATA = (
    "vmap: It looks like you're {} on a Tensor. We don't support vmap over {} on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere "
    "inside PyTorch internals, please file a bug report."
)


# Ops whose results have a shape that depends on the values.
DYNAMIC = frozenset(
    "nonzero argwhere masked_select unique _unique _unique2 unique_consecutive unique_dim".split()
)


class Batched(Wrapped):
    """A tensor of which the function sees one example; `_inner` has all, along `_bdim`."""

    _bdim: int

    @staticmethod
    def make(inner: Tensor, bdim: int, level: Level) -> Batched:
        with plain_calls():
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
            raise RuntimeError(f"vmap: {name}(): the out= variant is not supported inside vmap")
        if name == "__setitem__" or (name[-1] == "_" and name[-2:] != "__"):
            return _inplace(func, name, args, kwargs, level)
        if _draws(name) and level.randomness == "error":
            random_error(level)
        if name in DYNAMIC or name == "where" and len(args) + len(kwargs) == 1:
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. "
                f"Attempted to vmap over aten::{name}. Please voice your support in "
                "https://github.com/pytorch/functorch/issues/256"
            )
        rule = RULES.get(name) or (_elementwise_rule if name in elementwise() else None)
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
            "flow. We don't support that yet, please shout over at "
            "https://github.com/pytorch/functorch/issues/257 ."
        )

    def item(self) -> Any:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def tolist(self) -> Any:
        raise RuntimeError(DATA.format("calling .tolist()", "calling .tolist()"))

    def __float__(self) -> float:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def __int__(self) -> int:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def __index__(self) -> int:
        raise RuntimeError(DATA.format("calling .item()", "calling .item()"))

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(DATA.format("calling .numpy()", "calling .numpy()"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError(DATA.format("calling .numpy()", "calling .numpy()"))


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


def wrap(result: Any, level: Level) -> Any:
    """Results whose first dimension is the batch."""
    return map_tensors(lambda t: Batched.make(t, 0, level), result)


def example(x: Any, level: Level, i: int) -> Any:
    return map_tensors(lambda t: t._inner.select(t._bdim, i) if _ours(t, level) else t, x)


def loop(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """One example after another."""
    results = []
    state = random.get_rng_state() if level.randomness == "same" and _draws(func.__name__) else None
    for i in range(level.size):
        if state is not None:
            random.set_rng_state(state)
        results.append(func(*example(args, level, i), **example(kwargs, level, i)))
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
        raise RuntimeError(
            f"vmap: {'aten::' + name}(self, *extra_args) is not possible because there exists a "
            "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
            "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
            "use out-of-place operators instead of in-place arithmetic. If said operator is being "
            "called inside the PyTorch framework, please file a bug report instead. vmap: inplace "
            "arithmetic(self, *extra_args)"
        )
    if _draws(name) and level.randomness == "error":
        random_error(level)
    if name[:-1] in elementwise() and not _draws(name):
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
        outer = _C._set_random_override(None)
        try:
            if level.randomness == "same":
                return func(*args, **kwargs)
            if func.__name__[-1] == "_":
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. "
                    "This will appear like same randomness. If this is necessary for your usage, "
                    "please file an issue with functorch."
                )
            return loop(func, args, kwargs, level)
        finally:
            _C._set_random_override(outer)

    return call


# --- rules ----------------------------------------------------------------------------------------


def _aligned(t: Any, rank: int) -> Tensor:
    """The batch first, then 1s up to `rank` dimensions."""
    whole = front(t)
    missing = rank - t.dim()
    if missing > 0:
        whole = whole.reshape((whole.shape[0], *(1,) * missing, *whole.shape[1:]))
    return whole


def _elementwise_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    given = tensors_in((args, kwargs))
    rank = max(t.dim() for t in given)
    dtypes = {t.dtype for t in given}
    cast = None
    if len(dtypes) > 1 and rank > 0 and any(t.dim() == 0 for t in given):
        # With its batch dimension a 0-d tensor would weigh more in promotion.
        cast = [t.dtype for t in given if t.dim() > 0]

    def whole(t: Tensor) -> Tensor:
        if not _ours(t, level):
            return t
        made = _aligned(t, rank)
        if cast and t.dim() == 0 and made.dtype != cast[0] and _weight(made) <= _weight_of(cast):
            made = made.to(cast[0])
        return made

    return wrap(func(*map_tensors(whole, args), **map_tensors(whole, kwargs)), level)


def _weight(t: Any) -> int:
    return _weight_of([t.dtype])


def _weight_of(dtypes: list[Any]) -> int:
    """Category of a dtype: bool, integer, floating, complex."""
    return max(
        3 if d.is_complex else 2 if d.is_floating_point else 0 if str(d).endswith("bool") else 1
        for d in dtypes
    )


def _whole_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """Ops that act on every element or only on the last dimensions, with one batched tensor."""
    if not _ours(args[0], level) or any(_ours(t, level) for t in tensors_in((args[1:], kwargs))):
        return NotImplemented
    if any(f in LAYOUTS for f in (*args[1:], *kwargs.values()) if type(f) is _C.memory_format):
        return NotImplemented  # they count dimensions
    return wrap(func(front(args[0]), *args[1:], **kwargs), level)


LAYOUTS = (_C.channels_last, _C.channels_last_3d)


def _own_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """Ops that count elements of memory: each example has its own, as if alone."""
    results = [
        func(*map_tensors(_C.clone, example(args, level, i)), **example(kwargs, level, i))
        for i in range(level.size)
    ]
    return _stack(results, level)


# Which arguments (after self, in order) are dimensions, and what "none given" means: every
# dimension ("all"), the flattened tensor ("flat"), or nothing special (None).
_DIMS: dict[str, tuple[tuple[str, ...], str | None]] = {}
for (
    _name
) in "sum nansum mean nanmean amax amin logsumexp var std var_mean std_mean count_nonzero".split():
    _DIMS[_name] = (("dim",), "all")
for _name in "prod argmax argmin all any max min median nanmedian".split():
    _DIMS[_name] = (("dim",), "flat")
for _name in (
    "softmax log_softmax cumsum cumprod logcumsumexp cummax cummin sort argsort unsqueeze flip "
    "unbind softmin mode".split()
):
    _DIMS[_name] = (("dim",), None)
for _name in "transpose swapaxes swapdims".split():
    _DIMS[_name] = (("dim0", "dim1"), None)
for _name in "select narrow".split():
    _DIMS[_name] = (("dim",), None)
_DIMS["movedim"] = _DIMS["moveaxis"] = (("source", "destination"), None)
# Defaults of `dim` where None isn't it.
_DEFAULT_DIM = {"sort": -1, "argsort": -1, "unbind": 0, "mode": -1}


def _shifted(dim: Any) -> Any:
    if isinstance(dim, (tuple, list)):
        return tuple(_shifted(d) for d in dim)
    return dim + 1 if dim >= 0 else dim


def _dims_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self, rest = args[0], list(args[1:])
    if not _ours(self, level) or any(_ours(t, level) for t in tensors_in((rest, kwargs))):
        return NotImplemented
    names, missing = _DIMS[func.__name__]
    if tensors_in((rest, kwargs)) or (self.dim() == 0 and func.__name__ != "unsqueeze"):
        return NotImplemented
    kwargs = dict(kwargs)
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    whole = front(self)
    if func.__name__ == "flip" and rest and isinstance(rest[0], int):
        rest = [tuple(rest)]
    for k, name in enumerate(names):
        key = "dims" if "dims" in kwargs and name == "dim" else name
        given = rest[k] if k < len(rest) else kwargs.get(key)
        if isinstance(given, bool):
            return NotImplemented
        if given is None and func.__name__ in _DEFAULT_DIM:
            given = _DEFAULT_DIM[func.__name__]
        if given is None or (given == () and missing == "all"):
            if missing == "all":
                given = tuple(range(self.dim()))
            elif missing == "flat":
                if rest or kwargs:
                    return NotImplemented
                result = func(whole.reshape((whole.shape[0], -1)), 1)
                values = result if isinstance(result, Tensor) else result[0]
                return Batched.make(values, 0, level)
            else:
                return NotImplemented
        if not isinstance(given, (int, tuple, list)):
            return NotImplemented
        if any(
            not -self.dim() - 1 <= d <= self.dim()
            for d in (given if isinstance(given, (tuple, list)) else (given,))
        ):
            return NotImplemented  # the op's own error names the function's dimensions
        if k < len(rest):
            rest[k] = _shifted(given)
        else:
            kwargs[key] = _shifted(given)
    return wrap(func(whole, *rest, **kwargs), level)


def _shape_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """view(2, 3), reshape((2, 3)), expand(-1, 3): the batch in front of the new shape."""
    self = args[0]
    if kwargs or not _ours(self, level) or len(args) < 2:
        return NotImplemented
    size = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if not all(isinstance(n, int) for n in size):
        return NotImplemented
    whole = front(self)
    if func.__name__ == "expand" and len(size) > self.dim():
        whole = _aligned(self, len(size))
    if func.__name__ == "view" and self._bdim != 0 and not whole.is_contiguous():
        return NotImplemented
    if -1 in size and whole.numel() == 0:
        return NotImplemented
    return wrap(func(whole, (whole.shape[0], *size)), level)


def _permute_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if kwargs or not _ours(self, level):
        return NotImplemented
    dims = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if len(dims) != self.dim():
        return NotImplemented
    return wrap(front(self).permute((0, *(d % self.dim() + 1 for d in dims))), level)


def _t_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if args[0].dim() != 2:
        return NotImplemented
    return wrap(front(args[0]).transpose(1, 2), level)


def _squeeze_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    dims = args[1] if len(args) > 1 else kwargs.get("dim")
    if self.dim() == 0:
        return self
    if dims is None:
        dims = tuple(range(self.dim()))
    if isinstance(dims, int):
        dims = (dims,)
    if any(not -self.dim() <= d < self.dim() for d in dims):
        return NotImplemented
    return wrap(front(self).squeeze(tuple(d % self.dim() + 1 for d in dims)), level)


def _split_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if not _ours(self, level) or len(args) < 2 or self.dim() == 0:
        return NotImplemented
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    return wrap(func(front(self), args[1], dim=_shifted(dim)), level)


def _flatten_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    start = args[1] if len(args) > 1 else kwargs.get("start_dim", 0)
    end = args[2] if len(args) > 2 else kwargs.get("end_dim", -1)
    if self.dim() == 0:
        return self.reshape(1)
    return wrap(front(self).flatten(_shifted(start), _shifted(end)), level)


def _diagonal_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if self.dim() < 2:
        return NotImplemented
    given = dict(zip(("offset", "dim1", "dim2"), args[1:]), **kwargs)
    return wrap(
        front(self).diagonal(
            given.get("offset", 0), _shifted(given.get("dim1", 0)), _shifted(given.get("dim2", 1))
        ),
        level,
    )


def _index_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self, index = args
    if not _ours(self, level):
        return NotImplemented
    parts = index if isinstance(index, tuple) else (index,)
    for p in parts:
        if isinstance(p, bool) or not (p is None or p is Ellipsis or isinstance(p, (int, slice))):
            return NotImplemented
    if sum(isinstance(p, (int, slice)) for p in parts) > self.dim():
        return NotImplemented
    return wrap(front(self)[(slice(None), *parts)], level)


def _cat_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    tensors = args[0] if args else kwargs.get("tensors")
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    if tensors is None or not isinstance(dim, int) or any(t.dim() == 0 for t in tensors):
        if func.__name__ != "stack":
            return NotImplemented
    whole = [front(t) if _ours(t, level) else t.expand((level.size, *t.shape)) for t in tensors]
    return wrap(func(whole, _shifted(dim)), level)


def _matmul_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 2 or kwargs:
        return NotImplemented
    a, b = args
    if a.dim() == 0 or b.dim() == 0:
        return NotImplemented
    rank = max(a.dim(), b.dim(), 2)
    row, column = a.dim() == 1, b.dim() == 1
    if row:
        a = a.unsqueeze(0)
    if column:
        b = b.unsqueeze(1)
    if a.shape[-1] != b.shape[-2]:
        return NotImplemented
    out = _C.matmul(*(_aligned(t, rank) if _ours(t, level) else t for t in (a, b)))
    if column:
        out = out.squeeze(-1)
    if row:
        out = out.squeeze(-1 if column else -2)
    return wrap(out, level)


def _linear_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    given = dict(zip(("input", "weight", "bias"), args), **kwargs)
    x, weight, bias = given.get("input"), given.get("weight"), given.get("bias")
    if not isinstance(x, Tensor) or not isinstance(weight, Tensor) or weight.dim() != 2:
        return NotImplemented
    if _ours(x, level) and not _ours(weight, level) and not _ours(bias, level):
        return wrap(func(front(x), weight, bias), level)
    out = _C.matmul(x, weight.t())
    return out if bias is None else out + bias


def _addmm_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 3:
        return NotImplemented
    beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)
    product = _C.matmul(args[1], args[2])
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (args[0] * beta if beta != 1 else args[0])


def _dot_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 2 or args[0].shape != args[1].shape:
        return NotImplemented
    return (args[0] * args[1]).sum()


def _outer_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].unsqueeze(1) * args[1].unsqueeze(0)


def _like_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """new_zeros(size) and the like: one for each example."""
    size = args[1] if isinstance(args[1], (tuple, list)) else args[1:]
    rest = args[2:] if isinstance(args[1], (tuple, list)) else ()
    if not _ours(args[0], level) or not all(isinstance(n, int) for n in size):
        return NotImplemented
    return wrap(func(front(args[0]), (level.size, *size), *rest, **kwargs), level)


def _expand_as_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].expand(tuple(args[1].shape))


def _reshape_as_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].reshape(tuple(args[1].shape))


RULES: dict[str, Any] = {
    "view": _shape_rule,
    "reshape": _shape_rule,
    "expand": _shape_rule,
    "permute": _permute_rule,
    "t": _t_rule,
    "squeeze": _squeeze_rule,
    "split": _split_rule,
    "chunk": _split_rule,
    "split_with_sizes": _split_rule,
    "flatten": _flatten_rule,
    "diagonal": _diagonal_rule,
    "__getitem__": _index_rule,
    "as_strided_scatter": _own_rule,
    "cat": _cat_rule,
    "concat": _cat_rule,
    "stack": _cat_rule,
    "matmul": _matmul_rule,
    "mm": _matmul_rule,
    "mv": _matmul_rule,
    "bmm": _matmul_rule,
    "linear": _linear_rule,
    "addmm": _addmm_rule,
    "dot": _dot_rule,
    "outer": _outer_rule,
    "ger": _outer_rule,
    "new_zeros": _like_rule,
    "new_ones": _like_rule,
    "new_empty": _like_rule,
    "new_full": _like_rule,
    "expand_as": _expand_as_rule,
    "view_as": _reshape_as_rule,
    "reshape_as": _reshape_as_rule,
    **dict.fromkeys(_DIMS, _dims_rule),
    **dict.fromkeys(
        "clone detach alias contiguous zeros_like ones_like empty_like full_like to type double "
        "float half bfloat16 int long bool triu tril conj real imag view_as_real view_as_complex "
        "cholesky inv det slogdet logdet solve_triangular".split(),
        _whole_rule,
    ),
}
for _name in ("max", "min"):

    def _extremum_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
        if len(args) > 1 and isinstance(args[1], Tensor) or "other" in kwargs:
            return _elementwise_rule(func, args, kwargs, level)
        return _dims_rule(func, args, kwargs, level)

    RULES[_name] = _extremum_rule
