"""vmap itself: its arguments, and taking the batch apart and putting it together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C, random
from ..utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_unflatten,
)
from ._batch import Batched, random_factory
from ._levels import Level, Tensor

Dims = Any


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """func for each example of a batch, in one call: func is written for one example.

    in_dims: which dimension of each argument is the batch (None: none), as an int for all or in the
    structure of the arguments. out_dims: where the results have it. randomness: what random ops do
    ("error", "same" for all examples, "different"). chunk_size: that many examples at a time.
    Raises ValueError or RuntimeError for dimensions that don't fit, RuntimeError where func looks
    at the values of a tensor.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func) if hasattr(func, "__name__") else _same
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size, flat_dims, flat, spec = _process(in_dims, args, func)
        if chunk_size is not None and chunk_size < size:
            return _chunked(
                func, flat_dims, flat, spec, out_dims, randomness, kwargs, size, chunk_size
            )
        return _run(func, size, flat_dims, flat, spec, out_dims, randomness, kwargs)

    return wrapped


def vmap_any(func: Callable[..., Any]) -> Callable[..., Any]:
    """vmap for gradcheck: along dimension 0, also of a Function without setup_context."""

    def wrapped(*args: Any) -> Any:
        size, flat_dims, flat, spec = _process(0, args, func)
        return _run(func, size, flat_dims, flat, spec, 0, "error", {}, manual=True)

    return wrapped


def _same(f: Any) -> Any:
    return f


def _process(in_dims: Dims, args: Any, func: Any) -> tuple[int, list[Any], list[Any], Any]:
    name = _name(func)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, dict, list, tuple)):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if len(args) == 0:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(tuple(args))
    flat_dims = _broadcast_to_and_flatten(
        tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec
    )
    if flat_dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    sizes = []
    for i, (arg, dim) in enumerate(zip(flat, flat_dims)):
        if not isinstance(dim, int) and dim is not None:
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if dim is None:
            continue
        if not isinstance(arg, Tensor):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(arg)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if dim < -arg.dim() or dim >= arg.dim():
            raise ValueError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {arg.dim()} so expected in_dim to satisfy -{arg.dim()} <= in_dim "
                f"< {arg.dim()}."
            )
        flat_dims[i] = dim % arg.dim()
        sizes.append(arg.shape[flat_dims[i]])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0], flat_dims, flat, spec


def _run(
    func: Any,
    size: int,
    flat_dims: list[Any],
    flat: list[Any],
    spec: Any,
    out_dims: Dims,
    randomness: str,
    kwargs: Any,
    manual: bool = False,
) -> Any:
    level = Level("vmap")
    level.size, level.randomness, level.manual = size, randomness, manual
    with level:
        args = [a if d is None else Batched.make(a, d, level) for a, d in zip(flat, flat_dims)]
        outer = _C._set_random_override(random_factory(level))
        try:
            outputs = func(*tree_unflatten(args, spec), **kwargs)
        finally:
            _C._set_random_override(outer)
        return _unwrap(outputs, out_dims, level, func)


def _unwrap(outputs: Any, out_dims: Dims, level: Level, func: Any) -> Any:
    flat, spec = tree_flatten(outputs)
    name = _name(func)
    for out in flat:
        if not isinstance(out, Tensor):
            if out_dims is None:
                continue
            dims = _broadcast_to_and_flatten(
                tuple(out_dims) if isinstance(out_dims, list) else out_dims, spec
            )
            if dims is not None and dims[[id(f) for f in flat].index(id(out))] is None:
                continue
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did "
                "you mean to set out_dims= to None for output?"
            )

    def incompatible() -> Any:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )

    if spec.is_leaf() and not isinstance(out_dims, (int, type(None))):
        if not isinstance(out_dims, (tuple, list)):
            _not_dims(name, out_dims)
        single = len(out_dims) == 1
        dims: Any = [out_dims[0]] if single else incompatible()
    elif isinstance(out_dims, (int, type(None))):
        dims = [out_dims] * spec.num_leaves
    else:
        dims = _broadcast_to_and_flatten(
            tuple(out_dims) if isinstance(out_dims, list) else out_dims, spec
        )
        if dims is None:
            incompatible()
    result = []
    for out, dim in zip(flat, dims):
        if not isinstance(out, Tensor):
            result.append(out)
            continue
        ours = isinstance(out, Batched) and out._level is level
        if dim is None:
            if ours:
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is "
                    "None"
                )
            result.append(out)
            continue
        if not isinstance(dim, int):
            _not_dims(name, out_dims)
        if not -out.dim() - 1 <= dim <= out.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-out.dim() - 1}, "
                f"{out.dim()}], but got {dim})"
            )
        if ours:
            result.append(out._inner if out._bdim == dim else out._inner.movedim(out._bdim, dim))
        else:
            whole = out.expand((level.size, *out.shape))
            result.append(whole if dim == 0 else whole.movedim(0, dim))
    return tree_unflatten(result, spec)


def _not_dims(name: str, out_dims: Any) -> None:
    raise ValueError(
        f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
        "collection of ints representing where in the outputs the vmapped dimension should appear."
    )


def _chunked(
    func: Any,
    flat_dims: list[Any],
    flat: list[Any],
    spec: Any,
    out_dims: Dims,
    randomness: str,
    kwargs: Any,
    size: int,
    chunk_size: int,
) -> Any:
    rows = []
    for start in range(0, size, chunk_size):
        n = min(chunk_size, size - start)
        part = [a if d is None else a.narrow(d, start, n) for a, d in zip(flat, flat_dims)]
        state = random.get_rng_state() if randomness == "same" else None
        rows.append(_run(func, n, flat_dims, part, spec, out_dims, randomness, kwargs))
        if state is not None and start + n < size:
            random.set_rng_state(state)
    out_spec = tree_flatten(rows[0])[1]
    dims = _broadcast_to_and_flatten(
        tuple(out_dims) if isinstance(out_dims, list) else out_dims, out_spec
    )
    assert dims is not None
    columns = zip(*(tree_flatten(r)[0] for r in rows))
    joined = [c[0] if d is None else _C.cat(list(c), d) for c, d in zip(columns, dims)]
    return tree_unflatten(joined, out_spec)
