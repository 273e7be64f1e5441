"""Checkpointing: parts of a network whose intermediate values are computed again in backward in
place of being kept.

use_reentrant=False: what the part saves is replaced by place holders (saved-tensor hooks); the
first one that backward asks for runs the part again, until the last saved tensor is there.
use_reentrant=True: an autograd.Function that runs the part without a tape, and again with one in
its backward.
"""

from __future__ import annotations

import contextlib
import enum
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C, random
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks

Tensor = _C.Tensor

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed part saved other tensors than the first."""


class DefaultDeviceType:
    """The device whose random state checkpointing keeps, beside the CPU's."""

    _type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._type


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with an op's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Raises NotImplementedError: which ops to keep is decided in PyTorch by its dispatcher, for
    which this engine has no counterpart. Checkpoint smaller parts instead."""
    raise NotImplementedError(
        "create_selective_checkpoint_contexts: selective checkpointing is not supported; checkpoint"
        " smaller parts of the network instead"
    )


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors as leaves that require grad where the given ones do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        i.detach().requires_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs
    )


def noop_context_fn() -> tuple[Any, Any]:
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: bool | None = None
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """In the block, whether the second run of new checkpoints ends as soon as all is there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """In the block, whether checkpoints report what their two runs did."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


@contextlib.contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """The block with an earlier state of the random generator; None: with the current one."""
    if state is None:
        yield
        return
    now = random.get_rng_state()
    random.set_rng_state(state)
    try:
        yield
    finally:
        random.set_rng_state(now)


# --- with a Function ------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """The part as one op."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
            )
        ctx.run_function = run_function
        ctx.state = random.get_rng_state() if preserve_rng_state else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.inputs)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            args[i] = t
        detached = detach_variable(tuple(args))
        with _random_state(ctx.state):
            previous = _C._set_grad_enabled(True)
            try:
                outputs = ctx.run_function(*detached)
            finally:
                _C._set_grad_enabled(previous)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [
            (o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        _C._backward([o for o, _ in pairs], [g for _, g in pairs], None, False, None)
        return (None, None) + tuple(i.grad if isinstance(i, Tensor) else None for i in detached)


# --- with saved-tensor hooks ----------------------------------------------------------------------


class _Holder:
    """Stands for one saved tensor; its value for each backward pass that has run the part again."""

    def __init__(self) -> None:
        self.handles: dict[int, _Handle | None] = {}  # None: its value was handed out


class _Handle:
    pass


class _Stop(Exception):
    """Ends a second run."""


class _Frame:
    """One checkpoint: its part, and what the runs saved."""

    def __init__(self, recompute: Callable[..., None], early_stop: bool, check: Any) -> None:
        self.recompute = recompute  # takes what `inputs` saved
        self.inputs: Tensor | None = None
        self.early_stop = early_stop
        self.check = check
        self.holders: list[weakref.ref[_Holder]] = []
        self.metadata: list[Any] = []
        self.values: dict[int, weakref.WeakKeyDictionary[_Handle, Tensor]] = {}
        self.counts: dict[int, int] = {}
        self.done: dict[int, bool] = {}
        self.forward_completed = False
        self.ignore = False

    def run_again(self) -> None:
        """The part once more. Its inputs come out of the tape, where checkpoints around this one
        have packed them, too."""
        assert self.inputs is not None
        node = self.inputs.grad_fn
        self.recompute(*node._arguments(node.saved_tensors))

    def check_recomputed(self, run: int) -> None:
        if self.ignore:
            return
        if len(self.holders) != self.counts[run]:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\nNumber of tensors saved during forward: "
                f"{len(self.holders)}\nNumber of tensors saved during recomputation: "
                f"{self.counts[run]}"
            )
        wrong = []
        for i, ref in enumerate(self.holders):
            holder = ref()
            if holder is None:
                continue
            handle = holder.handles.get(run)
            if handle is None or handle not in self.values[run]:
                continue
            now = self.check(self.values[run][handle])
            if now != self.metadata[i]:
                wrong.append((i, self.metadata[i], now))
        if wrong:
            text = "".join(
                f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n"
                for i, a, b in wrong
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{text}"
            )


class _recomputing(saved_tensors_hooks):
    """The hooks of a second run: what the part saves goes to the holders of the first."""

    def __init__(self, target: weakref.ref[_Frame], run: int) -> None:
        def pack(x: Tensor) -> Tensor:
            x = x.detach() if x.requires_grad else x
            frame = target()
            assert frame is not None
            i = frame.counts.get(run, 0)
            frame.counts[run] = i + 1
            if i >= len(frame.holders):
                assert not frame.early_stop
                if not frame.forward_completed:  # backward inside the part: more is to come
                    frame.ignore = True
                return x
            holder = frame.holders[i]()
            if holder is not None:
                handle = holder.handles.get(run)
                if handle is None:
                    handle = holder.handles[run] = _Handle()
                frame.values.setdefault(run, weakref.WeakKeyDictionary())[handle] = x
            if frame.early_stop and frame.counts[run] == len(frame.holders):
                raise _Stop
            return x

        super().__init__(pack, lambda x: x)


class _checkpointing(saved_tensors_hooks):
    """The hooks of the first run."""

    def __init__(self, frame: _Frame) -> None:
        def pack(x: Tensor) -> _Holder:
            holder = _Holder()
            frame.holders.append(weakref.ref(holder))
            frame.metadata.append(frame.check(x))
            return holder

        def unpack(holder: _Holder) -> Tensor:
            run = _C._current_graph_task_id()
            if run == -1:
                run = -2 - id(frame)  # outside of backward: until the next such access
                frame.done.pop(run, None)
                holder.handles.pop(run, None)
            if not frame.done.get(run):
                frame.counts[run] = 0
                frame.values[run] = weakref.WeakKeyDictionary()
                try:
                    with _recomputing(weakref.ref(frame), run):
                        previous = _C._set_grad_enabled(True)
                        try:
                            frame.run_again()
                        finally:
                            _C._set_grad_enabled(previous)
                except _Stop:
                    pass
                frame.done[run] = True
                frame.check_recomputed(run)
            if run in holder.handles and holder.handles[run] is None:
                raise CheckpointError(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was "
                    "already unpacked once. If you are calling ctx.saved_tensors in backward, make "
                    "sure to do so only once. Otherwise please open an issue with details on your "
                    "use case."
                )
            handle = holder.handles.get(run)
            holder.handles[run] = None
            if handle is None or handle not in frame.values[run]:
                raise CheckpointError(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was either"
                    " never recomputed, or already unpacked once. Please open an issue with details"
                    " on your use case."
                )
            return frame.values[run].pop(handle)

        super().__init__(pack, unpack)


class _SaveInputs(Function):
    """Keeps the arguments of a part on the tape; its result is only the handle to them."""

    @staticmethod
    def forward(*tensors: Tensor) -> Tensor:
        return _C.empty((0,))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        places = [i for i, a in enumerate(inputs) if isinstance(a, Tensor)]
        others = [None if isinstance(a, Tensor) else a for a in inputs]

        def arguments(tensors: tuple[Tensor, ...]) -> list[Any]:
            args = list(others)
            for i, t in zip(places, tensors):
                args[i] = t
            return args[1:]

        ctx._arguments = arguments
        ctx.save_for_backward(*(inputs[i] for i in places))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("nothing depends on the handle")


def _metadata(x: Tensor) -> Any:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _metadata, "none": lambda x: None}


