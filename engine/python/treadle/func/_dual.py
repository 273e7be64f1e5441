"""Forward mode: tensors with a tangent, and the rules by which ops pass it on.

Ops that are linear in the tensor (views, sums, moves) apply themselves to the tangent. Of every
other op the rule follows from its backward: vjp(u) is linear in u, so the derivative of
<vjp(u), tangent> for u is the tangent of the result, exactly, for any differentiable op. Real
elementwise ops need only half of that: their Jacobian is diagonal, so vjp(1) * tangent does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .. import _C
from .._modes import enable_grad, forward, no_grad
from ._levels import (
    Level,
    Tensor,
    Wrapped,
    batch_levels,
    detached,
    fresh,
    map_tensors,
    stack,
    tape_grad,
    tensors_in,
)

# Ops of which each result is a linear function of the first argument alone.
LINEAR = frozenset(
    "__getitem__ alias as_strided broadcast_to chunk clone contiguous cumsum diag diag_embed "
    "diagonal expand expand_as flatten flip fliplr flipud gather hsplit index_select mean "
    "movedim moveaxis narrow neg negative permute ravel real imag repeat reshape reshape_as roll "
    "rot90 select slice split split_with_sizes squeeze sum swapaxes swapdims t take "
    "take_along_dim tensor_split tile transpose tril triu unbind unflatten unfold unsqueeze view "
    "view_as view_as_complex view_as_real vsplit dsplit unsafe_chunk unsafe_split sum_to_size "
    "conj conj_physical resolve_conj resolve_neg to type double float half bfloat16 "
    "adjoint".split()
)
# Of those, the ones that ask a second tensor for its shape only.
SHAPE_OF_OTHER = frozenset("view_as expand_as reshape_as".split())
# Ops whose results carry no tangent.
CUT = frozenset(
    "detach eq ne lt le gt ge isnan isinf isfinite argmax argmin argsort zeros_like ones_like "
    "empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full "
    "new_tensor sign floor ceil round trunc is_nonzero equal allclose count_nonzero nonzero item "
    "isclose logical_not logical_and logical_or logical_xor any all signbit searchsorted "
    "bucketize bernoulli multinomial".split()
)
# In-place ops that forget what was there.
OVERWRITE = frozenset(
    "zero_ fill_ uniform_ normal_ random_ bernoulli_ exponential_ log_normal_ cauchy_ "
    "geometric_".split()
)


def _enabled(level: Level) -> bool:
    """Whether forward mode is on for that level: what a level inside saw when it was entered."""
    above = [v for v in stack.levels if v.kind == "jvp" and v.id > level.id]
    return above[0].forward_outside if above else forward.enabled


def elementwise() -> frozenset[str]:
    """Names of the ops whose results are functions of elements."""
    global _elementwise
    if _elementwise is None:
        _elementwise = frozenset(
            row["schema"].split("(")[0].split(".")[0]
            for row in _C._op_table()
            if row["elementwise"]
        )
    return _elementwise


_elementwise: frozenset[str] | None = None


class Dual(Wrapped):
    """A tensor with a tangent (None after detach_)."""

    _tangent: Tensor | None

    @staticmethod
    def make(inner: Tensor, tangent: Tensor, level: Level) -> Dual:
        made: Dual = _C._make_subclass(Dual, inner)
        made._inner, made._tangent, made._level = inner, tangent, level
        return made

    def _rewrap(self, inner: Tensor) -> Tensor:
        return inner

    def _with_inner(self, inner: Tensor) -> Tensor:
        return inner if self._tangent is None else Dual.make(inner, self._tangent, self._level)

    @classmethod
    def _call(cls, func: Any, args: Any, kwargs: Any, level: Level) -> Any:
        name = func.__name__

        def is_dual(t: Any) -> bool:
            return isinstance(t, Dual) and t._level is level

        def primal(t: Tensor) -> Tensor:
            return t._inner if is_dual(t) else t

        moving = args[:1] if name in SHAPE_OF_OTHER else (args, kwargs)
        duals = [t for t in tensors_in(moving) if is_dual(t) and t._tangent is not None]
        if kwargs.get("out") is not None:
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad (a tensor with a forward "
                "gradient): out= function"
            )
        inplace = name == "__setitem__" or (name[-1] == "_" and name[-2:] != "__")
        if inplace:
            return _inplace(func, name, args, kwargs, level, primal, bool(duals))
        if not duals or not level.alive or not _enabled(level) or name in CUT:
            return func(*map_tensors(primal, args), **map_tensors(primal, kwargs))
        if name in LINEAR and duals[0] is args[0] and len(duals) == 1:
            value = func(*map_tensors(primal, args), **map_tensors(primal, kwargs))
            tangent = func(duals[0]._tangent, *map_tensors(primal, args[1:]), **kwargs)
            if isinstance(value, Tensor):
                return _join(value, tangent, level)
            return type(value)([_join(v, t, level) for v, t in zip(value, tangent)])
        return push(func, args, kwargs, level, name)

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
        """The gradient, and its derivative in the direction of the tangents: the gradient of the
        tangents themselves, which are on the tape."""

        def split(t: Any) -> tuple[Any, Any]:
            if isinstance(t, Dual) and t._level is level:
                return t._inner, t._tangent
            return t, None

        out = [split(o) for o in outputs]
        cot = [split(g) for g in grads]
        plain_in = [split(i)[0] for i in inputs]
        active = level.alive and _enabled(level)
        moving = active and (any(t is not None for _, t in out + cot))
        values = tape_grad(
            [o for o, _ in out],
            plain_in,
            [g for g, _ in cot],
            create_graph,
            True if moving else retain_graph,
            allow_unused,
        )
        if not moving:
            return values
        roots: list[Any] = []
        seeds: list[Any] = []
        for (o, t), (g, dg) in zip(out, cot):
            if t is not None and t.requires_grad:
                roots.append(t)
                seeds.append(g if g is not None else _C.ones_like(o))
            if dg is not None and o.requires_grad:
                roots.append(o)
                seeds.append(dg)
        tangents = tape_grad(roots, plain_in, seeds, create_graph, True, True)
        return tuple(
            v
            if v is None
            else Dual.make(v, _C.zeros_like(v) if t is None else t.expand(v.shape), level)
            for v, t in zip(values, tangents)
        )

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """That of the value; the tangent takes no part."""
        self._inner.backward(gradient, retain_graph, create_graph, inputs)

    def detach_(self) -> Any:
        self._tangent = None
        self._inner.detach_()
        return _C.Tensor.detach_(self)

    def __bool__(self) -> bool:
        return bool(self._inner)

    def __float__(self) -> float:
        return float(self._inner)

    def __int__(self) -> int:
        return int(self._inner)

    def __index__(self) -> int:
        return self._inner.__index__()

    def item(self) -> Any:
        return self._inner.item()

    def tolist(self) -> Any:
        return self._inner.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        return self._inner.numpy(force=force)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._inner.__array__(dtype, copy)


def _join(value: Any, tangent: Tensor | None, level: Level) -> Any:
    if tangent is None or not (value.dtype.is_floating_point or value.dtype.is_complex):
        return value
    return Dual.make(
        value, tangent.to(value.dtype) if tangent.dtype != value.dtype else tangent, level
    )


def push(func: Any, args: Any, kwargs: Any, level: Level, name: str) -> Any:
    """The op's results with their tangents, from its backward."""
    recording = _C.is_grad_enabled()
    sources: dict[int, tuple[Tensor, Tensor]] = {}  # of each dual: its stand-in and its tangent
    others: list[Tensor] = []

    def stand_in(t: Tensor) -> Tensor:
        if not (isinstance(t, Dual) and t._level is level):
            others.append(t)
            return t
        if t._tangent is None:
            others.append(t._inner)
            return t._inner
        if id(t) not in sources:
            x = t._inner
            others.append(x)
            sources[id(t)] = (fresh(x, recording), t._tangent)
        return sources[id(t)][0]

    with enable_grad():
        result = func(*map_tensors(stand_in, args), **map_tensors(stand_in, kwargs))
        keep = recording and any(t.requires_grad for t in others)
        xs = [x for x, _ in sources.values()]
        vs = [v for _, v in sources.values()]
        deep = keep or (recording and any(v.requires_grad for v in vs))
        outputs = [t for t in tensors_in(result) if t.requires_grad]
        tangents = _tangents(outputs, xs, vs, deep, name)
    by_id = {id(o): t for o, t in zip(outputs, tangents)}

    def finish(t: Tensor) -> Any:
        tangent = by_id.get(id(t))
        value = t if keep or not t.requires_grad else detached(t)
        if tangent is None:
            return value
        return _join(value, tangent if deep else detached(tangent), level)

    return map_tensors(finish, result)


