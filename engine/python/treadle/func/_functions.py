"""autograd.Function inside the transforms: its jvp and vmap methods, and the vmap rule that follows
from forward, setup_context, backward and jvp (generate_vmap_rule)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _C, autograd
from ..autograd.function import Function
from ..utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_map,
    tree_unflatten,
)
from ._batch import Batched
from ._dual import Dual, _enabled
from ._levels import Level, Tensor, Wrapped, stack, tensors_in


class VmapInfo(NamedTuple):
    """What a vmap staticmethod gets as `info`."""

    batch_size: int
    randomness: str


class _Mode(threading.local):
    single_level = False


_mode = _Mode()


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """A block in which Function.apply makes one node of the tape and nothing else: the transforms
    that follow its arguments are the business of its forward and backward. For the kernels that
    operators have for grad."""
    before = _mode.single_level
    _mode.single_level = True
    try:
        yield
    finally:
        _mode.single_level = before


def _needs_setup() -> bool:
    return not _mode.single_level and any(not v.manual for v in stack.levels)


autograd.function._in_transform = _needs_setup


def apply(cls: Any, args: tuple[Any, ...]) -> Any:
    """cls.apply for arguments of which some are wrapped."""
    if _mode.single_level:
        return _apply_single(cls, args)
    if cls.setup_context is Function.setup_context and _needs_setup():
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    wrapped = [t for t in tensors_in(args) if isinstance(t, Wrapped)]
    top = max(wrapped, key=lambda t: t._level.id)
    return (
        _apply_dual(cls, args, top._level)
        if isinstance(top, Dual)
        else _apply_batched(cls, args, top._level)
    )


# --- forward mode ---------------------------------------------------------------------------------


def _apply_dual(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    def ours(a: Any) -> bool:
        return isinstance(a, Dual) and a._level is level

    primals = tuple(a._inner if ours(a) else a for a in args)
    moving = level.alive and _enabled(level)
    if any(isinstance(p, Wrapped) for p in primals):
        result, ctx = _apply_lower(cls, primals)
    else:
        result, ctx = cls._run(primals, {})
    if not moving:
        return result
    tangents = []
    versions: dict[int, int] = {}  # of the tangents, before jvp
    for a in args:
        if ours(a) and a._tangent is not None:
            tangents.append(a._tangent)
            versions[id(a._tangent)] = a._tangent._version
        elif isinstance(a, Tensor) and _moves(a) and ctx._materialize:
            tangents.append(_C.zeros_like(a._inner if ours(a) else a))
        else:
            tangents.append(None)
    ctx._in_jvp = True
    moved = cls.jvp(ctx, *tangents)
    ctx._in_jvp = False
    outputs = result if isinstance(result, tuple) else (result,)
    moved = moved if isinstance(moved, tuple) else (moved,)
    if len(moved) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(moved)})"
        )
    dirty = {id(t) for t in ctx._dirty}
    unmarked = {id(t) for t in ctx._no_grad_outputs}
    made = []
    for i, (out, t) in enumerate(zip(outputs, moved)):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(t).__name__}) for grad output {i}."
            )
        if not isinstance(out, Tensor) or id(out) in unmarked or not _moves(out):
            if t is not None:
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {i}, but the corresponding "
                    "forward output is not a differentiable Tensor. You should return None at that "
                    "position instead."
                )
            made.append(out)
            continue
        if t is None:
            made.append(out)
            continue
        if t.shape != out.shape:
            raise RuntimeError(
                f"the jvp of {cls.__name__} gave a forward gradient of shape {tuple(t.shape)} for "
                f"output {i}, of shape {tuple(out.shape)}: Trying to set a forward gradient that "
                "has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(out.shape)} while the given forward gradient is of size "
                f"{list(t.shape)}."
            )
        if id(out) in dirty:
            own = next(a for a in args if (a._inner if ours(a) else a) is out)
            if ours(own):
                old = own._tangent
                if old is not None and (t is not old or t._version == versions[id(old)]):
                    raise RuntimeError(
                        "An inplace custom Function is not modifying the forward mode gradients "
                        "inplace. If the forward is modifying an input inplace, then the jvp "
                        "function must modify the corresponding gradient inplace."
                    )
                own._tangent = t
                made.append(own)
                continue
        else:
            _check_view(out, t, [(a._inner, a._tangent) for a in args if ours(a)])
        made.append(Dual.make(out, t, level))
    return tuple(made) if isinstance(result, tuple) else made[0]


def _moves(t: Any) -> bool:
    """Whether a tensor can have a tangent."""
    return bool(t.dtype.is_floating_point or t.dtype.is_complex)


def _check_view(out: Any, tangent: Any, inputs: list[tuple[Any, Any]]) -> None:
    """The tangent of a view of an input must be that view of the input's tangent: what is written
    into one is to show in the other."""
    if isinstance(out, Wrapped) or isinstance(tangent, Wrapped) or not out._is_view():
        return
    for value, moving in inputs:
        if moving is None or isinstance(value, Wrapped) or isinstance(moving, Wrapped):
            continue
        if out._base is not (value._base if value._is_view() else value):
            continue
        if not tangent._is_view():
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp "
                "is not returning a view."
            )
        if tangent._base is not (moving._base if moving._is_view() else moving):
            which = "same base as the given" if value._is_view() else "given"
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"{which} grad input."
            )
        return


class _Ctx:
    """A ctx that lives in Python alone, for functions whose arguments are wrapped below the level
    at hand."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._saved: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._no_grad_outputs: tuple[Any, ...] = ()
        self._materialize = True
        self._in_jvp = False

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.saved_for_forward if self._in_jvp else self._saved

    def save_for_backward(self, *tensors: Any) -> None:
        self._saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._no_grad_outputs = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value

    def replay(self, ctx: Any) -> None:
        """Does to another ctx what was done to this one."""
        own = vars(_Ctx())
        for name, value in vars(self).items():
            if name not in own:
                setattr(ctx, name, value)
        if self._saved:
            ctx.save_for_backward(*self._saved)
        if self.saved_for_forward:
            ctx.save_for_forward(*self.saved_for_forward)
        ctx.mark_non_differentiable(*self._no_grad_outputs)
        if self._dirty:
            ctx.mark_dirty(*self._dirty)
        ctx.set_materialize_grads(self._materialize)


