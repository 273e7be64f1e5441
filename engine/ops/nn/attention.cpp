// Scaled dot-product attention.
#include <cmath>

#include "engine/core/iter.h"
#include "engine/ops/nn/util.h"

namespace treadle {

namespace {

// k or v (..., heads, L, E) with each head repeated until there are `heads`.
Tensor repeat_heads(const Tensor& t, std::int64_t heads) {
  const std::int64_t own = t.size(-3);
  if (own == heads) return t;
  if (own == 0 || heads % own != 0) {
    fail(ErrorKind::runtime,
         "Number of heads in key and value must divide the number of heads in query, but got " +
             std::to_string(own) + " and " + std::to_string(heads));
  }
  const Tensor wide = unsqueeze(t, -3);  // (..., own, 1, L, E)
  Dims shape = wide.shape();
  shape[shape.size() - 3] = heads / own;
  Dims flat = t.shape();
  flat[flat.size() - 3] = heads;
  return reshape(expand(wide, shape), flat);
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const Tensor& attn_mask, double dropout_p, bool is_causal,
                 std::optional<double> scale, bool enable_gqa) {
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    fail(ErrorKind::runtime,
         "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
         "dimensional, but got Query dim: " +
             std::to_string(query.dim()) + ", Key dim: " + std::to_string(key.dim()) +
             ", Value dim: " + std::to_string(value.dim()));
  }
  if (query.dtype() != key.dtype() || query.dtype() != value.dtype()) {
    fail(ErrorKind::runtime,
         "Expected query, key, and value to have the same dtype, but got query.dtype: " +
             repr(query.dtype()) + " key.dtype: " + repr(key.dtype()) +
             " and value.dtype: " + repr(value.dtype()) + " instead.");
  }
  if (!is_floating(query.dtype())) no_implementation(query.dtype(), "scaled_dot_product_attention");
  if (is_causal && attn_mask.defined()) {
    fail(ErrorKind::runtime,
         "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  }
  if (!(dropout_p >= 0 && dropout_p <= 1)) {
    fail(ErrorKind::runtime,
         "dropout probability has to be between 0 and 1, but got " + std::to_string(dropout_p));
  }
  if (attn_mask.defined() && attn_mask.dtype() != DType::boolean &&
      attn_mask.dtype() != query.dtype() && attn_mask.dtype() != DType::float32) {
    fail(ErrorKind::runtime,
         "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
         "attn_mask.dtype: " +
             repr(attn_mask.dtype()) + " and  query.dtype: " + repr(query.dtype()) + " instead.");
  }
  const DType wide = compute_dtype(query.dtype());
  if (wide != query.dtype()) {
    const Tensor mask = attn_mask.defined() && attn_mask.dtype() != DType::boolean
                            ? to(attn_mask, wide)
                            : attn_mask;
    return to(attention(to(query, wide), to(key, wide), to(value, wide), mask, dropout_p, is_causal,
                        scale, enable_gqa),
              query.dtype());
  }
  Tensor k = key, v = value;
  if (enable_gqa) {
    if (query.dim() < 3 || key.dim() < 3 || value.dim() < 3) {
      fail(ErrorKind::runtime,
           "scaled_dot_product_attention: enable_gqa needs inputs of at least "
           "3 dimensions");
    }
    k = repeat_heads(key, query.size(-3));
    v = repeat_heads(value, query.size(-3));
  }
  // Half of the factor on each side keeps products small.
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  const double root = std::sqrt(std::abs(factor));
  const Tensor q = mul(query, Tensor(factor < 0 ? -root : root));
  Tensor scores = matmul(q, transpose(mul(k, Tensor(root)), -2, -1));
  Tensor allowed = attn_mask;
  if (is_causal) {
    const Tensor row = unsqueeze(arange(0, query.size(-2), 1, DType::int64), 1);
    allowed = le(arange(0, key.size(-2), 1, DType::int64), row);
  }
  if (allowed.defined()) {
    const Tensor never = full({}, -HUGE_VAL, scores.dtype());
    scores =
        allowed.dtype() == DType::boolean ? where(allowed, scores, never) : add(scores, allowed);
  }
  if (!allowed.defined() || scores.size(-1) == 0) {
    return matmul(dropout(softmax(scores, -1), dropout_p, true), v);
  }
  // A row that may attend to nothing gives zeros, and no gradient.
  Tensor nothing;
  {
    const NoGrad off;
    nothing = eq(amax(detach(scores), {-1}, true), Tensor(-HUGE_VAL));
  }
  Tensor weights = softmax(masked_fill(scores, nothing, Tensor(0.0)), -1);
  weights = masked_fill(weights, nothing, Tensor(0.0));
  return matmul(dropout(weights, dropout_p, true), v);
}

}  // namespace

std::span<const OpDef> nn_attention_ops() {
  static constexpr OpDef rows[] = {
      native<attention>(
          "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
          "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
          "enable_gqa=False) -> Tensor",
          "softmax(query key^T * scale + mask) value over (..., L, E), (..., S, E) and (..., S, "
          "V); scale: 1 / sqrt(E) if None. A bool mask is true where attending is allowed; a row "
          "that may attend to nothing gives zeros.",
          kFunctional),
  };
  return rows;
}

}  // namespace treadle
