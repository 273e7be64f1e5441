"""The levels of transforms, and the tensors that carry them.

jvp and vmap wrap the tensors that they follow: a `Dual` is a tensor with a tangent, a `Batched` one
with a hidden batch dimension. Both are subclasses of Tensor whose memory is the primal's (for a
Batched the first example's), so that shape and dtype answer by themselves, and whose ops come to
`Wrapped.__torch_function__`. There the highest level among the arguments is peeled off and its
rule calls the op again on what is below. grad needs no wrapper: it reads the tape, which is always
that of the innermost tensors.

To add a transform that follows tensors: a subclass of Wrapped with `_call`, and its part in
`tape_grad`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _C, autograd

Tensor = _C.Tensor


class Level:
    """One running transform. Later ones are inside earlier ones."""

    count = 0

    def __init__(self, kind: str) -> None:
        Level.count += 1
        self.id = Level.count
        self.kind = kind  # "grad", "jvp", "vmap"
        self.number = 0  # among those that run, from 1
        self.alive = True
        self.size = 0  # vmap: of the batch
        self.randomness = "error"
        # forward_ad's, which a user opens by hand, or gradcheck's: not one of func's, which ask of
        # a Function that it has a setup_context.
        self.manual = False
        self.forward_outside = True  # jvp: whether forward mode was on around it
        self.entered: list[Tensor] = []  # grad: what it differentiates for

    def __enter__(self) -> Level:
        self.number = sum(not v.manual for v in stack.levels) + 1
        stack.levels.append(self)
        self.alive = True
        return self

    def __exit__(self, *args: object) -> None:
        stack.levels.remove(self)
        self.alive = False
        self.entered.clear()


class _Stack(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


stack = _Stack()


def batch_levels() -> list[Level]:
    """The vmaps that are running, outermost first."""
    return [v for v in stack.levels if v.kind == "vmap"]


class plain_calls:
    """A block in which wrapped tensors are the memory that they show."""

    def __enter__(self) -> None:
        _C._disable_overrides(1)

    def __exit__(self, *args: object) -> None:
        _C._disable_overrides(-1)


def map_tensors(fn: Callable[[Tensor], Any], x: Any) -> Any:
    """x with fn(t) for each tensor in its tuples, lists, dicts and slices."""
    if isinstance(x, Tensor):
        return fn(x)
    if isinstance(x, list):
        return [map_tensors(fn, i) for i in x]
    if isinstance(x, tuple):
        made = [map_tensors(fn, i) for i in x]
        if hasattr(x, "_fields"):
            return type(x)(*made)
        return tuple(made) if type(x) is tuple else type(x)(made)
    if isinstance(x, dict):
        return {k: map_tensors(fn, v) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(*(map_tensors(fn, i) for i in (x.start, x.stop, x.step)))
    return x


def tensors_in(x: Any) -> list[Tensor]:
    found: list[Tensor] = []
    map_tensors(found.append, x)
    return found


# What the memory that a wrapped tensor shows answers by itself: attributes and sizes.
METADATA = frozenset(
    "__get__ __set__ __len__ size dim ndimension numel nelement stride storage_offset element_size "
    "is_floating_point is_complex is_signed is_contiguous data_ptr is_same_size get_device".split()
)


class Wrapped(Tensor):
    """A tensor that a transform follows."""

    _inner: Tensor
    _level: Level

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in METADATA:
            with plain_calls():
                return func(*args, **kwargs)
        given = [t for t in tensors_in((args, kwargs)) if isinstance(t, Wrapped)]
        top = max(given, key=lambda t: t._level.id)
        return type(top)._call(func, args, kwargs, top._level)

    @classmethod
    def _call(cls, func: Any, args: Any, kwargs: Any, level: Level) -> Any:
        raise NotImplementedError

    def _rewrap(self, inner: Tensor) -> Tensor:
        """The same around another inner tensor of the same shape; a tangent isn't taken over."""
        raise NotImplementedError

    def _with_inner(self, inner: Tensor) -> Tensor:
        """The same around an alias of the inner tensor."""
        return self._rewrap(inner)

    # --- what isn't an op: answered by the innermost tensor

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._inner.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._inner.requires_grad = value

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        return self._inner.grad_fn

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        return self._inner.is_leaf

    @property
    def output_nr(self) -> int:  # type: ignore[override]
        return self._inner.output_nr

    @property
    def grad(self) -> Any:  # type: ignore[override]
        g = self._inner.grad
        return None if g is None else self._rewrap(g)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._inner.grad = value._inner if isinstance(value, Wrapped) else value

    @property
    def data(self) -> Any:  # type: ignore[override]
        return self.detach()

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        _refuse("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) inside")
        self._inner.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        _refuse("retain_grad", "inside")
        self._inner.retain_grad()

    @property
    def T(self) -> Any:  # type: ignore[override]
        return self.permute(tuple(range(self.dim()))[::-1])

    @property
    def mT(self) -> Any:  # type: ignore[override]
        return self.transpose(-2, -1)

    @property
    def H(self) -> Any:  # type: ignore[override]
        return self.transpose(-2, -1).conj() if self.is_complex() else self.transpose(-2, -1)

    mH = H

    @property
    def real(self) -> Any:  # type: ignore[override]
        return _C.real(self) if self.is_complex() else self

    @property
    def imag(self) -> Any:  # type: ignore[override]
        return _C.imag(self)

    def __iter__(self) -> Any:
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __getitem__(self, index: Any) -> Any:
        return Wrapped.__torch_function__(Tensor.__getitem__, (), (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        Wrapped.__torch_function__(Tensor.__setitem__, (), (self, index, value))

    def __deepcopy__(self, memo: Any) -> Any:
        return self.clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("a tensor inside a transform can't be pickled")

    def __hash__(self) -> int:
        return id(self)


def _operators() -> None:
    """Python's operators as calls of methods and functions, which are ops."""

    def operand(x: Any) -> bool:
        return isinstance(x, (Tensor, bool, int, float, complex)) or hasattr(x, "__float__")

    def forward(op: Any) -> Any:
        return lambda a, b: op(a, b) if operand(b) else NotImplemented

    def backward(op: Any) -> Any:
        return lambda a, b: op(b, a) if operand(b) else NotImplemented

    def lift(name: str) -> Any:
        function = getattr(_C, name)

        def call(a: Any, b: Any) -> Any:
            if not isinstance(a, Tensor):
                # A number on the left takes part in promotion as a number.
                if name == "sub":
                    return _C.neg(b) + a if b.dtype != _C._dtype("bool") else function(a, b)
                if name == "div":
                    return _C.reciprocal(b) * a
                if name in ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"):
                    return function(b, a)
                if name != "pow":
                    a = _C.full_like(b, a) if name == "floor_divide" else _C.tensor(a)
            return function(a, b)

        return call

    for dunder, name in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
        "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
    }.items():  # fmt: skip
        if not hasattr(_C, name):
            continue
        op = lift(name)
        setattr(Wrapped, f"__{dunder}__", forward(op))
        setattr(Wrapped, f"__r{dunder}__", backward(op))
        method = getattr(Tensor, name + "_", None)
        if method is not None:
            setattr(Wrapped, f"__i{dunder}__", forward(method))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Wrapped, f"__{name}__", forward(getattr(_C, name)))
    for dunder, name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
        function = getattr(_C, name)
        setattr(Wrapped, f"__{dunder}__", lambda self, f=function: f(self))
    Wrapped.__pos__ = lambda self: self


