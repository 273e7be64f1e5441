// From a plain C++ function over Tensors to a row of the op table. `native<function>(schema, doc,
// variants)` boxes its arguments by type:
//   Tensor (undefined = None) · Scalar · int64_t · double · bool · std::string · DType · Device ·
//   Generator* · Dims std::vector<Tensor> · std::optional<any of these>
// and its result: Tensor, std::tuple of Tensors, std::vector<Tensor>, bool, int64_t, double or
// void.
#pragma once
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/ops/out.h"
#include "engine/ops/table.h"

namespace treadle {
namespace detail {

Tensor unbox_tensor(const Value& v);
Scalar unbox_scalar(const Value& v);
std::int64_t unbox_int(const Value& v);
double unbox_double(const Value& v);
bool unbox_bool(const Value& v);
Dims unbox_dims(const Value& v);
std::vector<Tensor> unbox_tensors(const Value& v);

template <class T>
struct Unbox {  // string, DType, Device, Generator*
  static T from(const Value& v) { return std::get<T>(v); }
};
// A Tensor argument where it lies, or the tensor that a number stands for.
class TensorArgument {
 public:
  explicit TensorArgument(const Value& v) : given_(std::get_if<Tensor>(&v)) {
    if (!given_) made_ = unbox_tensor(v);
  }
  operator const Tensor&() const { return given_ ? *given_ : made_; }  // NOLINT: an argument

 private:
  const Tensor* given_;
  Tensor made_;
};
template <>
struct Unbox<Tensor> {
  static TensorArgument from(const Value& v) { return TensorArgument(v); }
};
template <>
struct Unbox<Scalar> {
  static Scalar from(const Value& v) { return unbox_scalar(v); }
};
template <>
struct Unbox<std::int64_t> {
  static std::int64_t from(const Value& v) { return unbox_int(v); }
};
template <>
struct Unbox<double> {
  static double from(const Value& v) { return unbox_double(v); }
};
template <>
struct Unbox<bool> {
  static bool from(const Value& v) { return unbox_bool(v); }
};
template <>
struct Unbox<Dims> {
  static Dims from(const Value& v) { return unbox_dims(v); }
};
template <>
struct Unbox<std::vector<Tensor>> {
  static std::vector<Tensor> from(const Value& v) { return unbox_tensors(v); }
};
template <>
struct Unbox<Generator*> {
  static Generator* from(const Value& v) {
    return std::holds_alternative<std::monostate>(v) ? nullptr : std::get<Generator*>(v);
  }
};
template <class T>
struct Unbox<std::optional<T>> {
  static std::optional<T> from(const Value& v) {
    if (std::holds_alternative<std::monostate>(v)) return std::nullopt;
    return Unbox<T>::from(v);
  }
};

template <class... T>
void box(Value* results, std::tuple<T...>&& values) {
  std::apply([&](auto&&... v) { ((*results++ = std::move(v)), ...); }, std::move(values));
}
template <class T>
void box(Value* results, T&& value) {
  *results = std::forward<T>(value);
}

template <class F>
struct Caller;
template <class R, class... A>
struct Caller<R (*)(A...)> {
  using Result = R;
  template <std::size_t... I>
  static R apply(R (*fn)(A...), Value* args, std::index_sequence<I...>) {
    return fn(Unbox<std::remove_cvref_t<A>>::from(args[I])...);
  }
  static R call(R (*fn)(A...), Value* args) {
    return apply(fn, args, std::index_sequence_for<A...>());
  }
};

template <auto Fn>
void call_native(Value* args, Value* results) {
  using C = Caller<decltype(Fn)>;
  if constexpr (std::is_void_v<typename C::Result>) {
    C::call(Fn, args);
  } else {
    box(results, C::call(Fn, args));
  }
}

template <auto Fn>
void call_native_out(Value* args, Tensor* outs) {
  Value results[8];
  call_native<Fn>(args, results);
  for (Value* r = results; r < results + 8; ++r) {
    if (const Tensor* t = std::get_if<Tensor>(r)) write_out("out", *outs++, *t);
  }
}

template <auto Fn>
void call_native_inplace(Value* args) {
  Caller<decltype(Fn)>::call(Fn, args);
}

}  // namespace detail

template <auto Fn>
constexpr OpDef native(const char* schema, const char* doc, unsigned variants,
                       bool differentiable = true) {
  return {schema,
          doc,
          variants,
          differentiable,
          &detail::call_native<Fn>,
          nullptr,
          (variants & kOut) ? &detail::call_native_out<Fn> : nullptr};
}
// With an in-place form of its own: a function with the same arguments that writes the first.
template <auto Fn, auto InPlace>
constexpr OpDef native(const char* schema, const char* doc, unsigned variants,
                       bool differentiable = true) {
  OpDef op = native<Fn>(schema, doc, variants | kInplace, differentiable);
  op.call_inplace = &detail::call_native_inplace<InPlace>;
  return op;
}

// The rows of each family; table.cpp puts them together.
std::span<const OpDef> pointwise_ops();
std::span<const OpDef> elementwise_ops();
std::span<const OpDef> view_ops();
std::span<const OpDef> copy_ops();
std::span<const OpDef> creation_ops();
std::span<const OpDef> random_ops();
std::span<const OpDef> indexing_ops();
std::span<const OpDef> gather_ops();
std::span<const OpDef> reduction_ops();
std::span<const OpDef> matmul_ops();
std::span<const OpDef> product_ops();
std::span<const OpDef> einsum_ops();
std::span<const OpDef> factor_ops();
std::span<const OpDef> solve_ops();
std::span<const OpDef> qr_ops();
std::span<const OpDef> eig_ops();
std::span<const OpDef> norm_ops();
std::span<const OpDef> matrix_function_ops();
std::span<const OpDef> nn_ops();
std::span<const OpDef> nn_conv_ops();
std::span<const OpDef> nn_pool_ops();
std::span<const OpDef> nn_resample_ops();
std::span<const OpDef> nn_norm_ops();
std::span<const OpDef> nn_loss_ops();
std::span<const OpDef> nn_distance_ops();
std::span<const OpDef> nn_ctc_ops();
std::span<const OpDef> nn_embedding_ops();
std::span<const OpDef> nn_dropout_ops();
std::span<const OpDef> nn_vision_ops();
std::span<const OpDef> nn_attention_ops();
std::span<const OpDef> nn_rnn_ops();
std::span<const OpDef> complex_ops();
std::span<const OpDef> composite_ops();
std::span<const OpDef> layout_ops();
std::span<const OpDef> shape_ops();
std::span<const OpDef> part_ops();
std::span<const OpDef> scatter_ops();
std::span<const OpDef> index_ops();
std::span<const OpDef> view_inplace_ops();
std::span<const OpDef> sequence_ops();
std::span<const OpDef> special_ops();
std::span<const OpDef> fft_ops();
std::span<const OpDef> signal_ops();
std::span<const OpDef> scan_ops();
std::span<const OpDef> statistics_ops();
std::span<const OpDef> sorting_ops();
std::span<const OpDef> set_ops();
std::span<const OpDef> histogram_ops();
std::span<const OpDef> segment_ops();
std::span<const OpDef> calculus_ops();
std::span<const OpDef> distribution_ops();

}  // namespace treadle
