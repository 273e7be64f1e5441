"""grad, vjp, jvp, jacrev, jacfwd, hessian, linearize.

grad and vjp give the function aliases of the arguments that are leaves of the tape (or pass their
gradient on, if an argument has a history), and read the tape. Nesting, also with autograd outside,
follows from aliases being different tensors at each level. What depends on nothing but a level's
own leaves leaves it without a history.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from .._modes import enable_grad, forward
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from ._batch import Batched, spread
from ._dual import Dual
from ._levels import (
    Level,
    Tensor,
    Wrapped,
    batch_levels,
    detached,
    fresh,
    innermost,
    tape_grad,
)
from ._vmap import vmap

Argnums = int | tuple[int, ...]


# --- arguments ------------------------------------------------------------------------------------


def _validate_argnums(argnums: Any, num_args: int) -> Any:
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    single = isinstance(argnums, int)
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if len(numbers) == 0:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got {type(n)}")
        if not -num_args <= n < num_args:
            raise RuntimeError(f"Got argnum={n}, but only {num_args} positional inputs")
    numbers = tuple(n % num_args for n in numbers)
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return numbers[0] if single else numbers


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that are differentiated."""
    numbers = _validate_argnums(argnums, len(args))
    if isinstance(numbers, int):
        return (args[numbers],) if as_tuple else args[numbers]
    return tuple(args[n] for n in numbers)


def _replace(args: tuple[Any, ...], numbers: Any, values: Any) -> tuple[Any, ...]:
    made = list(args)
    if isinstance(numbers, int):
        made[numbers] = values
    else:
        for n, v in zip(numbers, values):
            made[n] = v
    return tuple(made)


# --- a level of reverse mode ----------------------------------------------------------------------


