"""gradcheck and gradgradcheck: gradients against finite differences.

Everything is compared as real numbers: a complex element counts as two, and the Jacobian has a row
for each real component of an input and a column for each one of an output. Central differences in
float64 with eps=1e-6 have an error of about 1e-9, so that 1e-5 separates right from wrong. In fast
mode one random projection u^T J v stands for all entries.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C, random

Tensor = _C.Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


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
    """Whether func's derivatives are those of finite differences, within tolerance.

    inputs: those that require grad should be float64 or complex128. check_backward_ad,
    check_forward_ad: the modes to check. check_batched_grad, check_batched_forward_grad: also that
    vmap over the derivative equals a loop. check_undefined_grad: that backward copes with outputs
    that nobody used. nondet_tol: how much two backward passes may differ. Raises GradcheckError, or
    returns False if not raise_exception.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    check = _Check(func, args, eps, atol, rtol, fast_mode)
    try:
        check.inputs(check_forward_ad)
        if not check.outputs():
            check.no_outputs()
            return True
        if check_backward_ad:
            check.backward(nondet_tol, check_grad_dtypes)
        if check_forward_ad:
            check.forward()
            if check_undefined_grad:
                check.undefined_forward()
        if check_batched_forward_grad:
            check.batched_forward()
        if check_backward_ad:
            if check_batched_grad:
                check.batched_backward()
            check.multiplied_by_grad()
            if check_undefined_grad:
                check.undefined()
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
    """gradcheck of the backward pass itself. grad_outputs: random numbers unless given; those
    given are varied only where they require grad."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        grads = [_random_like(o).requires_grad_() for o in _differentiable(func(*args))]
        if gen_non_contig_grad_outputs:
            grads = [_spread(g) for g in grads]
    else:
        grads = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)

    def backward(*all_args: Any) -> tuple[Tensor, ...]:
        from . import grad

        values, seeds = all_args[: len(args)], all_args[len(args) :]
        values = tuple(
            v.requires_grad_()
            if isinstance(v, Tensor) and isinstance(a, Tensor) and a.requires_grad and v.is_leaf
            else v
            for v, a in zip(values, args)
        )
        outs = _differentiable(func(*values))
        wanted = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        found = grad(outs, wanted, seeds, create_graph=True, allow_unused=True)
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
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


# --- parts ----------------------------------------------------------------------------------------


def _spread(t: Tensor) -> Tensor:
    """The same values with gaps between them."""
    return _C.stack([t.detach(), t.detach()], -1).select(-1, 0).requires_grad_()


def _listed(result: Any) -> list[Any]:
    return [result] if isinstance(result, Tensor) else list(result)


def _differentiable(result: Any) -> list[Tensor]:
    return [o for o in _listed(result) if isinstance(o, Tensor) and o.requires_grad]


@contextmanager
def _own_random() -> Iterator[None]:
    """The same random numbers each time, which leave the generator as it was and have nothing to do
    with what the caller draws."""
    state = random.get_rng_state()
    try:
        _C.manual_seed(67280421310721)
        yield
    finally:
        random.set_rng_state(state)


def _random_like(t: Tensor) -> Tensor:
    real = _C.rand(tuple(t.shape), dtype=_real_dtype(t))
    if not t.is_complex():
        return real
    return _C.complex(real, _C.rand(tuple(t.shape), dtype=_real_dtype(t)))


def _real_dtype(t: Tensor) -> Any:
    if not t.is_complex():
        return t.dtype
    return _C._dtype("float64" if t.itemsize == 16 else "float32")


def _real(t: Tensor) -> Tensor:
    """All real components, in a row."""
    t = t.detach()
    if t.is_complex():
        t = _C.view_as_real(t)
    return t.reshape(-1)


def _tensor_like(components: Tensor, t: Tensor) -> Tensor:
    """The inverse of _real."""
    if t.is_complex():
        return _C.view_as_complex(components.reshape((*t.shape, 2)).contiguous())
    return components.reshape(t.shape)


def _units(t: Tensor) -> Iterator[Tensor]:
    """For each real component the tensor that has 1 there."""
    n = t.numel() * (2 if t.is_complex() else 1)
    for k in range(n):
        row = _C.zeros(n, dtype=_real_dtype(t))
        row[k] = 1
        yield _tensor_like(row, t)


class _Check:
    """One gradcheck: the function, its arguments, and what was found out so far."""

    def __init__(
        self, func: Any, args: tuple[Any, ...], eps: float, atol: float, rtol: float, fast: bool
    ) -> None:
        self.func, self.args = func, args
        self.eps, self.atol, self.rtol, self.fast = eps, atol, rtol, fast
        self.wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]

    def inputs(self, forward: bool) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the "
                "them have requires_grad=True."
            )
        for i, t in enumerate(self.args):
            if not isinstance(t, Tensor) or not t.requires_grad:
                continue
            if t.dtype not in (_C._dtype("float64"), _C._dtype("complex128")):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point "
                    "or complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex. ",
                    stacklevel=4,
                )
            if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical gradients "
                    "correctly. You should call .contiguous on the input before passing it to "
                    "gradcheck."
                )
            if t.is_leaf:
                t.retain_grad()

    def outputs(self) -> list[Tensor]:
        results = _listed(self.func(*self.args))
        self.marks = [isinstance(o, Tensor) and o.requires_grad for o in results]
        self.outs = [o for o, mark in zip(results, self.marks) if mark]
        return self.outs

    def no_outputs(self) -> None:
        """None requires grad: then the function must be constant."""
        for t in self.wanted:
            for before, after in self.perturbed(t):
                for a, b in zip(before, after):
                    if (_real(a).to(_C._dtype("float64")) != _real(b)).any().item():
                        raise GradcheckError("Numerical gradient for function expected to be zero")

    # --- finite differences

    def values(self) -> list[Tensor]:
        return [
            o.detach().clone() if isinstance(o, Tensor) else o
            for o in _listed(self.func(*self.args))
        ]

    def moved(self, t: Tensor, direction: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """The results with the input moved back and forth."""
        data = t.detach()  # shares memory with the input, unseen by the tape
        kept = data.clone()
        step = direction * self.eps
        with _unseen(t):
            data.copy_(kept - step)
            before = self.values()
            data.copy_(kept + step)
            after = self.values()
            data.copy_(kept)
        for a, b in zip(before, after):
            if a.shape != b.shape:
                raise AssertionError(
                    "Expected `func` to return outputs with the same shape when inputs are "
                    f"perturbed on index 0 by {self.eps}, but got: shapes {a.shape} and {b.shape}."
                )
            if a.dtype != b.dtype:
                raise AssertionError(
                    "Expected `func` to return outputs with the same dtype when inputs are "
                    f"perturbed on index 0 by {self.eps}, but got: dtypes {a.dtype} and {b.dtype}."
                )
        return before, after

    def perturbed(self, t: Tensor) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
        for unit in _units(t):
            yield self.moved(t, unit)

    def slopes(self, t: Tensor, direction: Tensor) -> list[Tensor]:
        """For each differentiable output its derivative in the direction, by real components."""
        before, after = self.moved(t, direction)
        return [
            (_real(b) - _real(a)) / (2 * self.eps)
            for a, b, mark in zip(before, after, self.marks)
            if mark
        ]

    # --- reverse mode

    def vjp(self, out: Tensor, seed: Tensor) -> list[Tensor]:
        found = _C._grad([out], self.wanted, [seed], True, False, True)
        return [_C.zeros_like(t) if g is None else g.detach() for g, t in zip(found, self.wanted)]

    def backward(self, nondet_tol: float, check_dtypes: bool) -> None:
        for o, out in enumerate(self.outs):
            if self.fast:
                self.backward_fast(o, out, nondet_tol)
            else:
                self.backward_slow(o, out, nondet_tol)
            if check_dtypes:
                for g, t in zip(self.vjp(out, _C.ones_like(out)), self.wanted):
                    if g.dtype != t.dtype:
                        raise GradcheckError("backward gives a gradient of another dtype")

    def same_again(self, first: list[Tensor], o: int, seed: Tensor, tolerance: float) -> None:
        again = self.vjp(_differentiable(self.func(*self.args))[o], seed)
        for i, (a, b) in enumerate(zip(first, again)):
            if a.numel() and (a - b).abs().max().item() > tolerance:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    f"grad_output multiple times gives different values (input {i}, output {o}), "
                    "although analytical gradient matches numerical gradient. The tolerance for "
                    f"nondeterminism was {tolerance}."
                )

    def backward_slow(self, o: int, out: Tensor, nondet_tol: float) -> None:
        columns = []
        for seed in _units(out):
            found = self.vjp(out, seed)
            for g, t in zip(found, self.wanted):
                if g.shape != t.shape:
                    raise GradcheckError(
                        f"grad has incorrect size: expected {tuple(t.shape)}, got {tuple(g.shape)}"
                    )
            columns.append([_real(g) for g in found])
        for i, t in enumerate(self.wanted):
            if t.numel() == 0 or out.numel() == 0:
                continue
            analytic = _C.stack([c[i] for c in columns], 1)
            numeric = _C.stack([self.slopes(t, u)[o] for u in _units(t)], 0)
            self.compare(numeric, analytic, i, o, out, "Jacobian mismatch")
        if out.numel():
            seed = _C.ones_like(out)
            self.same_again(self.vjp(out, seed), o, seed, nondet_tol)

    def backward_fast(self, o: int, out: Tensor, nondet_tol: float) -> None:
        with _own_random():
            seed = _unit_vector(out)
            directions = [_unit_vector(t) for t in self.wanted]
        found = self.vjp(out, seed)
        for i, (t, u) in enumerate(zip(self.wanted, directions)):
            if t.numel() == 0 or out.numel() == 0:
                continue
            if found[i].shape != t.shape:
                raise GradcheckError("grad has incorrect size")
            analytic = (_real(found[i]) * _real(u)).sum().reshape(1, 1)
            numeric = (self.slopes(t, u)[o] * _real(seed)).sum().reshape(1, 1)
            weight = (_real(u).sum() * _real(seed).sum()).item()
            self.compare(numeric, analytic, i, o, out, "Jacobian mismatch", weight)
        self.same_again(found, o, seed, nondet_tol)

    def compare(
        self,
        numeric: Tensor,
        analytic: Tensor,
        i: int,
        o: int,
        out: Tensor,
        what: str,
        weight: float = 1,
    ) -> None:
        """weight: how many entries' atol a number stands for; in fast mode their weighted sum."""
        numeric = numeric.to(analytic.dtype)
        error = (analytic - numeric).abs()
        wrong = ~(error <= numeric.abs() * self.rtol + self.atol * weight)
        equal = (analytic == numeric) | (analytic.isnan() & numeric.isnan())
        wrong = wrong & ~equal
        if not wrong.any().item():
            return
        prefix = ""
        if out.is_complex() and not self.fast:
            # Columns alternate between real and imaginary parts.
            real_wrong = wrong[:, ::2].any().item()
            part = "real" if real_wrong and not wrong[:, 1::2].any().item() else "imaginary"
            prefix = f"While considering the {part} part of complex outputs only, "
        raise GradcheckError(
            f"{prefix}{what} for output {o} with respect to input {i},\n"
            f"numerical:{numeric}\nanalytical:{analytic}\n"
        )

    # --- forward mode

    def dual_arguments(self, directions: dict[int, Tensor]) -> list[Any]:
        """The arguments with these tangents (by place); zeros for the others that are checked."""
        from . import forward_ad

        return [
            forward_ad.make_dual(a.detach(), directions[k] if k in directions else _C.zeros_like(a))
            if isinstance(a, Tensor) and a.requires_grad
            else a
            for k, a in enumerate(self.args)
        ]

    def tangents(self, t: Tensor, direction: Tensor) -> list[Tensor]:
        """For each differentiable output its tangent."""
        from . import forward_ad

        place = next(k for k, a in enumerate(self.args) if a is t)
        with forward_ad.dual_level():
            results = _listed(self.func(*self.dual_arguments({place: direction})))
            pairs = [forward_ad.unpack_dual(r) for r, mark in zip(results, self.marks) if mark]
            return [
                _C.zeros_like(p.primal) if p.tangent is None else p.tangent.detach().clone()
                for p in pairs
            ]

    def undefined_forward(self) -> None:
        """A plain argument has to do as one with a tangent of zeros."""
        from . import forward_ad

        places = [k for k, a in enumerate(self.args) if isinstance(a, Tensor) and a.requires_grad]
        with _own_random():
            directions = {k: _random_like(self.args[k]) for k in places}
        with forward_ad.dual_level():
            for k in places:
                found = []
                for given in (_C.zeros_like(self.args[k]), None):
                    args = self.dual_arguments(
                        {i: d if i != k else _C.zeros_like(d) for i, d in directions.items()}
                    )
                    if given is None:
                        args[k] = self.args[k].detach()
                    found.append(
                        [
                            forward_ad.unpack_dual(r).tangent
                            for r, mark in zip(_listed(self.func(*args)), self.marks)
                            if mark
                        ]
                    )
                for o, (zeros, plain) in enumerate(zip(*found)):
                    if zeros is None or plain is None or _C.allclose(zeros, plain):
                        continue
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {o} when input: "
                        f"{self.args[k]} has an undefined tangent value.  Got: {zeros} but "
                        f"expected: {plain}"
                    )

    def forward(self) -> None:
        what = "Jacobian computed with forward mode mismatch"
        for i, t in enumerate(self.wanted):
            if t.numel() == 0:
                continue
            if self.fast:
                with _own_random():
                    directions = [_unit_vector(t)]
                    seeds = [_real(_unit_vector(o)) for o in self.outs]
            else:
                directions = list(_units(t))
            rows = [(self.slopes(t, u), self.tangents(t, u)) for u in directions]
            for o, out in enumerate(self.outs):
                numeric = _C.stack([r[0][o] for r in rows], 0)
                analytic = _C.stack([_real(r[1][o]) for r in rows], 0)
                weight = 1.0
                if self.fast:
                    numeric = (numeric * seeds[o]).sum().reshape(1, 1)
                    analytic = (analytic * seeds[o]).sum().reshape(1, 1)
                    weight = (_real(directions[0]).sum() * seeds[o].sum()).item()
                self.compare(numeric, analytic, i, o, out, what, weight)

    def batched_forward(self) -> None:
        from ..func._vmap import vmap_any

        for t in self.wanted:
            with _own_random():
                batch = _C.stack([_random_like(t) for _ in range(2)])
            one = [self.tangents(t, u) for u in batch.unbind(0)]
            try:
                many = vmap_any(lambda u, t=t: tuple(self.tangents(t, u)))(batch)
            except RuntimeError as e:
                raise GradcheckError(
                    f"While computing batched gradients, got: {e}\n\ngradcheck failed while "
                    "testing batched forward mode: pass check_batched_forward_grad=False to leave "
                    "this out"
                ) from e
            for o, whole in enumerate(many):
                self.batch_equals([r[o] for r in one], whole, "forward")

    # --- what else backward has to do

    def batch_equals(self, one: list[Tensor], whole: Tensor, mode: str) -> None:
        for k, single in enumerate(one):
            if not _C.allclose(single, whole[k], self.rtol, self.atol, True):
                name = "backward" if mode == "reverse" else "jvp"
                raise GradcheckError(
                    "gradcheck or gradgradcheck failed while testing batched gradient computation."
                    f" vmap over {name} gives another result than a loop:\n{whole[k]}\n{single}"
                )

    def batched_backward(self) -> None:
        from ..func import vmap
        from . import grad

        for out in self.outs:
            with _own_random():
                batch = _C.stack([_random_like(out) for _ in range(2)])

            def row(seed: Tensor, out: Tensor = out) -> tuple[Tensor, ...]:
                found = grad([out], self.wanted, [seed], retain_graph=True, allow_unused=True)
                return tuple(
                    _C.zeros_like(t) if g is None else g for g, t in zip(found, self.wanted)
                )

            one = [row(seed) for seed in batch.unbind(0)]
            for i, whole in enumerate(vmap(row)(batch)):
                self.batch_equals([r[i] for r in one], whole, "reverse")

    def multiplied_by_grad(self) -> None:
        outs = self.outs
        found = _C._grad(outs, self.wanted, [_C.zeros_like(o) for o in outs], True, False, True)
        for g, t in zip(found, self.wanted):
            if g is None:
                continue
            if g.layout != t.layout:
                raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {t.layout})")
            if g.numel() and not (g == 0).all().item():
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype != t.dtype or g.device != t.device:
                raise GradcheckError("grad is incorrect type")
            if g.shape != t.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined(self) -> None:
        """Backward has to cope with outputs without gradient."""
        from .. import autograd

        def refusal() -> GradcheckError:
            warnings.warn(
                "Backwards compatibility: New undefined gradient support checking feature is "
                "enabled by default, but it may break existing callers of this function. If this "
                'is true for you, you can call this function with "check_undefined_grad=False" to '
                "disable the feature",
                stacklevel=4,
            )
            return GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at "
                "'Notes about undefined output gradients' in 'tools/autograd/derivatives.yaml'"
            )

        fresh = _differentiable(self.func(*self.args))
        hidden = _Undefined.apply(*fresh)
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        try:
            found = autograd.grad(
                [h for h in hidden if h.requires_grad],
                self.wanted,
                [_C.zeros_like(h) for h in hidden if h.requires_grad],
                allow_unused=True,
            )
        except RuntimeError as e:
            raise refusal() from e
        for g in found:
            if g is not None and g.numel() and not (g == 0).all().item():
                raise refusal()


