"""Running a module on several devices, of which this build has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """The module as it is: PyTorch splits a batch over GPUs, and where there are none it does the
    same. NotImplementedError if device_ids or output_device name a device."""

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids or output_device is not None:
            raise NotImplementedError("DataParallel: this build has only the cpu device")
        self.module = module
        self.dim = dim
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