class _Reverse:
    """One grad or vjp: entered while its function runs."""

    def __init__(self) -> None:
        self.level = Level("grad")
        self.own: list[Tensor] = []  # the leaves that it made
        self.no_hooks = disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please "
            "open an issue with your use case."
        )

    def __enter__(self) -> _Reverse:
        self.no_hooks.__enter__()
        self.outside = _C.is_grad_enabled()
        self.level.__enter__()
        _C._set_grad_enabled(True)
        return self

    def __exit__(self, *args: object) -> None:
        _C._set_grad_enabled(self.outside)
        self.level.__exit__()
        self.no_hooks.__exit__(None, None, None)

    def enter(self, tree: Any) -> Any:
        def one(t: Any) -> Any:
            if not isinstance(t, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
            if not (t.is_floating_point() or t.is_complex()):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            made = fresh(spread(t, batch_levels()), True)
            self.level.entered.append(innermost(made))
            if innermost(made).grad_fn is None:
                self.own.append(innermost(made))
            return made

        return tree_map(one, tree)

    def foreign(self, tensors: list[Any]) -> bool:
        """Whether the tensors depend on anything that needs a gradient outside."""
        return self.outside and _C._depends_on_others([innermost(t) for t in tensors], self.own)

    def leave(self, tree: Any) -> Any:
        def one(t: Any) -> Any:
            if isinstance(t, Dual) and t._tangent is not None:
                return Dual.make(one(t._inner), one(t._tangent), t._level)
            if isinstance(t, Wrapped):
                return t._with_inner(one(t._inner))
            if not isinstance(t, Tensor) or not t.requires_grad:
                return t
            return t if self.foreign([t]) else detached(t)

        return tree_map(one, tree)


def _aux_tensors(aux: Any) -> None:
    for t in tree_flatten(aux)[0]:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")


def _split_aux(output: Any, where: str) -> tuple[Any, Any]:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    _aux_tensors(output[1])
    return output


def _named_like(func: Any) -> Callable[[Any], Any]:
    return functools.wraps(func) if hasattr(func, "__name__") else lambda f: f


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns (gradients, value) of func, which returns a 0-d tensor; with has_aux
    func returns (value, aux) and the result is (gradients, (value, aux))."""
    where = "grad_and_value(f)(*args)"

    @_named_like(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _validate_argnums(argnums, len(args))
        with _Reverse() as reverse:
            chosen = reverse.enter(_slice_argnums(args, numbers, as_tuple=False))
            flat, spec = tree_flatten(chosen)
            output = func(*_replace(args, numbers, chosen), **kwargs)
            aux = None
            if has_aux:
                output, aux = _split_aux(output, where)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"{where}: Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    f"{where}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            result = tree_unflatten(
                _gradients([output], flat, None, reverse.foreign([output])), spec
            )
            result, output, aux = reverse.leave((result, output, aux))
        return (result, (output, aux)) if has_aux else (result, output)

    return wrapper


def _gradients(
    outputs: list[Any], inputs: list[Any], cotangents: list[Any] | None, create_graph: bool
) -> list[Tensor]:
    """Zeros where there is no path."""
    needs = create_graph or _has_dual([*outputs, *inputs, *(cotangents or [])])
    found = tape_grad(outputs, inputs, cotangents, needs, True, True)
    return [_C.zeros_like(i) if g is None else g for g, i in zip(found, inputs)]


def _has_dual(tensors: list[Any]) -> bool:
    """Tangents of gradients are read off the tape of the backward pass."""
    for t in tensors:
        while isinstance(t, Wrapped):
            if isinstance(t, Dual):
                return True
            t = t._inner
    return False


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """A function that returns the gradient of func, which returns a 0-d tensor, for the arguments
    `argnums`; with has_aux (gradients, aux). Nests, and works inside and outside the others."""

    @_named_like(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result[0], result[1][1]) if has_aux else result[0]

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), vjp_fn): vjp_fn(cotangents) is the vector-Jacobian product, with cotangents
    in the structure of the output. With has_aux: (output, vjp_fn, aux)."""
    return _vjp(func, primals, range(len(primals)), has_aux)


def _vjp(func: Callable[..., Any], args: tuple[Any, ...], numbers: Any, has_aux: bool) -> Any:
    where = "vjp(f, *primals)"
    with _Reverse() as reverse:
        chosen = reverse.enter(tuple(args[n] for n in numbers))
        flat_in, spec_in = tree_flatten(chosen)
        output = func(*_replace(args, tuple(numbers), chosen))
        aux = None
        if has_aux:
            output, aux = _split_aux(output, where)
        flat_out, spec_out = tree_flatten(output)
        _check_outputs(flat_out, where)
        for o in flat_out:
            if not (o.is_floating_point() or o.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {o.dtype}"
                )
        result = reverse.leave(output)
        aux = reverse.leave(aux)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat_v, spec_v = tree_flatten(cotangents)
        if spec_v != spec_out:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {treespec_pprint(spec_v)}, primal output: "
                f"{treespec_pprint(spec_out)}"
            )
        outside = _C.is_grad_enabled()
        outs = [o for o, v in zip(flat_out, flat_v) if isinstance(v, Tensor)]
        for i, (o, v) in enumerate(zip(outs, flat_v)):
            if o.shape != v.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {v.shape} and output[{i}] "
                    f"has a shape of {o.shape}."
                )
        reverse.outside = outside
        with enable_grad():
            seeds = [v for v in flat_v if isinstance(v, Tensor)]
            deep = outside and (reverse.foreign(outs) or any(v.requires_grad for v in seeds))
            found = _gradients(outs, flat_in, seeds, deep)
            return reverse.leave(tree_unflatten(found, spec_in))

    return (result, vjp_fn, aux) if has_aux else (result, vjp_fn)


def _check_outputs(flat: list[Any], where: str) -> None:
    if not flat or (len(flat) == 1 and flat[0] is None):
        raise RuntimeError(
            f"{where}: Expected f to be a function that has non-empty output (got output = "
            f"{flat[0] if flat else ()})"
        )
    for out in flat:
        if not isinstance(out, Tensor):
            raise RuntimeError(
                f"{where}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(out)}"
            )


# --- forward mode ---------------------------------------------------------------------------------


class _ForwardLevel:
    """Entered while the function of one jvp runs."""

    def __init__(self) -> None:
        self.level = Level("jvp")

    def __enter__(self) -> Level:
        self.level.forward_outside = forward.enabled
        self.seen = forward.seen
        forward.enabled, forward.seen = True, {}
        return self.level.__enter__()

    def __exit__(self, *args: object) -> None:
        self.level.__exit__()
        forward.enabled, forward.seen = self.level.forward_outside, self.seen


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """(func(*primals), the Jacobian-vector product with `tangents`), in forward mode; with has_aux
    (output, jvp, aux). strict: RuntimeError for outputs that don't depend on the primals."""
    return _jvp(func, primals, tangents, None, strict, has_aux)


