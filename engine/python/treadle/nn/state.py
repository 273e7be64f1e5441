"""Saving and loading a module: state_dict, load_state_dict and their hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .. import _C
from .._modes import no_grad
from ..utils.hooks import HookTable, RemovableHandle

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What load_state_dict didn't find and what it didn't need."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__


class State:
    """The part of Module that turns it into a dict of tensors and back."""

    tables = (
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
    )
    _version: int = 1
    _state_dict_hooks: HookTable
    _state_dict_pre_hooks: HookTable
    _load_state_dict_pre_hooks: HookTable
    _load_state_dict_post_hooks: HookTable
    _parameters: dict[str, Any]
    _buffers: dict[str, _C.Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def get_extra_state(self) -> Any:
        """Override, with set_extra_state, to save more than tensors."""
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state(): please implement it")

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state(): please implement it")

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(module, prefix, keep_vars) before state_dict() reads this module."""
        return self._state_dict_pre_hooks.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) after state_dict() read this module."""
        return self._state_dict_hooks.add(hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)."""
        return self._load_state_dict_pre_hooks.add(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(module, incompatible_keys) after loading; it may edit the two lists in place."""
        return self._load_state_dict_post_hooks.add(hook)

    # --- saving ---------------------------------------------------------------------------------

    def _persistent(self) -> dict[str, Any]:
        own = {k: v for k, v in self._parameters.items() if v is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        return own

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by dotted name. The tensors share storage with ours.

        They are detached unless keep_vars.
        """
        if args:  # positional form of old code: destination, prefix, keep_vars
            given = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._persistent().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    # --- loading --------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values in by name and returns (missing_keys, unexpected_keys).

        strict: raise RuntimeError that lists every missing, unexpected and ill-shaped key; nothing
        is hidden behind the first. assign: take the given tensors instead of copying from them.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", {})
        missing: list[str] = []
        errors: list[str] = []
        known: set[str] = set()
        unexpected: list[str] = []

        def load(module: Any, prefix: str) -> None:
            local = dict(metadata.get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(
                state_dict, prefix, local, True, missing, unexpected, errors
            )
            known.update(prefix + name for name in module._persistent())
            known.add(prefix + _EXTRA)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            keys = IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise RuntimeError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values: edit incompatible_keys in place"
                    )

        if strict:
            names = self._all_names("")
            unexpected.extend(k for k in state_dict if k not in names)
        load(self, "")
        if not strict:
            unexpected.extend(k for k in state_dict if k not in known and k not in unexpected)
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: " + _quoted(unexpected) + ". ")
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: " + _quoted(missing) + ". ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return IncompatibleKeys(missing, unexpected)

    def _all_names(self, prefix: str) -> set[str]:
        names = {prefix + name for name in self._persistent()}
        if type(self).set_extra_state is not State.set_extra_state:
            names.add(prefix + _EXTRA)
        for name, child in self._modules.items():
            if child is not None:
                names |= child._all_names(f"{prefix}{name}.")
        return names

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                self,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, own in self._persistent().items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, _C.Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected Tensor but received '
                    f"{type(value)}"
                )
                continue
            if value.shape != own.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {own.shape}."
                )
                continue
            if assign:
                self._assign(name, own, value)
            else:
                with no_grad():
                    own.copy_(value)
        if type(self).set_extra_state is not State.set_extra_state:
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            else:
                missing_keys.append(prefix + _EXTRA)

    def _assign(self, name: str, own: _C.Tensor, value: _C.Tensor) -> None:
        from .parameter import Parameter

        if name in self._parameters:
            if not isinstance(value, Parameter):
                value = Parameter(value, own.requires_grad)
            else:
                value.requires_grad_(own.requires_grad)
        setattr(self, name, value)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{k}"' for k in keys)
