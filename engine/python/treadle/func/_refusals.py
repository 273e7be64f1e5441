"""What vmap refuses, in PyTorch's words: results whose shape depends on values, and running
statistics that the examples of a batch would all update.

To add one: a function in CHECKS by the op's name; it raises for the calls that it refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Test = Callable[[Any], bool]  # whether a value is a tensor of which each example has its own

_FEATURE = (
    "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)


def _dynamic(name: str) -> Callable[..., None]:
    def refuse(args: Any, kwargs: Any, batched: Test) -> None:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            f"to vmap over aten::{name}. {_FEATURE}"
        )

    return refuse


def _where(args: Any, kwargs: Any, batched: Test) -> None:
    if len(args) + len(kwargs) == 1:  # the condition alone: as nonzero
        _dynamic("where")(args, kwargs, batched)


def _masked_select(args: Any, kwargs: Any, batched: Test) -> None:
    raise RuntimeError(
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
        f"this because for each batch this would return a differently shaped Tensor. {_FEATURE}"
    )


def _one_hot(args: Any, kwargs: Any, batched: Test) -> None:
    if (args[1] if len(args) > 1 else kwargs.get("num_classes", -1)) == -1:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument."
        )


def _running(training: str) -> Callable[..., None]:
    names = ("input", "weight", "bias", "running_mean", "running_var", training)

    def refuse(args: Any, kwargs: Any, batched: Test) -> None:
        given = dict(zip(names, args), **kwargs)
        running = [r for r in (given.get("running_mean"), given.get("running_var"))]
        if (
            given.get(training)
            and batched(given.get("input"))
            and any(r is not None and not batched(r) for r in running)
        ):
            raise RuntimeError(
                "Batch norm got a batched tensor as input while the running_mean or running_var, "
                "which will be updated in place, were not batched.\nIf you are using a module and "
                "do not need eval mode, please set `track_running_stats` to be False.If you are "
                "using a prebuilt module and do not need eval mode, please see "
                "func.replace_all_batch_norm_modules_"
            )

    return refuse


CHECKS: dict[str, Callable[..., None]] = {
    **{n: _dynamic(n) for n in ("nonzero", "argwhere", "unique_consecutive", "unique_dim")},
    **{n: _dynamic("_unique2") for n in ("unique", "_unique", "_unique2")},
    "where": _where,
    "masked_select": _masked_select,
    "one_hot": _one_hot,
    "batch_norm": _running("training"),
    "native_batch_norm": _running("training"),
    "instance_norm": _running("use_input_stats"),
}