def _apply_lower(cls: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The function of arguments of lower levels, and a ctx that its setup_context has filled."""
    result = cls.apply(*args)
    ctx = _Ctx()
    ctx.needs_input_grad = tuple(isinstance(a, Tensor) for a in args)
    if cls.setup_context is not Function.setup_context:
        cls.setup_context(ctx, args, result)
    else:
        previous = _C._set_grad_enabled(False)
        try:
            cls.forward(ctx, *args)
        finally:
            _C._set_grad_enabled(previous)
    return result, ctx


def _apply_single(cls: Any, args: tuple[Any, ...]) -> Any:
    top = max((a for a in args if isinstance(a, Wrapped)), key=lambda t: t._level.id)
    if isinstance(top, Dual):
        raise NotImplementedError(
            f"{cls.__name__}: a function of a single level can't take tensors with a tangent"
        )
    return _generated(cls, args, top._level)


# --- vmap -----------------------------------------------------------------------------------------


def _apply_batched(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    has_vmap = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule:
        if has_vmap:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
                "and an overriden vmap staticmethod. Please set generate_vmap_rule=False or delete "
                "the overriden vmap staticmethod to avoid ambiguity. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html"
            )
        return _generated(cls, args, level)
    if not has_vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. For more "
            "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    inner = tree_map(lambda a: _inner(a, level), args)
    in_dims = tree_map(lambda a: _dim(a, level), args)
    result = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *inner)
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"Expected the {cls.__name__}.vmap staticmethod to have two returns, an (output, "
            f"out_dims) with pytree structure compatible with the output. Got a {type(result)}"
        )
    output, out_dims = result
    flat, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None or not all(d is None or isinstance(d, int) for d in dims):
        raise RuntimeError(
            f"{cls.__name__}.vmap returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
            f"structure {tree_flatten(out_dims)[1]} but output has structure {spec}. For more "
            "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    return tree_unflatten(
        [
            Batched.make(o, d % o.dim(), level) if d is not None and isinstance(o, Tensor) else o
            for o, d in zip(flat, dims)
        ],
        spec,
    )


def _ours(a: Any, level: Level) -> bool:
    return isinstance(a, Batched) and a._level is level


def _inner(a: Any, level: Level) -> Any:
    return a._inner if _ours(a, level) else a


class _revived:
    """The level again, also after its vmap has returned: backward runs then."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.alive = self.level.alive
        if not self.alive:
            stack.levels.append(self.level)
            self.level.alive = True

    def __exit__(self, *args: object) -> None:
        if not self.alive:
            stack.levels.remove(self.level)
            self.level.alive = False


def _dim(t: Any, level: Level) -> int | None:
    return t._bdim if _ours(t, level) else None


def _put(t: Any, dim: int | None, level: Level) -> Any:
    return t if dim is None or t is None else Batched.make(t, dim, level)


class _BatchedCtx:
    """The ctx that the user's methods see: saved tensors come back batched, anything else is an
    attribute."""

    def __init__(self, real: Any, level: Level) -> None:
        self.__dict__.update(_real=real, _level=level, _dims={})

    def _keep(self, kind: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        self._dims[kind] = [_dim(t, self._level) for t in tensors]
        return tuple(_inner(t, self._level) for t in tensors)

    def save_for_backward(self, *tensors: Any) -> None:
        self._real.save_for_backward(*self._keep("saved", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._real.save_for_forward(*self._keep("forward", tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._real._unmarked_batched = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        raise RuntimeError("vmap: mark_dirty is not supported with generate_vmap_rule=True")

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        kind = "forward" if self._real._in_jvp and "forward" in self._dims else "saved"
        return tuple(
            _put(t, d, self._level)
            for t, d in zip(self._real.saved_tensors, self._dims.get(kind, ()))
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


def _generated(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    """A Function of the whole batches, whose methods run the user's with batched tensors."""
    in_dims = [_dim(a, level) for a in args]
    out_dims: list[int | None] = []
    out_spec: list[Any] = []
    recorded: list[_Ctx] = []  # of a forward that takes ctx: what it put there

    def wrapped(values: Any, dims: Any) -> tuple[Any, ...]:
        return tuple(_put(v, d, level) for v, d in zip(values, dims))

    class Whole(Function):
        @staticmethod
        def forward(*inner: Any) -> Any:
            with _revived(level):
                if cls.setup_context is Function.setup_context:
                    recorded[:] = [_Ctx()]
                    output = cls.forward(recorded[0], *wrapped(inner, in_dims))
                else:
                    output = cls.forward(*wrapped(inner, in_dims))
                flat, spec = tree_flatten(output)
                out_dims[:] = [_dim(o, level) for o in flat]
                out_spec[:] = [spec]
                return tuple(_inner(o, level) for o in flat)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            with _revived(level):
                ctx._batched = _BatchedCtx(ctx, level)
                outs = wrapped(output, out_dims)
                args_again = wrapped(inputs, in_dims)
                if recorded:
                    recorded[0].replay(ctx._batched)
                else:
                    cls.setup_context(ctx._batched, args_again, tree_unflatten(outs, out_spec[0]))
                marked = getattr(ctx, "_unmarked_batched", ())
                ctx.mark_non_differentiable(
                    *(o for o, b in zip(output, outs) if any(b is m for m in marked))
                )
                ctx._shapes = [tuple(i.shape) if isinstance(i, Tensor) else None for i in inputs]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with _revived(level):
                result = cls.backward(ctx._batched, *wrapped(grads, out_dims))
                if not isinstance(result, tuple):
                    result = (result,)
                made = []
                for g, d in zip(result, in_dims):
                    if g is None:
                        made.append(None)
                    elif d is None:
                        made.append(_inner(g, level).sum(g._bdim) if _ours(g, level) else g)
                    elif _ours(g, level):
                        made.append(g._inner.movedim(g._bdim, d))
                    else:
                        whole = g.unsqueeze(d)
                        made.append(
                            whole.expand(
                                [level.size if k == d else n for k, n in enumerate(whole.shape)]
                            )
                        )
                return tuple(made)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with _revived(level):
                result = cls.jvp(ctx._batched, *wrapped(tangents, in_dims))
                flat = tree_flatten(result)[0]
                made = []
                for t, d in zip(flat, out_dims):
                    if _ours(t, level) and d is not None:
                        made.append(t._inner.movedim(t._bdim, d))
                    elif t is not None and d is not None:
                        made.append(t.unsqueeze(d).expand([*t.shape[:d], level.size, *t.shape[d:]]))
                    else:
                        made.append(t)
                return tuple(made)

    Whole.__name__ = f"Vmapped{cls.__name__}"
    outputs = Whole.apply(*(_inner(a, level) for a in args))
    return tree_unflatten(wrapped(outputs, out_dims), out_spec[0])