_operators()


# --- the tape below the wrappers ------------------------------------------------------------------


def innermost(t: Tensor) -> Tensor:
    while isinstance(t, Wrapped):
        t = t._inner
    return t


def fresh(t: Tensor, connect: bool) -> Tensor:
    """An alias to differentiate for: a new leaf of the tape, or (connect) one that passes its
    gradient on to a tensor that has a history."""
    if isinstance(t, Wrapped):
        return t._with_inner(fresh(t._inner, connect))
    if connect and t.requires_grad:
        return t.view_as(t)
    return _leaf(t.detach())


def detached(t: Tensor) -> Tensor:
    """The same without a tape; what other transforms know of it stays."""
    if isinstance(t, Wrapped):
        return t._with_inner(detached(t._inner))
    return t.detach()


def tape_grad(
    outputs: list[Tensor],
    inputs: list[Tensor],
    grads: list[Tensor | None] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    allow_unused: bool = True,
) -> tuple[Tensor | None, ...]:
    """autograd.grad for wrapped and plain tensors alike."""
    grads = [None] * len(outputs) if grads is None else list(grads)
    wrapped = [t for t in (*outputs, *inputs, *grads) if isinstance(t, Wrapped)]
    if not wrapped:
        kept = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
        if not kept or not inputs:
            return (None,) * len(inputs)
        return _C._grad(
            [o for o, _ in kept],
            inputs,
            [g for _, g in kept],
            retain_graph,
            create_graph,
            allow_unused,
        )
    top = max(wrapped, key=lambda t: t._level.id)
    return type(top)._tape_grad(
        top._level, outputs, inputs, grads, create_graph, retain_graph, allow_unused
    )


# --- what a function that is transformed can't ask of a tensor -----------------------------------

_leaf = Tensor.requires_grad_
_keep = Tensor.retain_grad


def _refuse(name: str, reason: str) -> None:
    if any(not v.manual for v in stack.levels):
        raise RuntimeError(
            f"You are attempting to call Tensor.{name}() {reason} of a function being transformed "
            "by a functorch transform. This is unsupported, please attempt to use the functorch "
            f"transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name}() outside of a "
            "function being transformed instead."
        )


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets requires_grad and returns self. RuntimeError inside a function that is transformed."""
    _refuse("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) inside")
    return _leaf(self, requires_grad)


def retain_grad(self: Tensor) -> None:
    """Makes backward() fill .grad of a tensor that isn't a leaf. RuntimeError inside a function
    that is transformed."""
    _refuse("retain_grad", "inside")
    _keep(self)


Tensor.requires_grad_ = requires_grad_
Tensor.retain_grad = retain_grad
_C._overrides_exist()
autograd._wrapped_grad = tape_grad
