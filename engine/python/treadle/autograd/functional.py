"""Derivatives of functions of tensors: vjp, jvp, jacobian, hessian, vhp, hvp.

All of them run the function once on private copies of the inputs and read the tape. With
create_graph the results can be differentiated, also for the inputs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from .. import _C
from .._modes import enable_grad

Tensor = _C.Tensor
Tensors = Tensor | Sequence[Tensor]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_SINGLE_INPUT = "input to the user-provided function is a single Tensor with a single element"


def _as_tuple(value: Any, what: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether it was a tuple, and the tensors as one."""
    is_tuple = isinstance(value, (tuple, list))
    items = tuple(value) if is_tuple else (value,)
    for i, item in enumerate(items):
        if isinstance(item, Tensor):
            continue
        if what == "outputs":
            kind = "The outputs of the user-provided function given to"
        else:
            kind = f"The {what} given to"
        if is_tuple:
            raise TypeError(
                f"{kind} {function} must be either a Tensor or a tuple of Tensors but the value "
                f"at index {i} has type {type(item)}."
            )
        raise TypeError(
            f"{kind} {function} must be either a Tensor or a tuple of Tensors but the given "
            f"{what} has type {type(item)}."
        )
    return is_tuple, items


def _prepare(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Copies to differentiate for: connected to the inputs if the result shall be."""
    made = []
    for t in inputs:
        if create_graph and t.requires_grad:
            made.append(t.view_as(t))
        else:
            made.append(t.detach().requires_grad_(True))
    return tuple(made)


def _finish(tensors: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return tensors if create_graph else tuple(t.detach() for t in tensors)


def _unpack(tensors: Any, is_tuple: bool) -> Any:
    return tuple(tensors) if is_tuple else tensors[0]


def _check_requires_grad(tensors: Sequence[Tensor | None], kind: str, strict: bool) -> None:
    """strict: every one must depend on the inputs."""
    if not strict:
        return
    texts = {
        "outputs": "Output {i} of the user-provided function does not require gradients. The "
        "outputs must be computed in a differentiable manner from the input when running in "
        "strict mode.",
        "grad_inputs": "The gradient with respect to input {i} is None, which means that it is "
        "independent of the inputs. This is not allowed in strict mode.",
        "jacobian": "The jacobian of the user-provided function with respect to input {i} is "
        "independent of the input. This is not allowed in strict mode when create_graph=True.",
        "hessian": "The hessian of the user-provided function with respect to input {i} is "
        "independent of the input. This is not allowed in strict mode when create_graph=True.",
    }
    for i, t in enumerate(tensors):
        if t is None:
            raise RuntimeError(
                "The output of the user-provided function is independent of input "
                f"{i}. This is not allowed in strict mode."
            )
        if not t.requires_grad:
            raise RuntimeError(texts[kind].format(i=i))


def _check_v(v: Sequence[Tensor], other: Sequence[Tensor], is_tuple: bool) -> None:
    if len(other) != len(v):
        if is_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, other)):
        if a.size() != b.size():
            where = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(
                f"{where}v has invalid size: should be torch.Size({list(b.shape)}) but got "
                f"torch.Size({list(a.shape)})."
            )


def _ones_if_single(outputs: Sequence[Tensor], what: str) -> None:
    if len(outputs) != 1 or outputs[0].nelement() != 1:
        raise RuntimeError(what)


def _vector(
    name: str,
    v: Tensors | None,
    like: tuple[Tensor, ...],
    is_tuple: bool,
    create_graph: bool,
    one_element: str,
) -> tuple[Tensor, ...] | None:
    """The vector of a product, checked against what it is `like`; None, for 1, if it wasn't given
    and that has one element. one_element: what the error says has to have one."""
    if v is None:
        _ones_if_single(like, f"The vector v can only be None if the {one_element}.")
        return None
    _, given = _as_tuple(v, "v", name)
    vector = given if create_graph else tuple(t.detach() for t in given)
    _check_v(vector, like, is_tuple)
    return vector


def _autograd(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grads: Sequence[Tensor | None] | None,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """grad() with None for what isn't connected."""
    from . import grad

    grads = [None] * len(outputs) if grads is None else grads
    kept = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in kept],
        list(inputs),
        [g for _, g in kept],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def _fill(
    grads: Sequence[Tensor | None],
    refs: Sequence[Tensor],
    strict: bool,
    create_graph: bool,
    stage: str,
) -> tuple[Tensor, ...]:
    """Zeros in place of None; strict: an error instead."""
    if stage not in ("back", "back_trick", "double_back", "double_back_trick"):
        raise RuntimeError(f"Invalid stage argument '{stage}' to _fill_in_zeros")
    texts = {
        "back": "The output of the user-provided function is independent of input {i}. This is "
        "not allowed in strict mode.",
        "back_trick": "The gradient with respect to the input is independent of entry {i} in the "
        "grad_outputs when using the double backward trick to compute forward mode gradients. "
        "This is not allowed in strict mode.",
        "double_back": "The jacobian of the user-provided function is independent of input {i}. "
        "This is not allowed in strict mode.",
        "double_back_trick": "The hessian of the user-provided function is independent of entry "
        "{i} in the grad_jacobian. This is not allowed in strict mode as it prevents from using "
        "the double backward trick to replace forward mode AD.",
    }
    result = []
    for i, (g, ref) in enumerate(zip(grads, refs)):
        if g is None:
            if strict:
                raise RuntimeError(texts[stage].format(i=i))
            g = _C.zeros_like(ref)
        elif strict and create_graph and not g.requires_grad:
            if "double" not in stage:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. "
                    "This is not allowed in strict mode when create_graph=True."
                )
            raise RuntimeError(
                f"The hessian of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )
        result.append(g)
    return tuple(result)


def vjp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), v^T J). v may be left out for a one-element output. strict: RuntimeError if
    an output doesn't depend on an input."""
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vjp")
        args = _prepare(given, create_graph)
        out_tuple, outputs = _as_tuple(func(*args), "outputs", "vjp")
        _check_requires_grad(outputs, "outputs", strict)
        single = "user-provided function returns a single Tensor with a single element"
        seeds = _vector("vjp", v, outputs, out_tuple, create_graph, single)
    with enable_grad() if create_graph or _C.is_grad_enabled() else nullcontext():
        grads = _autograd(outputs, args, seeds, create_graph)
        result = _fill(grads, args, strict, create_graph, "back")
    return (
        _unpack(_finish(outputs, create_graph), out_tuple),
        _unpack(_finish(result, create_graph), is_tuple),
    )


