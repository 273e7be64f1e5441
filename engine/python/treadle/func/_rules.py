"""The rules of vmap: how an op runs once on the whole batch.

To add one: a function `rule(func, args, kwargs, level)` in RULES, by the op's name; it may return
NotImplemented for calls that it leaves to the loop over the examples.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from ._batch import RULES, Batched, _aligned, _ours, front, wrap
from ._levels import Level, Tensor, map_tensors, tensors_in


def _elementwise_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    given = tensors_in((args, kwargs))
    rank = max(t.dim() for t in given)
    dtypes = {t.dtype for t in given}
    cast = None
    if len(dtypes) > 1 and rank > 0 and any(t.dim() == 0 for t in given):
        # With its batch dimension a 0-d tensor would weigh more in promotion.
        cast = [t.dtype for t in given if t.dim() > 0]

    def whole(t: Tensor) -> Tensor:
        if not _ours(t, level):
            return t
        made = _aligned(t, rank)
        if cast and t.dim() == 0 and made.dtype != cast[0] and _weight(made) <= _weight_of(cast):
            made = made.to(cast[0])
        return made

    return wrap(func(*map_tensors(whole, args), **map_tensors(whole, kwargs)), level)


def _weight(t: Any) -> int:
    return _weight_of([t.dtype])


def _weight_of(dtypes: list[Any]) -> int:
    """Category of a dtype: bool, integer, floating, complex."""
    return max(
        3 if d.is_complex else 2 if d.is_floating_point else 0 if str(d).endswith("bool") else 1
        for d in dtypes
    )


def _whole_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """Ops that act on every element or only on the last dimensions, with one batched tensor."""
    if not _ours(args[0], level) or any(_ours(t, level) for t in tensors_in((args[1:], kwargs))):
        return NotImplemented
    if any(f in LAYOUTS for f in (*args[1:], *kwargs.values()) if type(f) is _C.memory_format):
        return NotImplemented  # they count dimensions
    return wrap(func(front(args[0]), *args[1:], **kwargs), level)


LAYOUTS = (_C.channels_last, _C.channels_last_3d)


# Which arguments (after self, in order) are dimensions, and what "none given" means: every
# dimension ("all"), the flattened tensor ("flat"), or nothing special (None).
_DIMS: dict[str, tuple[tuple[str, ...], str | None]] = {}
for (
    _name
) in "sum nansum mean nanmean amax amin logsumexp var std var_mean std_mean count_nonzero".split():
    _DIMS[_name] = (("dim",), "all")
for _name in "prod argmax argmin all any max min median nanmedian".split():
    _DIMS[_name] = (("dim",), "flat")
for _name in (
    "softmax log_softmax cumsum cumprod logcumsumexp cummax cummin sort argsort unsqueeze flip "
    "unbind softmin mode".split()
):
    _DIMS[_name] = (("dim",), None)
for _name in "transpose swapaxes swapdims".split():
    _DIMS[_name] = (("dim0", "dim1"), None)
for _name in "select narrow".split():
    _DIMS[_name] = (("dim",), None)
_DIMS["movedim"] = _DIMS["moveaxis"] = (("source", "destination"), None)
# Defaults of `dim` where None isn't it.
_DEFAULT_DIM = {"sort": -1, "argsort": -1, "unbind": 0, "mode": -1}


def _shifted(dim: Any) -> Any:
    if isinstance(dim, (tuple, list)):
        return tuple(_shifted(d) for d in dim)
    return dim + 1 if dim >= 0 else dim


def _dims_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self, rest = args[0], list(args[1:])
    if not _ours(self, level) or any(_ours(t, level) for t in tensors_in((rest, kwargs))):
        return NotImplemented
    names, missing = _DIMS[func.__name__]
    if tensors_in((rest, kwargs)) or (self.dim() == 0 and func.__name__ != "unsqueeze"):
        return NotImplemented
    kwargs = dict(kwargs)
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    whole = front(self)
    if func.__name__ == "flip" and rest and isinstance(rest[0], int):
        rest = [tuple(rest)]
    for k, name in enumerate(names):
        key = "dims" if "dims" in kwargs and name == "dim" else name
        given = rest[k] if k < len(rest) else kwargs.get(key)
        if isinstance(given, bool):
            return NotImplemented
        if given is None and func.__name__ in _DEFAULT_DIM:
            given = _DEFAULT_DIM[func.__name__]
        if given is None or (given == () and missing == "all"):
            if missing == "all":
                given = tuple(range(self.dim()))
            elif missing == "flat":
                if rest or kwargs:
                    return NotImplemented
                result = func(whole.reshape((whole.shape[0], -1)), 1)
                values = result if isinstance(result, Tensor) else result[0]
                return Batched.make(values, 0, level)
            else:
                return NotImplemented
        if not isinstance(given, (int, tuple, list)):
            return NotImplemented
        last = self.dim() if func.__name__ == "unsqueeze" else self.dim() - 1
        if any(
            not -last - 1 <= d <= last
            for d in (given if isinstance(given, (tuple, list)) else (given,))
        ):
            return NotImplemented  # the op's own error names the function's dimensions
        if k < len(rest):
            rest[k] = _shifted(given)
        else:
            kwargs[key] = _shifted(given)
    return wrap(func(whole, *rest, **kwargs), level)


def _shape_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """view(2, 3), reshape((2, 3)), expand(-1, 3): the batch in front of the new shape."""
    self = args[0]
    if kwargs or not _ours(self, level) or len(args) < 2:
        return NotImplemented
    size = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if not all(isinstance(n, int) for n in size):
        return NotImplemented
    whole = front(self)
    if func.__name__ == "expand" and len(size) > self.dim():
        whole = _aligned(self, len(size))
    if func.__name__ == "view" and self._bdim != 0 and not whole.is_contiguous():
        return NotImplemented
    if -1 in size and whole.numel() == 0:
        return NotImplemented
    return wrap(func(whole, (whole.shape[0], *size)), level)


def _permute_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if kwargs or not _ours(self, level):
        return NotImplemented
    dims = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if len(dims) != self.dim():
        return NotImplemented
    return wrap(front(self).permute((0, *(d % self.dim() + 1 for d in dims))), level)


def _t_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if args[0].dim() != 2:
        return NotImplemented
    return wrap(front(args[0]).transpose(1, 2), level)


def _squeeze_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    dims = args[1] if len(args) > 1 else kwargs.get("dim")
    if self.dim() == 0:
        return self
    if dims is None:
        dims = tuple(range(self.dim()))
    if isinstance(dims, int):
        dims = (dims,)
    if any(not -self.dim() <= d < self.dim() for d in dims):
        return NotImplemented
    return wrap(front(self).squeeze(tuple(d % self.dim() + 1 for d in dims)), level)


def _split_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if not _ours(self, level) or len(args) < 2 or self.dim() == 0:
        return NotImplemented
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    return wrap(func(front(self), args[1], dim=_shifted(dim)), level)


def _flatten_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    start = args[1] if len(args) > 1 else kwargs.get("start_dim", 0)
    end = args[2] if len(args) > 2 else kwargs.get("end_dim", -1)
    if self.dim() == 0:
        return self.reshape(1)
    return wrap(front(self).flatten(_shifted(start), _shifted(end)), level)


def _diagonal_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self = args[0]
    if self.dim() < 2:
        return NotImplemented
    given = dict(zip(("offset", "dim1", "dim2"), args[1:]), **kwargs)
    return wrap(
        front(self).diagonal(
            given.get("offset", 0), _shifted(given.get("dim1", 0)), _shifted(given.get("dim2", 1))
        ),
        level,
    )


def _index_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    self, index = args
    parts = index if isinstance(index, tuple) else (index,)
    if any(_ours(p, level) and p.dtype == _C.bool for p in parts):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. "
            "Attempting to batch over indexing with a boolean mask."
        )
    if not _ours(self, level):
        return NotImplemented
    for p in parts:
        if isinstance(p, bool) or not (p is None or p is Ellipsis or isinstance(p, (int, slice))):
            return NotImplemented
    if sum(isinstance(p, (int, slice)) for p in parts) > self.dim():
        return NotImplemented
    return wrap(front(self)[(slice(None), *parts)], level)


def _cat_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    tensors = args[0] if args else kwargs.get("tensors")
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    if tensors is None or not isinstance(dim, int) or any(t.dim() == 0 for t in tensors):
        if func.__name__ != "stack":
            return NotImplemented
    whole = [front(t) if _ours(t, level) else t.expand((level.size, *t.shape)) for t in tensors]
    return wrap(func(whole, _shifted(dim)), level)


def _matmul_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 2 or kwargs:
        return NotImplemented
    a, b = args
    if a.dim() == 0 or b.dim() == 0:
        return NotImplemented
    rank = max(a.dim(), b.dim(), 2)
    row, column = a.dim() == 1, b.dim() == 1
    if row:
        a = a.unsqueeze(0)
    if column:
        b = b.unsqueeze(1)
    if a.shape[-1] != b.shape[-2]:
        return NotImplemented
    out = _C.matmul(*(_aligned(t, rank) if _ours(t, level) else t for t in (a, b)))
    if column:
        out = out.squeeze(-1)
    if row:
        out = out.squeeze(-1 if column else -2)
    return wrap(out, level)


def _linear_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    given = dict(zip(("input", "weight", "bias"), args), **kwargs)
    x, weight, bias = given.get("input"), given.get("weight"), given.get("bias")
    if not isinstance(x, Tensor) or not isinstance(weight, Tensor) or weight.dim() != 2:
        return NotImplemented
    if _ours(x, level) and not _ours(weight, level) and not _ours(bias, level):
        return wrap(func(front(x), weight, bias), level)
    out = _C.matmul(x, weight.t())
    return out if bias is None else out + bias


def _addmm_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 3:
        return NotImplemented
    beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)
    product = _C.matmul(args[1], args[2])
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (args[0] * beta if beta != 1 else args[0])


def _dot_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    if len(args) != 2 or args[0].shape != args[1].shape:
        return NotImplemented
    return (args[0] * args[1]).sum()


def _outer_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].unsqueeze(1) * args[1].unsqueeze(0)


def _like_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    """new_zeros(size) and the like: one for each example."""
    size = args[1] if isinstance(args[1], (tuple, list)) else args[1:]
    rest = args[2:] if isinstance(args[1], (tuple, list)) else ()
    if not _ours(args[0], level) or not all(isinstance(n, int) for n in size):
        return NotImplemented
    return wrap(func(front(args[0]), (level.size, *size), *rest, **kwargs), level)


def _expand_as_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].expand(tuple(args[1].shape))


def _reshape_as_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
    return args[0].reshape(tuple(args[1].shape))


RULES |= {
    "elementwise": _elementwise_rule,  # of all that the table calls so
    "view": _shape_rule,
    "reshape": _shape_rule,
    "expand": _shape_rule,
    "permute": _permute_rule,
    "t": _t_rule,
    "squeeze": _squeeze_rule,
    "split": _split_rule,
    "chunk": _split_rule,
    "split_with_sizes": _split_rule,
    "flatten": _flatten_rule,
    "diagonal": _diagonal_rule,
    "__getitem__": _index_rule,
    "cat": _cat_rule,
    "concat": _cat_rule,
    "concatenate": _cat_rule,
    "stack": _cat_rule,
    "matmul": _matmul_rule,
    "mm": _matmul_rule,
    "mv": _matmul_rule,
    "bmm": _matmul_rule,
    "linear": _linear_rule,
    "addmm": _addmm_rule,
    "dot": _dot_rule,
    "outer": _outer_rule,
    "ger": _outer_rule,
    "new_zeros": _like_rule,
    "new_ones": _like_rule,
    "new_empty": _like_rule,
    "new_full": _like_rule,
    "expand_as": _expand_as_rule,
    "view_as": _reshape_as_rule,
    "reshape_as": _reshape_as_rule,
    **dict.fromkeys(_DIMS, _dims_rule),
    **dict.fromkeys(
        "clone detach alias contiguous zeros_like ones_like empty_like full_like to type double "
        "float half bfloat16 int long bool triu tril conj real imag view_as_real view_as_complex "
        "cholesky inv det slogdet logdet solve_triangular".split(),
        _whole_rule,
    ),
}
for _name in ("max", "min"):

    def _extremum_rule(func: Any, args: Any, kwargs: Any, level: Level) -> Any:
        if len(args) > 1 and isinstance(args[1], Tensor) or "other" in kwargs:
            return _elementwise_rule(func, args, kwargs, level)
        return _dims_rule(func, args, kwargs, level)

    RULES[_name] = _extremum_rule
