"""Grad modes: context managers that also decorate functions."""

from __future__ import annotations

import functools
import threading

from . import _C

TYPE_CHECKING = False  # importing typing costs more than the rest of this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])


class _Forward(threading.local):
    """Forward mode in this thread."""

    enabled = True
    # While a jvp runs, the tensors of vmap by id() of what they wrap: an in-place op on a view of
    # one may give it a tangent.
    seen: Any = None


forward = _Forward()


class _Mode:
    """Enters a mode for a `with` block, or for the calls of a function it decorates."""

    def _switch(self) -> Any:
        """Turns the mode on; returns what `_restore` needs."""
        raise NotImplementedError

    def _restore(self, saved: Any) -> None:
        _C._set_grad_enabled(saved)

    def clone(self) -> Any:
        return type(self)()

    def __enter__(self) -> None:
        # A stack: the same object may be entered again inside itself.
        self.__dict__.setdefault("_saved", []).append(self._switch())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore(self.__dict__["_saved"].pop())

    def __call__(self, fn: F) -> F:
        import inspect

        if inspect.isclass(fn):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
            fn.__init__ = self(fn.__init__)
            return fn
        if inspect.isgeneratorfunction(fn):
            return self._wrap_generator(fn)  # type: ignore[return-value]

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _wrap_generator(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator runs, not while its consumer does."""

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = fn(*args, **kwargs)
            try:
                with self.clone():
                    value = next(generator)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as e:  # the consumer's throw() goes on into the generator
                        with self.clone():
                            value = generator.throw(e)
                    else:
                        with self.clone():
                            value = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return wrapped


class no_grad(_Mode):
    """Ops inside aren't recorded; results don't require grad. `@no_grad` works bare too."""

    if TYPE_CHECKING:

        @overload
        def __new__(cls, fn: F) -> F: ...
        @overload
        def __new__(cls, fn: None = None) -> no_grad: ...

    def __new__(cls, fn: Any = None) -> Any:  # noqa: F811
        made = super().__new__(cls)
        return made if fn is None else made(fn)

    def _switch(self) -> bool:
        return _C._set_grad_enabled(False)


class enable_grad(_Mode):
    """Ops inside are recorded, also within no_grad. `@enable_grad` works bare too."""

    if TYPE_CHECKING:

        @overload
        def __new__(cls, fn: F) -> F: ...
        @overload
        def __new__(cls, fn: None = None) -> enable_grad: ...

    def __new__(cls, fn: Any = None) -> Any:  # noqa: F811
        made = super().__new__(cls)
        return made if fn is None else made(fn)

    def _switch(self) -> bool:
        return _C._set_grad_enabled(True)


class set_grad_enabled(_Mode):
    """Turns recording on or off, at once; as a `with` block it restores the mode at the end."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.prev = _C._set_grad_enabled(self.mode)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.__dict__.setdefault("_saved", []).append(self.prev)
        _C._set_grad_enabled(self.mode)

    def __call__(self, fn: F) -> F:
        _C._set_grad_enabled(self.prev)  # as a decorator it acts in the calls alone
        return super().__call__(fn)


class inference_mode(_Mode):
    """Like no_grad, and what is made inside can't be used by autograd later."""

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return type(self)(self.mode)

    def _switch(self) -> tuple[bool, bool]:
        return _C._set_inference(self.mode), _C._set_grad_enabled(not self.mode)

    def _restore(self, saved: Any) -> None:
        _C._set_inference(saved[0])
        _C._set_grad_enabled(saved[1])


class DisableTorchFunctionSubclass:
    """No class is asked for its __torch_function__ inside; modes are."""

    def __enter__(self) -> None:
        _C._disable_overrides(1)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._disable_overrides(-1)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Neither classes nor modes are asked inside."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = _C._set_active_modes(0)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._set_active_modes(self._modes)
        super().__exit__(exc_type, exc, traceback)
