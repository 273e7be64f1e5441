"""gradcheck and gradgradcheck: the tape's gradients against finite differences.

Central differences in float64: with eps=1e-6 the error of a smooth function is about 1e-9, so a
tolerance of 1e-5 separates right from wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C

Tensor = _C.Tensor


class GradcheckError(RuntimeError):
    """A gradient differs from the finite difference by more than the tolerance."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    check_sparse_nnz: bool | None = None,
) -> bool:
    """Whether the Jacobian of func by backward() is that of finite differences, within tolerance.

    inputs: those that require grad should be float64. nondet_tol: how much two backward passes may
    differ. fast_mode compares one random projection of the Jacobian in place of every entry.
    Raises GradcheckError, or returns False if not raise_exception; NotImplementedError for modes of
    differentiation that the engine lacks.
    """
    if check_forward_ad or check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck: forward-mode and batched gradients are not supported")
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        if check_backward_ad:
            _check(func, args, eps, atol, rtol, nondet_tol, fast_mode, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the backward pass itself. grad_outputs: random numbers unless given."""
    if check_fwd_over_rev or check_batched_grad:
        raise NotImplementedError("gradgradcheck: forward-mode gradients are not supported")
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _differentiable(func(*args))
    if grad_outputs is None:
        grads = [_C.rand_like(o).requires_grad_() for o in outputs]
        if gen_non_contig_grad_outputs:
            grads = [_spread(g) for g in grads]
    else:
        given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
        grads = [g.detach().clone().requires_grad_() for g in given]

    def backward(*all_args: Any) -> tuple[Tensor, ...]:
        values, seeds = all_args[: len(args)], all_args[len(args) :]
        outs = _differentiable(func(*values))
        wanted = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        found = _C._grad(outs, wanted, seeds, None, True, True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        backward,
        (*args, *grads),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        fast_mode=fast_mode,
    )


def _spread(t: Tensor) -> Tensor:
    """The same values with gaps between them."""
    return _C.stack([t.detach(), t.detach()], -1).select(-1, 0).requires_grad_()


def _differentiable(result: Any) -> list[Tensor]:
    outputs = [result] if isinstance(result, Tensor) else list(result)
    return [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]


def _check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    fast_mode: bool,
    check_undefined: bool,
) -> None:
    wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    for i, t in enumerate(wanted):
        if t.dtype != _C.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point. "
                "This check will likely fail if all the inputs are not of double precision "
                "floating point. ",
                stacklevel=3,
            )
        if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    outputs = _differentiable(func(*args))
    if not outputs:
        return
    for o in range(len(outputs)):
        # A new graph each time: taking differences writes into what the last one saved.
        analytic = _analytic(_differentiable(func(*args))[o], wanted, fast_mode)
        again = _analytic(_differentiable(func(*args))[o], wanted, fast_mode)
        for i, t in enumerate(wanted):
            if (
                analytic[i][0].numel()
                and (analytic[i][0] - again[i][0]).abs().max().item() > nondet_tol
            ):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    f"grad_output multiple times gives different values (input {i}, output {o}, "
                    f"allowed difference nondet_tol={nondet_tol})"
                )
            numeric = _numeric(func, args, t, o, eps, analytic[i][1])
            _compare(numeric, analytic[i][0], atol, rtol, i, o, fast_mode)
    if check_undefined and len(outputs) > 1:
        # Backward has to cope with outputs that nobody used.
        outputs = _differentiable(func(*args))
        found = _C._grad(
            [outputs[0]],
            wanted,
            None if outputs[0].numel() == 1 else [_C.zeros_like(outputs[0])],
            None,
            False,
            True,
        )
        for g in found:
            if (
                g is not None
                and g.numel()
                and outputs[0].numel() != 1
                and g.abs().max().item() != 0
            ):
                raise GradcheckError(
                    "a zero gradient of the output gives a gradient that isn't zero"
                )


def _analytic(out: Tensor, wanted: list[Tensor], fast: bool) -> list[tuple[Tensor, Tensor | None]]:
    """For each input its Jacobian (numel of input, numel of output), or in fast mode the product of
    a random output vector with it, and that vector."""
    if fast:
        seed = _C.rand_like(out.detach())
        found = _C._grad([out], wanted, [seed], True, False, True)
        return [
            (_C.zeros_like(t).reshape(-1, 1) if g is None else g.detach().reshape(-1, 1), seed)
            for g, t in zip(found, wanted)
        ]
    columns: list[list[Tensor]] = [[] for _ in wanted]
    for k in range(out.numel()):
        seed = _C.zeros(out.numel(), dtype=out.dtype)
        seed[k] = 1
        found = _C._grad([out], wanted, [seed.reshape(out.shape)], True, False, True)
        for column, g, t in zip(columns, found, wanted):
            if g is not None and (g.shape != t.shape or g.dtype != t.dtype):
                raise GradcheckError(
                    f"grad is of shape {tuple(g.shape)} and {g.dtype}, the input of shape "
                    f"{tuple(t.shape)} and {t.dtype}"
                )
            column.append(_C.zeros_like(t).reshape(-1) if g is None else g.detach().reshape(-1))
    return [
        (_C.stack(c, 1) if c else _C.zeros((t.numel(), 0), dtype=t.dtype), None)
        for c, t in zip(columns, wanted)
    ]


def _numeric(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    t: Tensor,
    o: int,
    eps: float,
    projection: Tensor | None,
) -> Tensor:
    data = t.detach()  # shares memory with the input, unseen by the tape

    def value() -> Tensor:
        result = func(*args)
        return _differentiable(result)[o].detach().reshape(-1).clone()

    rows = []
    for place in _places(t):
        kept = data[place].item()
        data[place] = kept + eps
        high = value()
        data[place] = kept - eps
        low = value()
        data[place] = kept
        slope = (high - low) / (2 * eps)
        if projection is not None:
            slope = (slope * projection.reshape(-1)).sum().reshape(1)
        rows.append(slope)
    if not rows:
        return _C.zeros((0, 0), dtype=t.dtype)
    return _C.stack(rows, 0)


def _places(t: Tensor) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for n in t.shape:
        places = [(*p, i) for p in places for i in range(n)]
    return places


def _compare(
    numeric: Tensor, analytic: Tensor, atol: float, rtol: float, i: int, o: int, fast: bool
) -> None:
    if numeric.numel() == 0 and analytic.numel() == 0:
        return
    numeric = numeric.to(analytic.dtype)
    error = (analytic - numeric).abs()
    if (error <= numeric.abs() * rtol + atol).all().item():
        return
    what = "Jacobian (projected)" if fast else "Jacobian"
    raise GradcheckError(
        f"{what} mismatch for output {o} with respect to input {i},\n"
        f"numerical:{numeric}\nanalytical:{analytic}\n"
    )