def jvp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), J v), by differentiating the vjp for its vector. v may be left out for a
    one-element input."""
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jvp")
        args = _prepare(given, create_graph)
        seeds = _vector("jvp", v, args, is_tuple, create_graph, _SINGLE_INPUT)
        out_tuple, outputs = _as_tuple(func(*args), "outputs", "jvp")
        _check_requires_grad(outputs, "outputs", strict)
        # The vjp is linear in its vector, whatever that is.
        free = tuple(_C.zeros_like(o).requires_grad_(True) for o in outputs)
        grads = _fill(_autograd(outputs, args, free, True), args, strict, False, "back")
        _check_requires_grad(grads, "grad_inputs", strict)
    if create_graph:
        with enable_grad():
            raw = _autograd(grads, free, seeds, True)
            result = _fill(raw, outputs, strict, True, "back_trick")
    else:
        raw = _autograd(grads, free, seeds, False)
        result = _fill(raw, outputs, strict, False, "back_trick")
    return (
        _unpack(_finish(outputs, create_graph), out_tuple),
        _unpack(_finish(result, create_graph), out_tuple),
    )


def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of func: for each output and input a tensor of the output's shape followed by
    the input's. strategy: "reverse-mode" or, with vectorize, "forward-mode"."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `vectorize=False` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`vectorize=True` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` '
                "are not supported together (yet). Please either set `strict=False` or "
                '`strategy="reverse-mode"`.'
            )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        args = _prepare(given, create_graph)
        out_tuple, outputs = _as_tuple(func(*args), "outputs", "jacobian")
        _check_requires_grad(outputs, "outputs", strict)
        blocks = []
        for i, out in enumerate(outputs):
            rows: list[list[Tensor]] = [[] for _ in args]
            for element in out.reshape(-1).unbind(0):
                grads = _autograd([element], args, None, create_graph, True)
                for k, (g, arg) in enumerate(zip(grads, args)):
                    if g is None:
                        if strict:
                            raise RuntimeError(
                                f"Output {i} of the user-provided function is independent of "
                                f"input {k}. This is not allowed in strict mode."
                            )
                        g = _C.zeros_like(arg)
                    elif strict and create_graph and not g.requires_grad:
                        raise RuntimeError(
                            "The jacobian of the user-provided function is independent of input "
                            f"{k}. This is not allowed in strict mode when create_graph=True."
                        )
                    rows[k].append(g if create_graph else g.detach())
            blocks.append(
                tuple(
                    (_C.stack(r, 0) if r else _C.zeros((0, *a.shape), dtype=a.dtype)).reshape(
                        (*out.shape, *a.shape)
                    )
                    for r, a in zip(rows, args)
                )
            )
    result = tuple(_finish(b, create_graph) for b in blocks)
    if out_tuple:
        return tuple(r if is_tuple else r[0] for r in result)
    return result[0] if is_tuple else result[0][0]


def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with a one-element result: the Jacobian of its gradient."""
    is_tuple, given = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one(*args: Tensor) -> Tensor:
        out = func(*args)
        out_tuple, outputs = _as_tuple(out, "outputs", "hessian")
        _check_requires_grad(outputs, "outputs", strict)
        if out_tuple or not isinstance(out, Tensor):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if out.nelement() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single "
                "element"
            )
        return out.squeeze()

    def gradient(*args: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(a.requires_grad_(True) if a.is_leaf else a for a in args)
        jac = jacobian(one, args, create_graph=True)
        _check_requires_grad(jac, "jacobian", strict)
        return jac  # type: ignore[no-any-return]

    result = jacobian(
        gradient,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if is_tuple else result[0][0]


def vhp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), v^T H) of a function with a one-element result."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), H v) of a function with a one-element result; vhp is faster."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str,
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", name)
        args = _prepare(given, create_graph)
        seeds = _vector(name, v, args, is_tuple, create_graph, _SINGLE_INPUT)
        out_tuple, outputs = _as_tuple(func(*args), "outputs", name)
        _check_requires_grad(outputs, "outputs", strict)
        if out_tuple:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outputs[0].nelement() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {name} should contain a single "
                "element"
            )
        jac = _fill(_autograd(outputs, args, None, True), args, strict, create_graph, "back")
        _check_requires_grad(jac, "jacobian", strict)
        if name == "hvp":
            free = tuple(_C.zeros_like(a).requires_grad_(True) for a in args)
            double = _autograd(jac, args, free, True)
            rows = _fill(double, args, strict, create_graph, "double_back")
            _check_requires_grad(rows, "hessian", strict)
    with enable_grad() if create_graph or _C.is_grad_enabled() else nullcontext():
        if name == "hvp":
            raw = _autograd(rows, free, seeds, create_graph)
            result = _fill(raw, args, strict, create_graph, "double_back_trick")
        else:
            raw = _autograd(jac, args, seeds, create_graph)
            result = _fill(raw, args, strict, create_graph, "double_back")
    return (
        _unpack(_finish(outputs, create_graph), False),
        _unpack(_finish(result, create_graph), is_tuple),
    )


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """For each tensor the rows that, all together, are an identity matrix."""
    total = sum(tensor_numels)
    result = []
    start = 0
    for t, n in zip(tensors, tensor_numels):
        chunk = _C.zeros((total, n), dtype=t.dtype)
        if n:
            chunk.diagonal(-start).fill_(1)
        result.append(chunk)
        start += n
    return tuple(result)