def _tangents(
    outputs: list[Tensor], xs: list[Tensor], vs: list[Tensor], deep: bool, name: str
) -> list[Tensor | None]:
    if not outputs:
        return []
    tangents: list[Any] = [None] * len(outputs)
    if (
        name in elementwise()
        and len(outputs) == 1
        and all(x.shape == outputs[0].shape and not x.is_complex() for x in xs)
        and not outputs[0].is_complex()
    ):
        with _telling(name):
            found = tape_grad(outputs, xs, [_C.ones_like(outputs[0])], deep, True)
        for g, v in zip(found, vs):
            if g is not None:
                part = g * v
                tangents[0] = part if tangents[0] is None else tangents[0] + part
        return tangents
    for i, out in enumerate(outputs):  # one at a time: outputs may share nothing
        # Anything would do for u, but backward of logcumsumexp takes its logarithm.
        u = fresh(_C.ones_like(out), False)
        with _telling(name):
            found = tape_grad([out], xs, [u], True, True)
        pairs = [(g, v) for g, v in zip(found, vs) if g is not None]
        linked = [(g, v) for g, v in pairs if g.requires_grad]
        if linked:
            gs = [g for g, _ in linked]
            seeds = [v.to(g.dtype) if v.dtype != g.dtype else v for g, v in linked]
            tangents[i] = tape_grad(gs, [u], seeds, deep, True)[0]
        if tangents[i] is None:
            tangents[i] = _C.zeros_like(out)
    return tangents