def _unit_vector(t: Tensor) -> Tensor:
    row = _C.rand(t.numel() * (2 if t.is_complex() else 1), dtype=_real_dtype(t)) + 0.1
    if row.numel():
        row = row / (row * row).sum().sqrt()
    return _tensor_like(row, t)


@contextmanager
def _unseen(t: Tensor) -> Iterator[None]:
    """Writes to the tensor don't count as changes."""
    version = t._version
    try:
        yield
    finally:
        _C._set_version(t, version)


from .function import Function  # noqa: E402


class _Undefined(Function):
    """The identity, whose gradient is undefined."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


# --- names of PyTorch's private API that old programs import --------------------------------------


def _old(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        f"deprecating it and it will be removed in a future version of PyTorch. If you have a "
        f"specific use for this or feature request for this to be a stable API, please file us an "
        "issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. Setting grad_out is no longer supported, since it is "
            "equivalent to scaling the jacobian"
        )


def get_numerical_jacobian(
    fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Tensor]:
    """Finite differences of fn's first output, (numel of input, numel of output) for each input."""
    _old("get_numerical_jacobian", grad_out)
    wanted = inputs if target is None else target
    wanted = (wanted,) if isinstance(wanted, Tensor) else tuple(wanted)
    check = _Check(lambda args: fn(args), (inputs,), eps, 0, 0, False)
    result = []
    for t in wanted:
        if not isinstance(t, Tensor) or not (t.is_floating_point() or t.is_complex()):
            continue
        rows = []
        for before, after in check.perturbed(t):
            rows.append((_real(after[0]) - _real(before[0])) / (2 * eps))
        result.append(_C.stack(rows, 0))
    return result


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[Any, bool, bool, bool]:
    """(Jacobians by backward, whether a second pass agrees, whether sizes and dtypes are right)."""
    _old("get_analytical_jacobian", grad_out)
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    check = _Check(lambda *a: output, args, 1e-6, 0, 0, False)

    def rows() -> list[list[Tensor]]:
        return [check.vjp(output, seed) for seed in _units(output)]

    first, second = rows(), rows()
    sizes = all(g.shape == t.shape for r in first for g, t in zip(r, check.wanted))
    dtypes = all(g.dtype == t.dtype for r in first for g, t in zip(r, check.wanted))
    jacobians = tuple(_C.stack([_real(r[i]) for r in first], 1) for i in range(len(check.wanted)))
    reentrant = all(
        (a - b).abs().max().item() <= nondet_tol
        for ra, rb in zip(first, second)
        for a, b in zip(ra, rb)
        if a.numel()
    )
    return jacobians, reentrant, sizes, dtypes


class _Module(types.ModuleType):
    """This module stands where PyTorch has a function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Module
