"""Optimizer: parameter groups, state, their dict form. Subclasses write `_update` of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .. import _C
from .._modes import enable_grad, no_grad
from ..utils.hooks import HookTable, RemovableHandle

Params = Iterable[_C.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, _C.Tensor]]
Closure = Callable[[], Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base class. params: tensors, (name, tensor) pairs, or dicts {"params": ..., option: ...}.

    defaults: options of groups that don't say otherwise. Raises ValueError for no parameters, a
    parameter in two groups, or one that isn't a leaf; TypeError for what isn't a tensor.
    """

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, _C.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state: defaultdict[_C.Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._step_pre_hooks = HookTable()
        self._step_post_hooks = HookTable()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)  # type: ignore[arg-type]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters to train, with their own options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, _C.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        group = {**param_group, "params": list(params)}
        if group["params"] and isinstance(group["params"][0], tuple):
            group["param_names"] = [name for name, _ in group["params"]]
            group["params"] = [p for _, p in group["params"]]
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in group["params"]:
            if not isinstance(p, _C.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}"
                )
            if not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        if len({id(p) for p in group["params"]}) != len(group["params"]):
            raise ValueError("some parameters appear twice in one parameter group")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization "
                    f"parameter {name}"
                )
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops all gradients, or with set_to_none=False fills them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach()
                    p.grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """One update. closure: computes the loss again and calls backward(); its value returns."""
        for hook in self._step_pre_hooks.values():
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self._update(group, [p for p in group["params"] if p.grad is not None])
        for hook in self._step_post_hooks.values():
            hook(self, (closure,), {})
        return loss

    def _update(self, group: dict[str, Any], params: list[_C.Tensor]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(optimizer, args, kwargs) before each step."""
        return self._step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(optimizer, args, kwargs) after each step."""
        return self._step_post_hooks.add(hook)

    def state_dict(self) -> dict[str, Any]:
        """{"state": {number of parameter: ...}, "param_groups": [...]}; tensors are shared."""
        number: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
        groups = [
            {
                **{k: v for k, v in group.items() if k != "params"},
                "params": [number[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {number.get(id(p), p): value for p, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over options and state. ValueError if groups don't match in number or size.

        Floating-point state takes the dtype of its parameter, except step counts.
        """
        groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for own, saved in zip(self.param_groups, groups):
            if len(own["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        by_number = {
            number: p
            for own, saved in zip(self.param_groups, groups)
            for number, p in zip(saved["params"], own["params"])
        }

        def convert(p: _C.Tensor, name: str, value: Any) -> Any:
            if isinstance(value, _C.Tensor):
                if name != "step" and p.is_floating_point():
                    return value.to(dtype=p.dtype, device=p.device, copy=True)
                return value.clone()
            if isinstance(value, dict):
                return {k: convert(p, k, v) for k, v in value.items()}
            return deepcopy(value)

        self.state = defaultdict(dict)
        for number, saved in state_dict["state"].items():
            if number in by_number:
                p = by_number[number]
                self.state[p] = {k: convert(p, k, v) for k, v in saved.items()}
            else:
                self.state[number] = saved
        for own, saved in zip(self.param_groups, groups):
            params = own["params"]
            own.clear()
            own.update(saved)
            own["params"] = params

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._step_pre_hooks = HookTable()
        self._step_post_hooks = HookTable()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])


def check_not_negative(**options: float) -> None:
    """ValueError in PyTorch's words for the first negative option."""
    words = {
        "lr": "learning rate",
        "eps": "epsilon value",
        "momentum": "momentum value",
        "weight_decay": "weight_decay value",
    }
    for name, value in options.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {words[name]}: {value}")
