"""Function: ops whose forward and backward are written in Python.

A call makes one node of the tape, the `ctx` of forward and backward. The C++ half (FunctionNode)
holds the edges and the saved tensors with their versions.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from .._modes import forward

Tensor = _C.Tensor


class FunctionCtx(_C._FunctionBase):
    """What forward and backward get as `ctx`. Other attributes may be set freely."""

    _function: type[Function]
    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _no_grad_outputs: tuple[Tensor, ...] = ()
    _materialize: bool = True
    _materialize_non_diff_grads: bool = True  # False: None for results without gradient
    saved_for_forward: tuple[Tensor | None, ...] = ()
    _in_jvp: bool = False
    # for the backward pass: (shape, dtype) of each output, and which inputs are tensors
    _outputs: tuple[tuple[Any, Any] | None, ...] = ()
    _no_grad_numbers: frozenset[int] = frozenset()
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

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for jvp, where `saved_tensors` has them."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._in_jvp:
            return self.saved_for_forward
        return self._saved()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        import warnings

        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, 2)
        return self.saved_tensors

    @property
    def to_save(self) -> tuple[Any, ...] | None:
        return self._to_save or None

    @property
    def materialize_grads(self) -> bool:
        return self._materialize

    @property
    def dirty_tensors(self) -> tuple[Any, ...] | None:
        return self._dirty or None

    @property
    def non_differentiable(self) -> tuple[Any, ...] | None:
        return self._no_grad_outputs or None

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
        grads += (None,) * (len(self._outputs) - len(grads))  # nobody sent those
        for nr, (g, meta) in enumerate(zip(grads, self._outputs)):
            wanted = self._materialize_non_diff_grads or nr not in self._no_grad_numbers
            if g is None and self._materialize and wanted and meta is not None:
                g = _C.zeros(meta[0], dtype=meta[1])
            filled.append(g)
        name = self._function.__name__
        overrides = [
            "backward" if self._function.backward is not Function.backward else "",
            "vjp" if self._function.vjp is not Function.vjp else "",
        ]
        if all(overrides):
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        result = (self._function.vjp if overrides[1] else self._function.backward)(self, *filled)
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


def bind_default_args(func: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The positional arguments of func with its defaults filled in."""
    return _bound(func, args, kwargs)[0]


