"""Module: the base of everything that has parameters.

Attributes sort themselves: a Parameter goes to `_parameters`, a Module to `_modules`, a Buffer (or
what `register_buffer` was given) to `_buffers`; the rest is ordinary. Saving and loading live in
state.py, calls and hooks in calls.py; this file holds registration, walking and conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .. import _C
from ..utils.hooks import HookTable
from .calls import Calls
from .parameter import Buffer, Parameter
from .state import State

M = TypeVar("M", bound="Module")


class Module(Calls, State):
    """Base class of layers, losses and models.

    Subclasses call `super().__init__()` first, assign parameters and submodules as attributes, and
    define `forward`. `training` (bool) is True until `eval()`.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, _C.Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_modules", {})
        for table in Calls.tables + State.tables:
            put(table, HookTable())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] has no "forward" function')

    # --- registration -----------------------------------------------------------------------------

    def _check_name(self, name: str, kind: str, table: dict[str, Any]) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None keeps the name but has no value and no entry in state_dict()."""
        self._check_name(name, "parameter", self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"cannot assign non-leaf Tensor to parameter '{name}': parameters are made by the "
                "user, not computed; compute the value in forward() instead"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: _C.Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that isn't trained; persistent: whether state_dict() has it."""
        self._check_name(name, "buffer", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under `name`."""
        self._check_name(name, "module", self.__dict__.get("_modules", {}))
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, but="_modules")
            self.add_module(name, value)
        elif isinstance(value, Buffer):
            self._forget(name, but="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_parameters", ()):
            self.register_parameter(name, value)  # None, or the TypeError that says what fits
        elif name in own.get("_modules", ()):
            self.add_module(name, value)
        elif name in own.get("_buffers", ()):
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, but: str) -> None:
        own = self.__dict__
        if "_parameters" not in own:
            return  # the registration that follows raises
        own.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != but:
                own[table].pop(name, None)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = own.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]
        return sorted(n for n in set(names) if not n[0].isdigit())

    # --- walking ----------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path ("" is self). AttributeError names a missing part."""
        module: Module = self
        for part in target.split(".") if target else ():
            found = getattr(module, part, None)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
            module = found
        return module

    def set_submodule(self, target: str, module: Module) -> None:
        """Replaces the module at a dotted path; the parent has to exist."""
        if not target:
            raise ValueError("cannot set the submodule without a target name")
        parent, _, name = target.rpartition(".")
        setattr(self.get_submodule(parent), name, module)

    def _leaf(self, target: str, table: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = getattr(module, table).get(name)
        if found is None:
            raise AttributeError(f"{type(module).__name__} has no {kind} `{name}`")
        return found

    def get_parameter(self, target: str) -> Parameter:
        return self._leaf(target, "_parameters", "parameter")

    def get_buffer(self, target: str) -> _C.Tensor:
        return self._leaf(target, "_buffers", "buffer")

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted path, module) of self and all below, each shared module once by default."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, _join(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        else:
            modules = iter([(prefix, self)])
        for path, module in modules:
            for name, value in getattr(module, table).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield _join(path, name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, _C.Tensor]]:
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[_C.Tensor]:
        return (b for _, b in self.named_buffers(recurse=recurse))

    # --- modes and conversion ---------------------------------------------------------------------

    def train(self: M, mode: bool = True) -> M:
        """Sets `training` here and below: dropout and the like act only while it is True."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self: M) -> M:
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops every parameter's gradient, or with set_to_none=False fills it with zeros."""
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

    def apply(self: M, fn: Callable[[Module], Any]) -> M:
        """Calls fn on every submodule and then on self (for initialising weights)."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self: M, fn: Callable[[_C.Tensor], _C.Tensor], recurse: bool = True) -> M:
        # A parameter keeps its identity, so that optimizers made earlier still see it.
        if recurse:
            for child in self.children():
                child._apply(fn)
        for p in self._parameters.values():
            if p is not None:
                grad = p.grad
                p.data = fn(p.data)
                if grad is not None:
                    p.grad = fn(grad.detach()).requires_grad_(grad.requires_grad)
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """to(device), to(dtype), to(device, dtype) or to(tensor): converts in place, returns self.

        Floating-point parameters and buffers take the dtype; integer ones keep theirs.
        TypeError if the dtype isn't a floating-point one.
        """
        probe = _C.empty(0).to(*args, **kwargs)
        dtype, device = probe.dtype, probe.device
        chosen = [a for a in (*args, *kwargs.values()) if isinstance(a, (_C.dtype, _C.Tensor))]
        if chosen and not dtype.is_floating_point:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def convert(t: _C.Tensor) -> _C.Tensor:
            return t.to(device, dtype if chosen and t.is_floating_point() else t.dtype)

        return self._apply(convert)

    def _to_float(self: M, dtype: _C.dtype) -> M:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self: M) -> M:
        return self._to_float(_C.float32)

    def double(self: M) -> M:
        return self._to_float(_C.float64)

    def type(self: M, dst_type: _C.dtype) -> M:
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self: M) -> M:
        return self._apply(lambda t: t.cpu())

    # --- text -------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses of repr(): override in layers."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        lines = extra + children
        if not lines:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in Calls.tables + State.tables:
            self.__dict__.setdefault(table, HookTable())


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