@contextlib.contextmanager
def _telling(name: str) -> Iterator[None]:
    """The block, whose NotImplementedError says that it is forward mode that misses the rule."""
    try:
        yield
    except NotImplementedError as e:
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has "
            f"not been implemented yet: {e}"
        ) from e


def _inplace(
    func: Any, name: str, args: Any, kwargs: Any, level: Level, primal: Any, moving: bool
) -> Any:
    self = args[0]
    own = isinstance(self, Dual) and self._level is level
    plain_args, plain_kwargs = map_tensors(primal, args), map_tensors(primal, kwargs)
    if not moving or not level.alive or not _enabled(level):
        func(*plain_args, **plain_kwargs)
        return self
    differentiable = self.dtype.is_floating_point or self.dtype.is_complex
    if not own and differentiable:
        _become_dual(self, level)
    if not differentiable:
        func(*plain_args, **plain_kwargs)
        return self
    if self._tangent is None:
        self._tangent = _no_tangent(self._inner, level)
    else:
        self._tangent = _spread_like(self._tangent, args[1:], kwargs, level)

    def tangent_of(t: Any) -> Any:
        if isinstance(t, Dual) and t._level is level and t._tangent is not None:
            return t._tangent
        return _C.zeros_like(t) if isinstance(t, Tensor) else 0

    if name in OVERWRITE:
        value = args[1] if name == "fill_" and len(args) > 1 else None
        func(*plain_args, **plain_kwargs)
        with no_grad() if not _C.is_grad_enabled() else enable_grad():
            if isinstance(value, Tensor):
                self._tangent.copy_(tangent_of(value).expand(self.shape))
            else:
                self._tangent.zero_()
        return self
    if name == "copy_":
        tangent = tangent_of(args[1])
        func(*plain_args, **plain_kwargs)
        self._tangent.copy_(tangent)
        return self
    if name == "__setitem__":
        tangent = tangent_of(args[2])
        func(*plain_args)
        self._tangent[plain_args[1]] = tangent
        return None
    out_of_place = getattr(Tensor, name[:-1], None)
    if out_of_place is None:
        raise NotImplementedError(f"{name}: forward mode is not implemented for this in-place op")
    before = Dual.make(self._inner.clone(), self._tangent, level)
    moved = out_of_place(before, *args[1:], **kwargs)
    func(*(primal(self), *plain_args[1:]), **plain_kwargs)
    tangent = moved._tangent if isinstance(moved, Dual) else _C.zeros_like(self._inner)
    if self._tangent.shape == tangent.shape:
        self._tangent.copy_(tangent)
    else:  # the op changed the shape: t_(), squeeze_()
        self._tangent = tangent
    return self