def _jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool
) -> Any:
    where = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{where}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    given = primals if argnums is None else _slice_argnums(primals, argnums)
    flat, spec = tree_flatten(given)
    flat_t, spec_t = tree_flatten(tangents)
    if spec != spec_t:
        raise RuntimeError(
            f"{where}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {spec_t}"
        )
    for what, leaves in (("primals", flat), ("tangents", flat_t)):
        if not leaves:
            raise RuntimeError(f"{where}: Expected {what} to contain at least one Tensor.")
        for t in leaves:
            if not isinstance(t, Tensor):
                raise RuntimeError(
                    f"{where}: Expected {what} to only contain Tensors, got {type(t)}"
                )
    for p, t in zip(flat, flat_t):
        _check_tangent(p, t)
    with _ForwardLevel() as level:
        duals = tree_unflatten([Dual.make(p, t, level) for p, t in zip(flat, flat_t)], spec)
        if argnums is not None:
            numbers = _validate_argnums(argnums, len(primals))
            duals = _replace(primals, (numbers,) if isinstance(numbers, int) else numbers, duals)
        output = func(*duals)
        aux = None
        if has_aux:
            output, aux = _split_aux(output, where)
            aux = tree_map(lambda t: _parts(t, level)[0], aux)
        flat_out, spec_out = tree_flatten(output)
        _check_outputs(flat_out, where)
        pairs = [_parts(t, level) for t in flat_out]
        if strict and any(t is None for _, t in pairs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        values = tree_unflatten([v for v, _ in pairs], spec_out)
        moved = tree_unflatten([_C.zeros_like(v) if t is None else t for v, t in pairs], spec_out)
    return (values, moved, aux) if has_aux else (values, moved)


def _check_tangent(primal: Tensor, tangent: Tensor) -> None:
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )


def _parts(t: Any, level: Level) -> tuple[Any, Tensor | None]:
    if isinstance(t, Dual) and t._level is level:
        return t._inner, t._tangent
    return t, None


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(func(*primals), jvp_fn): jvp_fn(*tangents) is the Jacobian-vector product at primals,
    without running func again."""
    flat, spec = tree_flatten(primals)
    with _Reverse() as reverse:
        inputs = [reverse.enter(t) for t in flat]
        output = func(*tree_unflatten(inputs, spec))
        flat_out, spec_out = tree_flatten(output)
        _check_outputs(flat_out, "linearize(f, *primals)")
        # vjp(u) is linear in u: its derivative for u in a direction is the jvp.
        free = [fresh(_C.zeros_like(o), False) for o in flat_out]
        reverse.own.extend(innermost(u) for u in free)
        found = tape_grad(flat_out, inputs, list(free), True, True, True)
        result = reverse.leave(output)

    def jvp_fn(*tangents: Any) -> Any:
        flat_t, spec_t = tree_flatten(tangents)
        if spec_t != spec:
            raise RuntimeError(
                f"Expected the tangents {spec_t} to have the same argspec as the primals {spec}"
            )
        for i, (p, t) in enumerate(zip(flat, flat_t)):
            for what in ("shape", "device", "dtype"):
                if getattr(p, what) != getattr(t, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't "
                        f"match the {what} {getattr(p, what)} of the corresponding primal."
                    )
        pairs = [(g, t) for g, t in zip(found, flat_t) if g is not None and g.requires_grad]
        outside = _C.is_grad_enabled()
        deep = outside and (
            any(t.requires_grad for t in flat_t) or reverse.foreign([g for g, _ in pairs])
        )
        with enable_grad():
            moved: Any = tape_grad(
                [g for g, _ in pairs], list(free), [t for _, t in pairs], deep, True, True
            )
            made = [_C.zeros_like(u) if m is None else m for m, u in zip(moved, free)]
            reverse.outside = outside
            return tree_unflatten(reverse.leave(made), spec_out)

    return result, jvp_fn


# --- Jacobians ------------------------------------------------------------------------------------


def _basis(tensors: list[Tensor]) -> list[Tensor]:
    """Rows of an identity matrix over all elements, cut up and shaped as the tensors."""
    total = sum(t.numel() for t in tensors)
    made = []
    start = 0
    for t in tensors:
        n = t.numel()
        chunk = _C.zeros((total, n), dtype=t.dtype)
        if n:
            chunk[start : start + n] = _C.eye(n, dtype=t.dtype)
        made.append(chunk.reshape((total, *t.shape)))
        start += n
    return made


def _no_complex(tensors: list[Any], function: str, what: str) -> None:
    for t in tensors:
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"{function}: Expected all {what} to be real but received complex tensor at "
                "flattened input idx: 0"
            )


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of func for the arguments `argnums`, by reverse mode: of
    the output's shape followed by the argument's, in the structure of the output, and within it of
    the arguments. chunk_size: how many rows at a time."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_named_like(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _validate_argnums(argnums, len(args))
        order = (numbers,) if isinstance(numbers, int) else numbers
        made = _vjp(functools.partial(func, **kwargs), args, order, has_aux)
        output, vjp_fn = made[:2]
        flat_out, spec_out = tree_flatten(output)
        primals = tuple(args[n] for n in order)
        flat_in, spec_in = tree_flatten(primals)
        _no_complex(flat_in, "jacrev", "inputs")
        _no_complex(flat_out, "jacrev", "outputs")
        seeds = _basis(flat_out)
        rows = sum(o.numel() for o in flat_out)

        def one(*v: Any) -> tuple[Any, ...]:
            return tuple(tree_flatten(vjp_fn(tree_unflatten(v, spec_out)))[0])

        if rows and chunk_size == 1:  # without vmap, for what can't be batched
            columns = tuple(map(_C.stack, zip(*(one(*(s[i] for s in seeds)) for i in range(rows)))))
        elif rows:
            columns = vmap(one, chunk_size=chunk_size)(*seeds)
        else:
            columns = tuple(_C.zeros((0, *t.shape), dtype=t.dtype) for t in flat_in)
        blocks = []
        start = 0
        for out in flat_out:
            n = out.numel()
            parts = [
                c.narrow(0, start, n).reshape((*out.shape, *t.shape))
                for c, t in zip(columns, flat_in)
            ]
            start += n
            inputs = tree_unflatten(parts, spec_in)
            blocks.append(inputs[0] if isinstance(numbers, int) else inputs)
        result = tree_unflatten(blocks, spec_out)
        return (result, made[2]) if has_aux else result

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """As jacrev, by forward mode: cheaper where there are more outputs than inputs."""

    @_named_like(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return jacfwd(
                functools.partial(func, **kwargs), argnums, has_aux, randomness=randomness
            )(*args)
        numbers = _validate_argnums(argnums, len(args))
        primals = _slice_argnums(args, numbers)
        flat_in, spec_in = tree_flatten(primals)
        _no_complex(flat_in, "jacfwd", "inputs")
        basis = _basis(flat_in)
        shape: list[Any] = []

        def push(*tangents: Any) -> Any:
            made = _jvp(func, args, tree_unflatten(tangents, spec_in), numbers, False, has_aux)
            _no_complex(tree_flatten(made[0])[0], "jacfwd", "outputs")
            moved, spec = tree_flatten(made[1])
            shape[:] = [spec]
            if not has_aux:
                return tuple(moved)
            ours = batch_levels()[-1]

            def same(t: Any) -> Any:
                """Of the whole batch, which is one of directions alone, any example."""
                batched = isinstance(t, Batched) and t._level is ours
                return t._inner.select(t._bdim, 0) if batched else t

            return tuple(moved), tree_map(same, made[2])

        out_dims = (0, None) if has_aux else 0
        moved = vmap(push, randomness=randomness, out_dims=out_dims)(*basis)
        aux = None
        if has_aux:
            moved, aux = moved
        blocks = []
        for m in moved:
            parts = []
            start = 0
            for t in flat_in:
                n = t.numel()
                part = m.narrow(0, start, n).movedim(0, -1)
                parts.append(part.reshape((*m.shape[1:], *t.shape)))
                start += n
            inputs = tree_unflatten(parts, spec_in)
            blocks.append(inputs[0] if isinstance(numbers, int) else inputs)
        result = tree_unflatten(blocks, shape[0])
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of func: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """func itself: it takes out mutations for compilers, and this engine runs eagerly, where a
    function and its functionalized form give the same values."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}."
            " Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program\n     remove='mutations_and_views': additionally, views"
        )

    @_named_like(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with Level("functionalize"):
            return func(*args, **kwargs)

    return wrapper