def _without_reentrant(
    function: Any,
    preserve_rng_state: bool,
    context_fn: Any,
    determinism_check: str,
    early_stop: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)} but got {determinism_check}"
        )
    first, second = context_fn()
    state = random.get_rng_state() if preserve_rng_state else None

    def recompute(kwargs: dict[str, Any], *args: Any) -> None:
        with _random_state(state), second:
            function(*args, **kwargs)

    frame = _Frame(
        recompute,
        early_stop if _early_stop is None else _early_stop,
        _CHECKS[determinism_check],
    )
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    dummy = _C.empty((0,), requires_grad=True)  # so that there is a node
    frame.inputs = _SaveInputs.apply(dummy, kwargs, *args)
    with _checkpointing(frame), first:
        result = function(*args, **kwargs)
    frame.forward_completed = True
    return result


# --- the functions that people call ---------------------------------------------------------------


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose intermediate values backward computes again.

    use_reentrant: how (see the module); pass it explicitly. preserve_rng_state=True (a keyword):
    random ops draw the same numbers both times. determinism_check: "default" compares shapes and
    dtypes of both runs, "none" doesn't. Raises CheckpointError if they differ.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the current"
            " default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
            "the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    return _without_reentrant(
        function, preserve, context_fn, determinism_check, early_stop, args, kwargs
    )


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions one after another, in `segments` checkpoints; the last one runs plainly."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
            "the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))

    def run(start: int, end: int) -> Callable[..., Any]:
        def forward(x: Any) -> Any:
            for j in range(start, end + 1):
                x = functions[j](x)
            return x

        return forward

    from ..nn import Sequential

    if isinstance(functions, Sequential):
        functions = list(functions.children())
    size = len(functions) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(
            run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(end + 1, len(functions) - 1)(input)