def _become_dual(self: Any, level: Level) -> None:
    """A plain tensor that an op with a dual argument writes. Views and their base keep sharing
    memory, also that of their tangents."""
    from ._batch import Batched

    base = self._base
    if isinstance(self, Batched) and type(self._inner) is Tensor:
        _become_dual_below_vmap(self, level)
        return
    if isinstance(self, Wrapped) or type(self) is not Tensor:
        raise RuntimeError(
            "jvp: an in-place op would give a forward gradient to a tensor of another transform or "
            "class; clone it first"
        )
    if base is not None and type(base) is Tensor:
        whole = base.view_as(base) if base.requires_grad else base.detach()
        tangent = _no_tangent(base, level)
        _turn(base, whole, tangent, level)
    if base is not None and isinstance(base, Dual) and base._level is level:
        assert base._tangent is not None
        with no_grad():
            part = base._tangent.as_strided(self.shape, self.stride(), self.storage_offset())
        _turn(self, _plain_alias(self), part, level)
        return
    _turn(self, _plain_alias(self), _no_tangent(self, level), level)


def _become_dual_below_vmap(self: Any, level: Level) -> None:
    """The same of a tensor of a vmap outside, and of all that share its memory: its batch is one
    tensor, and so is its tangent's."""
    from ._batch import Batched

    base = self._inner if self._inner._base is None else self._inner._base
    made = [reference() for reference in (forward.seen or {}).values()]
    family = [
        t for t in made if isinstance(t, Batched) and (t._inner is base or t._inner._base is base)
    ]
    if not any(t._inner is base for t in family):
        raise RuntimeError(
            "jvp: an in-place op would give a forward gradient to a tensor that the function "
            "didn't make; clone it first"
        )
    whole = _C.zeros_like(base)
    for t in family:
        part = whole
        if t._inner is not base:
            with no_grad():
                inner = t._inner
                part = whole.as_strided(inner.shape, inner.stride(), inner.storage_offset())
        alias = Batched.make(t._inner, t._bdim, t._level)
        _turn(t, alias, Batched.make(part, t._bdim, t._level), level)


def _no_tangent(t: Tensor, level: Level) -> Tensor:
    """Zeros to write tangents into: each example of the vmaps around the jvp has its own."""
    from ._batch import spread

    outside = [v for v in batch_levels() if v.id < level.id]
    return spread(_C.zeros_like(t), outside).clone() if outside else _C.zeros_like(t)


def _spread_like(tangent: Tensor, args: Any, kwargs: Any, level: Level) -> Tensor:
    """tangent, with an own one for each example of a vmap if what comes in differs by example."""
    from ._batch import spread

    def vmaps(t: Any) -> list[Level]:
        found = []
        while isinstance(t, Wrapped):
            found.append(t._level)
            t = t._inner
        return [v for v in found if v.kind == "vmap" and v.id < level.id]

    coming: list[Level] = []
    for t in tensors_in((args, kwargs)):
        if isinstance(t, Dual) and t._level is level and t._tangent is not None:
            coming += vmaps(t._tangent)
    missing = [v for v in coming if v not in vmaps(tangent)]
    return spread(tangent, missing).clone() if missing else tangent


def _plain_alias(t: Tensor) -> Tensor:
    return t.view_as(t) if t.requires_grad else t.detach()


def _turn(t: Any, inner: Tensor, tangent: Tensor, level: Level) -> None:
    t.__class__ = Dual
    t._inner, t._tangent, t._level = inner, tangent, level