def _bound(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import inspect

    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _followed(x: Any) -> bool:
    """Whether one of func's transforms follows the tensor, or one in the tuple, list or dict."""
    if isinstance(x, Tensor):
        return hasattr(x, "_level")
    if isinstance(x, (tuple, list)):
        return any(map(_followed, x))
    return isinstance(x, dict) and any(map(_followed, x.values()))


class _Meta(type):
    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        # Named as PyTorch names it: this is what prints as grad_fn.
        cls._backward_cls = type(  # type: ignore[attr-defined]
            name + "Backward", (FunctionCtx,), {"_function": cls}
        )
        super().__init__(name, bases, attributes)


# What nodes of the tape have, and instances of Function don't.
_NODE_ATTRIBUTES = frozenset(
    "name next_functions register_hook register_prehook _register_hook_dict saved_tensors "
    "saved_variables needs_input_grad".split()
)


class Function(metaclass=_Meta):
    """Base class of custom ops. Define static methods, then call `YourFunction.apply(...)`:

        forward(ctx, *args)         computes the results (a tensor or a tuple)
        backward(ctx, *grads)       one gradient (or None) for each argument of forward
        jvp(ctx, *tangents)         one tangent for each result; forward mode
        vmap(info, in_dims, *args)  (results, out_dims); under func.vmap

    Instead of ctx in forward: forward(*args) and setup_context(ctx, inputs, output), which func's
    transforms need. With `generate_vmap_rule = True` vmap follows from the others.
    """

    _backward_cls: type[FunctionCtx]
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            2,
        )

    def __getattr__(self, name: str) -> Any:
        if name == "metadata":
            raise RuntimeError(
                "The underlying PyNode has already been deallocated: the attribute 'metadata' is "
                "one of the nodes that apply() makes."
            )
        if name in _NODE_ATTRIBUTES:
            raise RuntimeError(
                f"Attribute '{name}' is invalid for this instance of _C._FunctionBase. Accessing "
                "this attribute directly on an instance of autograd.Function is a legacy access "
                "pattern that is no longer supported. For examples on how to use new-style "
                "autograd functions, see "
                "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-"
            "style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

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

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward without recording and puts backward on the tape."""
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            args, keywords = _bound(cls.forward, args, kwargs)
            kwargs = {}
            if (
                _in_transform is not None
                and _in_transform()
                and any(isinstance(v, Tensor) for v in keywords.values())
            ):
                raise NotImplementedError(
                    f"{cls.__name__}: kwarg-only Tensor args are not supported inside func's "
                    "transforms; make them positional"
                )
        if any(map(_followed, args)):
            from ..func._functions import apply

            return apply(cls, args)
        if not has_setup and _in_transform is not None and _in_transform():
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
                "jacrev, ...), it must override the setup_context staticmethod. For more details, "
                "please see https://pytorch.org/docs/main/notes/extending.func.html"
            )
        return cls._run(args, kwargs)[0]

    @classmethod
    def _generated_type(cls) -> type[FunctionCtx]:
        """The class of ctx inside func's transforms, which has a name of its own there."""
        made = cls.__dict__.get("_made_type")
        if made is None:
            made = type(cls.__name__ + "GeneratedBackward", (cls._backward_cls,), {})
            cls._made_type = made  # type: ignore[attr-defined]
        return made

    @classmethod
    def _run(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, FunctionCtx]:
        positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        tensors = [args[i] for i in positions]
        recording = _C.is_grad_enabled()
        kind = cls._backward_cls
        if _in_transform is not None and _in_transform():
            kind = cls._generated_type()
        ctx = kind._make(kind, kind.__name__, tensors if recording else [])
        needed = [recording and t.requires_grad for t in tensors]
        ctx.needs_input_grad = tuple(
            i in positions and needed[positions.index(i)] for i in range(len(args))
        )
        ctx._tensor_positions = positions
        ctx._input_count = len(args)
        ctx._input_meta = tuple((t.shape, t.dtype) for t in tensors)

        previous, moving = _C._set_grad_enabled(False), forward.enabled
        forward.enabled = False
        try:
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
                _check_saved_inputs(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        finally:
            _C._set_grad_enabled(previous)
            forward.enabled = moving
        return _record(ctx, args, result, any(needed)), ctx


# Whether one of func's transforms runs; set when those are first imported.
_in_transform: Any = None


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
    several = sum(isinstance(o, Tensor) for o in outputs) > 1
    numbers: dict[int, int] = {}
    metas: list[tuple[Any, Any] | None] = []
    views: list[Tensor] = []
    differentiable_outputs = 0
    for nr, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            metas.append(None)
            continue
        numbers.setdefault(id(out), nr)
        metas.append((out.shape, out.dtype))
        is_input = id(out) in inputs
        has_grad = (
            differentiable
            and id(out) not in unmarked
            and (out.dtype.is_floating_point or out.dtype.is_complex)
        )
        differentiable_outputs += has_grad
        if id(out) in dirty:
            _check_dirty(out, is_input, several)
            if has_grad and is_input:
                ctx._rebase_history(out)
            elif has_grad:
                ctx._set_history(out, nr)
            continue
        if is_input:  # returned as it came: the caller's tensor must keep its own history
            previous = _C._set_grad_enabled(False)
            detach = not has_grad and out.requires_grad
            out = outputs[nr] = out.detach() if detach else out.view_as(out)
            _C._set_grad_enabled(previous)
        if has_grad:
            ctx._set_history(out, nr)
        if out._is_view():
            views.append(out)
    for view in views:
        ctx._restrict_view(view, differentiable_outputs > 1)
    ctx._outputs = tuple(metas)
    ctx._no_grad_numbers = frozenset(numbers[i] for i in unmarked if i in numbers)
    ctx._to_save, to_save = (), ctx._to_save
    ctx._save(
        list(to_save),
        [
            -1 if not differentiable or t is None or id(t) in inputs else numbers.get(id(t), -1)
            for t in to_save
        ],
    )
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _check_saved_inputs(ctx: FunctionCtx, args: tuple[Any, ...], result: Any) -> None:
    """Whether setup_context saves an input that forward has returned: the caller gets an alias."""
    outputs = result if isinstance(result, tuple) else (result,)
    saved = {id(t) for t in (*ctx._to_save, *ctx.saved_for_forward) if t is not None}
    dirty = {id(t) for t in ctx._dirty}
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    if any(id(o) in inputs and id(o) in saved and id(o) not in dirty for o in outputs):
        raise RuntimeError(
            "A input that has been returned as-is as output is being saved for backward. This is "
            "not supported if you override setup_context. You should return and save a view of the "
            "input instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
        )


def _check_dirty(out: Tensor, is_input: bool, several: bool) -> None:
    """Whether forward may have written what it marked as dirty."""
    if not is_input:
        import warnings

        warnings.warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty().",
            UserWarning,
            5,
        )
    elif several and out._is_view():
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using .clone() "
            "for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second "
            "one that does the other operations)."
        )
    elif _C.is_grad_enabled() and out.requires_grad and not out._is_view() and out.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )


class Error(Function):
    """The identity, whose gradient raises. The name is what graphs show in PyTorch."""

    @staticmethod
    def forward(ctx: Any, text: str, *tensors: Tensor) -> Any:
        ctx.text = text
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(ctx.text)


Error._backward_cls.__name__ = "Error"


def once_differentiable(fn: Any) -> Any:
    """Decorates a backward that isn't differentiable itself: it runs without recording, and
    differentiating its results raises RuntimeError."""
    import functools

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        previous = _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            _C._set_grad_enabled(previous)
        if not previous:
            return outputs
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        text = "trying to differentiate twice a function that was marked with @once_differentiable"
        single = not isinstance(outputs, tuple)
        given = (outputs,) if single else outputs

        def stand_in(t: Any) -> Tensor:
            if not isinstance(t, Tensor) or not (t.is_floating_point() or t.is_complex()):
                return _C.empty((0,))
            t = t.detach()
            t.requires_grad = True
            return t

        inputs = [stand_in(t) for t in given]
        results = Error.apply(text, *inputs)
        made = tuple(r if i.requires_grad else t for r, i, t in zip(results, inputs, given))
        return made[0] if single else made

    return wrapper


class InplaceFunction(Function):
    """Kept for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Kept for old programs: raises when it is used."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("NestedIOFunction: use Function with flat arguments")


_SingleLevelFunction = Function
