"""Function: ops whose forward and backward are written in Python.

A call makes one node of the tape, the `ctx` of forward and backward. The C++ half (FunctionNode)
holds the edges and the saved tensors with their versions.
"""

from __future__ import annotations

from typing import Any

from .. import _C

Tensor = _C.Tensor


class FunctionCtx(_C._FunctionBase):
    """What forward and backward get as `ctx`. Other attributes may be set freely."""

    _function: type[Function]
    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _no_grad_outputs: tuple[Tensor, ...] = ()
    _materialize: bool = True
    # for the backward pass: (shape, dtype) of each output, and which inputs are tensors
    _outputs: tuple[tuple[Any, Any] | None, ...] = ()
    _tensor_positions: tuple[int, ...] = ()
    _input_count: int = 0
    _input_meta: tuple[tuple[Any, Any], ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs or outputs for backward, where `saved_tensors` has them.

        A later in-place change of one makes backward raise RuntimeError.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self._saved()

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs forward changed in place; they must be among its results."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which results have no gradient."""
        self._no_grad_outputs = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """value=False: backward gets None, not zeros, for results without gradient."""
        self._materialize = value

    def _run_backward(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Called by the tape: gradients of the outputs in, one for each tensor input out."""
        filled = []
        for g, meta in zip(grads, self._outputs):
            if g is None and self._materialize and meta is not None:
                g = _C.zeros(meta[0], dtype=meta[1])
            filled.append(g)
        name = self._function.__name__
        result = self._function.backward(self, *filled)
        if not isinstance(result, tuple):
            result = (result,)
        extra = result[self._input_count :]
        if len(result) < self._input_count or any(g is not None for g in extra):
            raise RuntimeError(
                f"function {name}Backward returned an incorrect number of gradients (expected "
                f"{self._input_count}, got {len(result)})"
            )
        for i, g in enumerate(result[: self._input_count]):
            if g is not None and i not in self._tensor_positions:
                raise RuntimeError(
                    f"function {name}Backward returned a gradient different from None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
        chosen = []
        for (shape, dtype), i in zip(self._input_meta, self._tensor_positions):
            g = result[i]
            if g is not None and not isinstance(g, Tensor):
                raise TypeError(
                    f"function {name}Backward returned a gradient of type {type(g).__name__} at "
                    f"position {i + 1}: expected a Tensor or None"
                )
            if g is not None:
                if g.shape != shape:
                    try:
                        g = g.sum_to_size(shape)
                    except RuntimeError:
                        raise RuntimeError(
                            f"Function {name}Backward returned an invalid gradient at index {i} - "
                            f"got {list(g.shape)} but expected shape compatible with {list(shape)}"
                        ) from None
                if g.dtype != dtype:
                    g = g.to(dtype)
            chosen.append(g)
        return tuple(chosen)


class Function:
    """Base class of custom ops. Define static methods, then call `YourFunction.apply(...)`:

        forward(ctx, *args)         computes the results (a tensor or a tuple)
        backward(ctx, *grads)       one gradient (or None) for each argument of forward

    Instead of ctx in forward: forward(*args) and setup_context(ctx, inputs, output).
    """

    _ctx_type: type[FunctionCtx]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Named as PyTorch names it: this is what prints as grad_fn.
        cls._ctx_type = type(cls.__name__ + "Backward", (FunctionCtx,), {"_function": cls})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward without recording and puts backward on the tape."""
        positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        tensors = [args[i] for i in positions]
        recording = _C.is_grad_enabled()
        ctx = cls._ctx_type._make(
            cls._ctx_type, cls.__name__ + "Backward", tensors if recording else []
        )
        needed = [recording and t.requires_grad for t in tensors]
        ctx.needs_input_grad = tuple(
            i in positions and needed[positions.index(i)] for i in range(len(args))
        )
        ctx._tensor_positions = positions
        ctx._input_count = len(args)
        ctx._input_meta = tuple((t.shape, t.dtype) for t in tensors)

        previous = _C._set_grad_enabled(False)
        try:
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        finally:
            _C._set_grad_enabled(previous)
        return _record(ctx, args, result, any(needed))


def _record(ctx: FunctionCtx, args: tuple[Any, ...], result: Any, differentiable: bool) -> Any:
    outputs = list(result) if isinstance(result, tuple) else [result]
    dirty = {id(t) for t in ctx._dirty}
    unmarked = {id(t) for t in ctx._no_grad_outputs}
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    for t in ctx._dirty:
        if not any(t is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned "
                "as output. The inputs that are modified inplace must all be outputs of the "
                "Function."
            )
    if not differentiable:
        ctx._to_save, to_save = (), ctx._to_save
        ctx._save(list(to_save), [-1] * len(to_save))
        return result

    numbers: dict[int, int] = {}
    metas: list[tuple[Any, Any] | None] = []
    for nr, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            metas.append(None)
            continue
        numbers.setdefault(id(out), nr)
        has_grad = id(out) not in unmarked and out.dtype.is_floating_point
        metas.append((out.shape, out.dtype) if has_grad else None)
        if not has_grad:
            continue
        if id(out) in dirty:
            ctx._rebase_history(out)
            continue
        if id(out) in inputs:  # returned as it came: the caller's tensor must keep its own history
            previous = _C._set_grad_enabled(False)
            out = outputs[nr] = out.view_as(out)
            _C._set_grad_enabled(previous)
        elif out._base is not None:
            out = outputs[nr] = out.detach()
        ctx._set_history(out, nr)
    ctx._outputs = tuple(metas)
    ctx._to_save, to_save = (), ctx._to_save
    ctx._save(
        list(to_save),
        [-1 if t is None or id(t) in inputs else numbers.get(id(t), -1) for t in to_save],
    )
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]
