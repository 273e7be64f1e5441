"""The tape as users see it: nodes and edges, what is saved for backward, hooks on tensors."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import _C
from .._tensor import AccumulateGrad

Tensor = _C.Tensor
Node = _C.Node

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _Like(NamedTuple):
    """What is known of the tensor behind an edge."""

    shape: Any
    dtype: Any

    def is_complex(self) -> bool:
        return bool(self.dtype.is_complex)

    def numel(self) -> int:
        return int(self.shape.numel())


class GradientEdge(NamedTuple):
    """Where a tensor's gradient arrives: input `output_nr` of `node`. Stands for the tensor in
    backward() and grad() and doesn't keep its memory."""

    node: Any
    output_nr: int
    like: _Like | None = None  # outputs need it


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that leads to the node which made the tensor, or to its .grad."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(_node_of(tensor), tensor.output_nr, _Like(tensor.shape, tensor.dtype))


def _node_of(tensor: Tensor) -> Any:
    """grad_fn, or for a leaf the end of the tape."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return AccumulateGrad.of(tensor)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Makes autograd believe that an in-place op wrote the tensor."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._bump_version(t)


# --- saved tensors --------------------------------------------------------------------------------


class _Disabled(threading.local):
    """Why saved_tensors_hooks can't be entered in this thread; None: they can."""

    message: str | None = None


_disabled = _Disabled()


class saved_tensors_hooks:
    """In the block, what ops save for backward goes through pack_hook(tensor), which returns any
    object; backward gets the tensor back from unpack_hook(object)."""

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _disabled.message is not None:
            raise RuntimeError(_disabled.message)
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: Any) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """In the block, saved tensors are kept as copies in host memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().clone()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """In the block, entering saved_tensors_hooks raises RuntimeError(error_message)."""
    if _C._saved_tensors_hooks_depth() > 0:
        raise RuntimeError(error_message)
    before = _disabled.message
    _disabled.message = error_message
    try:
        yield
    finally:
        _disabled.message = before


class SavedTensor:
    """What a node saved under a name: grad_fn._raw_saved_NAME."""

    _node: Any
    _name: str

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, node: Any, name: str) -> SavedTensor:
        made = cls.__new__(cls)
        made._node, made._name = node, name
        return made

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Packs the tensor with these hooks, once."""
        _C._pack_saved_tensor(self._node, self._name, pack_hook, unpack_hook)


# --- hooks on several tensors ---------------------------------------------------------------------


class _MultiHandle:
    """Removes several hooks."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *args: Any) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: str = "all",
) -> _MultiHandle:
    """fn(grads) in each backward pass when the gradients of all `tensors` that it computes are
    known (None for the others); with mode="any" fn(grad) for the first one."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        ran: dict[int, bool] = {}

        def first(grad: Tensor) -> None:
            run = _C._current_graph_task_id()
            assert run != -1, "expected this hook to be called inside a backward call"
            with lock:
                before, ran[run] = ran.get(run, False), True
            if not before:
                fn(grad)  # type: ignore[arg-type]

        return _MultiHandle(tuple(t.register_hook(first) for t in tensors if t.requires_grad))

    count: dict[int, int] = {}
    expected: dict[int, int] = {}
    grads: dict[int, list[Tensor | None]] = {}
    nodes = [_node_of(t) if t.requires_grad else None for t in tensors]

    def make(i: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            run = _C._current_graph_task_id()
            assert run != -1, "expected this hook to be called inside a backward call"
            with lock:
                slot = grads.setdefault(run, [None] * len(tensors))
                slot[i] = grad
                count[run] = count.get(run, 0) + 1
                if run not in expected:
                    expected[run] = sum(n is not None and _C._will_execute(n) for n in nodes)
                complete = count[run] == expected[run]
                if complete:
                    del count[run], expected[run], grads[run]
            if complete:
                fn(slot)  # type: ignore[arg-type]

        return hook

    return _MultiHandle(
        tuple(t.register_hook(make(i)) for i, t in enumerate(tensors) if t.requires_grad)
    )


# --- writing what was saved -----------------------------------------------------------------------


class _Handle:
    """What is saved in place of a tensor while mutation is allowed."""


class _Originals:
    """The saved tensors of one allow_mutation_on_saved_tensors block, and copies of those that were
    written since. The names are PyTorch's."""

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        # By the place and version of a tensor, which may be saved several times.
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, _Handle] = (
            weakref.WeakValueDictionary()
        )
        self.open = True

    def clear(self) -> None:
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()
        self.open = False

    def pack(self, tensor: Tensor) -> _Handle:
        place = _place(tensor)
        handle = self.tid_to_weakhandle.get(place)
        if handle is None:
            handle = self.tid_to_weakhandle[place] = _Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context "
                "in which the graph was originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, written: Tensor) -> None:
        memory = _C._storage_address(written)
        for handle, saved in list(self.original.items()):
            if _C._storage_address(saved) == memory:
                with _C_no_grad():
                    self.cloned[handle] = saved.clone()
                del self.original[handle]


def _C_no_grad() -> Any:
    from .._modes import no_grad

    return no_grad()


def _place(tensor: Tensor) -> tuple[Any, ...]:
    return (
        tensor.data_ptr(),
        _C._storage_address(tensor),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.dtype,
        tensor._version,
    )


_mutation = threading.local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Originals]:
    """In the block, tensors that were saved for backward may be written: what an in-place op is
    about to overwrite is copied first. Backward must run inside the block, too."""
    if getattr(_mutation, "active", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    originals = _Originals()
    with saved_tensors_hooks(originals.pack, originals.unpack):
        _mutation.active = True
        _C._set_before_write(originals.before_write)
        try:
            yield originals
        finally:
            _C._set_before_write(None)
            _mutation.active = False
            originals.clear()
