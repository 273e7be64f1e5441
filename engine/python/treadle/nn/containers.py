"""Sequential, ModuleList, ModuleDict, ParameterList: modules that hold others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from .. import _C
from .module import Module
from .parameter import Parameter


def _position(index: int, length: int) -> int:
    place = index.__index__()
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of range")
    return place % length


class _Numbered(Module):
    """What the list-like containers share: children named "0", "1", ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    @overload
    def __getitem__(self, index: slice) -> Any: ...
    @overload
    def __getitem__(self, index: int) -> Module: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            chosen = list(self._modules.items())[index]
            made = type(self).__new__(type(self))
            Module.__init__(made)
            for i, (name, module) in enumerate(chosen):
                made.add_module(name if isinstance(self, Sequential) else str(i), module)
            return made
        return list(self._modules.values())[_position(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[_position(index, len(self))], module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        gone = names[index] if isinstance(index, slice) else [names[_position(index, len(self))]]
        for name in gone:
            del self._modules[name]
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Any]) -> None:
        self._modules.clear()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        if not isinstance(module, Module):
            raise TypeError(f"module should be of type: {Module}, not {type(module).__name__}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        if not isinstance(modules, Iterable):
            raise TypeError(f"extend needs an iterable of modules, not {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        gone = self[key]
        del self[key]
        return gone


class Sequential(_Numbered):
    """Calls its modules one after the other: Sequential(a, b) or Sequential(OrderedDict(...))."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __add__(self, other: Iterable[Module]) -> Sequential:
        return Sequential(*self, *other)


class ModuleList(_Numbered):
    """A list whose modules are registered."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)


class ModuleDict(Module):
    """A dict whose modules are registered."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]  # type: ignore[return-value]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        return self._modules.pop(key)  # type: ignore[return-value]

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for key, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[key] = module


class ParameterList(Module):
    """A list whose parameters are registered; plain tensors become parameters."""

    def __init__(self, values: Iterable[_C.Tensor] | None = None) -> None:
        super().__init__()
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int | slice) -> Any:
        values = list(self._parameters.values())
        if isinstance(index, slice):
            return type(self)(values[index])  # type: ignore[arg-type]
        return values[_position(index, len(self))]

    def __setitem__(self, index: int, value: _C.Tensor) -> None:
        name = str(_position(index, len(self)))
        self._parameters[name] = value if isinstance(value, Parameter) else Parameter(value)

    def append(self, value: _C.Tensor) -> ParameterList:
        made = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self)), made)
        return self

    def extend(self, values: Iterable[_C.Tensor]) -> ParameterList:
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"({name}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"
            for name, p in self._parameters.items()
            if p is not None
        )
