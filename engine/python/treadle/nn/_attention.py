"""Attention with several heads, and softmax's relatives: parts of nn.functional."""

from __future__ import annotations

import math
import warnings

from .. import _C

__all__ = [
    "gumbel_softmax",
    "log_softmax",
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
    "softmax",
    "softmin",
]

Tensor = _C.Tensor
_nn = _C._nn

scaled_dot_product_attention = _nn.scaled_dot_product_attention


def _mask(
    mask: Tensor | None, name: str, dtype: _C.dtype, check_other: bool = True
) -> Tensor | None:
    """A mask of floats to add: minus infinity where a mask of bool is true."""
    if mask is None:
        return None
    if mask.dtype != _C.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if mask.is_floating_point():
        return mask
    return _C.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch dimension. AssertionError for shapes that don't go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query "
            "tensor"
        )
    batched = query.dim() == 3
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected `key` and "
            f"`value` to be {query.dim()}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"expected `key_padding_mask` to be None or {query.dim() - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                "expected `attn_mask` to be None, 2-D or 3-D but found "
                f"{attn_mask.dim()}-D tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(
                    f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
                )
    return batched


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The three inputs through the three parts of one weight (3E, E)."""
    size = query.size(-1)
    if key is value and query is key:
        out = _nn.linear(query, weight, bias)
        q, k, v = out.split(size, -1)
        return q, k, v
    weights = weight.split(size, 0)
    biases = (None, None, None) if bias is None else bias.split(size, 0)
    q, k, v = (
        _nn.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of num_heads heads, with projections before and after; see nn.MultiheadAttention.

    query (L, N, E), key and value (S, N, E), or all without N. Masks are true, or minus infinity,
    where attending is forbidden. Gives the output (L, N, E) and, with need_weights, the weights
    (N, L, S), averaged over heads or not.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    if embed != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}"
        )
    head = embed // num_heads
    if head * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if tuple(key.shape[:2]) != tuple(value.shape[:2]):
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    padding = _mask(key_padding_mask, "key_padding_mask", query.dtype)
    if is_causal and padding is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _mask(attn_mask, "attn_mask", query.dtype)
        if padding is not None:
            is_causal = False

    if not use_separate_proj_weight:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    else:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        parts = []
        for name, x, w, b in zip("qkv", (query, key, value), weights, biases, strict=True):
            if w is None:
                raise AssertionError(
                    f"use_separate_proj_weight is True but {name}_proj_weight is None"
                )
            parts.append(_nn.linear(x, w, b))
        q, k, v = parts

    if attn_mask is not None:
        if attn_mask.dim() == 2:
            expected = (length, key.size(0))
            if tuple(attn_mask.shape) != expected:
                raise RuntimeError(
                    f"The shape of the 2D attn_mask is {tuple(attn_mask.shape)}, but should be "
                    f"{expected}."
                )
            attn_mask = attn_mask.unsqueeze(0)
        else:
            expected3 = (batch * num_heads, length, key.size(0))
            if tuple(attn_mask.shape) != expected3:
                raise RuntimeError(
                    f"The shape of the 3D attn_mask is {tuple(attn_mask.shape)}, but should be "
                    f"{expected3}."
                )

    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key and value.")
        k = _C.cat([k, bias_k.repeat(1, batch, 1)])
        v = _C.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = None if attn_mask is None else _nn.pad(attn_mask, (0, 1))
        padding = None if padding is None else _nn.pad(padding, (0, 1))
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")

    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    given = []
    for name, static, own in (("static_k", static_k, k), ("static_v", static_v, v)):
        if static is None:
            given.append(own.reshape(own.shape[0], batch * num_heads, head).transpose(0, 1))
            continue
        if static.size(0) != batch * num_heads or static.size(2) != head:
            raise AssertionError(
                f"expecting {name} of size ({batch * num_heads}, S, {head}), but got {static.shape}"
            )
        given.append(static)
    k, v = given
    if add_zero_attn:
        zeros = _C.zeros((batch * num_heads, 1, head), dtype=k.dtype)
        k, v = _C.cat([k, zeros], dim=1), _C.cat([v, zeros], dim=1)
        attn_mask = None if attn_mask is None else _nn.pad(attn_mask, (0, 1))
        padding = None if padding is None else _nn.pad(padding, (0, 1))
    source = k.size(1)

    if padding is not None:
        if tuple(padding.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got {padding.shape}"
            )
        wide = (
            padding.view(batch, 1, 1, source)
            .expand(-1, num_heads, -1, -1)
            .reshape(batch * num_heads, 1, source)
        )
        attn_mask = wide if attn_mask is None else attn_mask + wide
    if not training:
        dropout_p = 0.0

    if need_weights:
        scores = _C.bmm(q * math.sqrt(1.0 / head), k.transpose(-2, -1))
        if attn_mask is not None:
            scores = scores + attn_mask
        weights3 = scores.softmax(-1)
        if dropout_p > 0.0:
            weights3 = _C.dropout(weights3, dropout_p, True)
        out = _C.bmm(weights3, v).transpose(0, 1).reshape(length * batch, embed)
        out = _nn.linear(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
        heads = weights3.view(batch, num_heads, length, source)
        shown = heads.mean(1) if average_attn_weights else heads
        return (out, shown) if batched else (out.squeeze(1), shown.squeeze(0))
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(batch, num_heads, -1, source)
    out = scaled_dot_product_attention(
        q.reshape(batch, num_heads, length, head),
        k.reshape(batch, num_heads, source, head),
        v.reshape(batch, num_heads, source, head),
        attn_mask,
        dropout_p,
        is_causal and attn_mask is None,
    )
    out = out.permute(2, 0, 1, 3).reshape(batch * length, embed)
    out = _nn.linear(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
    return (out if batched else out.squeeze(1)), None


# --- softmax --------------------------------------------------------------------------------------


def _softmax_dim(name: str, input: Tensor, dim: int | None) -> int:
    """dim, or with a warning the one that old PyTorch took."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along dim."""
    return input.softmax(_softmax_dim("softmax", input, dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """log(softmax(x)) along dim, without overflow."""
    return input.log_softmax(_softmax_dim("log_softmax", input, dim), dtype=dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """softmax(-x) along dim."""
    return (-input).softmax(_softmax_dim("softmin", input, dim), dtype=dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution: softmax((logits + Gumbel noise) / tau).

    hard: one-hot vectors, with the gradient of the soft sample.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    dtype = _C.float64 if logits.dtype == _C.float64 else _C.float32
    # An exponential number, above 0, is -log(1 - u).
    exponential = -(-_C.rand(logits.shape, dtype=dtype)).log1p()
    noise = (-(exponential + 1e-38).log()).to(logits.dtype)
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = _C.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
