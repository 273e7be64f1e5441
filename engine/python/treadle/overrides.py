"""__torch_function__: classes and modes that take over what functions of the package do.

A class with a classmethod `__torch_function__(cls, func, types, args=(), kwargs=None)` is asked
whenever one of its objects is an argument of a function, method or operator of the package.
Subclasses of Tensor have one that calls the function and makes the results their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from . import _C
from ._modes import DisableTorchFunction as DisableTorchFunction
from ._modes import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass

__all__ = [
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

Tensor = _C.Tensor


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a class of these objects, or a mode, would take over a call with them."""
    return _C._has_torch_function(tuple(relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """has_torch_function for one object."""
    return _C._has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """has_torch_function for several objects."""
    return _C._has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the classes of relevant_args (or a mode) make of public_api(*args, **kwargs).

    TypeError if none of them has an answer.
    """
    return _C._handle_torch_function(public_api, tuple(relevant_args), *args, **kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorator: lets classes take over a function. dispatcher(...): the objects to ask."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether inp is a Tensor, or of a class that has __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


@functools.lru_cache(None)
def _of_tensor() -> frozenset[Any]:
    found: set[Any] = set()
    for name in dir(Tensor):
        member = getattr(Tensor, name)
        found.add(member)
        if hasattr(member, "__get__") and not callable(member):
            found.add(member.__get__)
    return frozenset(found)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether func, as __torch_function__ gets it, is a method or attribute of Tensor."""
    return func in _of_tensor() or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Callable[..., Any]) -> str | None:
    """A name for a function that __torch_function__ was given: "treadle.Tensor.add"."""
    owner = getattr(f, "__self__", None)
    if getattr(f, "__name__", "") == "__get__" and owner is not None:
        return f"treadle.Tensor.{owner.__name__}.__get__"
    if getattr(f, "__objclass__", None) is Tensor:
        return f"treadle.Tensor.{f.__name__}"
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    return f"{(getattr(f, '__module__', None) or 'treadle').replace('_C', '').strip('.')}.{name}"


def get_default_nowrap_functions() -> set[Any]:
    """What the default __torch_function__ leaves as it is: attributes that give other tensors."""
    return {Tensor._base.__get__, Tensor.grad.__get__}  # type: ignore[attr-defined]


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes can take over, by the module or class that has them."""
    import treadle

    builtin = type(_C.add)
    found: dict[Any, list[Callable[..., Any]]] = {}
    for owner in (treadle, Tensor):
        members = (getattr(owner, name) for name in dir(owner) if not name.startswith("_"))
        kinds = (builtin,) if owner is treadle else (type(Tensor.add),)
        found[owner] = [member for member in members if isinstance(member, kinds)]
    return found


class TorchFunctionMode:
    """Takes over all calls of this thread inside a `with` block.

    Define `__torch_function__(self, func, types, args=(), kwargs=None)`; inside it the mode is off.
    Modes nest: the innermost is asked first, and what it calls goes to the next one.
    """

    def __torch_function__(
        self, func: Any, types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _C._push_mode(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """A new mode, for a `with` statement."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Any, types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def convert(made: Any, cls: type[Tensor]) -> Any:
    """The tensors of a result as instances of cls, as the default __torch_function__ gives them."""
    if cls is Tensor:
        return made
    if isinstance(made, Tensor):
        return made if isinstance(made, cls) else _C._as_subclass(made, cls)
    if isinstance(made, (tuple, list)):
        items = [convert(item, cls) for item in made]
        if type(made) in (tuple, list):
            return type(made)(items)
        # return_types take a sequence, named tuples their fields
        return type(made)(*items) if hasattr(made, "_fields") else type(made)(items)
    return made
