// The op table put together, and the checks in front of every call.
#include "engine/ops/table.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "engine/autograd/node.h"
#include "engine/core/context.h"
#include "engine/ops/elementwise/elementwise.h"
#include "engine/ops/names.h"
#include "engine/ops/native.h"

namespace treadle {

namespace detail {

Tensor unbox_tensor(const Value& v) {
  if (const Tensor* t = std::get_if<Tensor>(&v)) return *t;
  if (std::holds_alternative<std::monostate>(v)) return Tensor();
  return unbox_scalar(v).tensor();
}

Scalar unbox_scalar(const Value& v) {
  if (const Scalar* s = std::get_if<Scalar>(&v)) return *s;
  if (const bool* b = std::get_if<bool>(&v)) return *b;
  if (const std::int64_t* i = std::get_if<std::int64_t>(&v)) return *i;
  if (const Tensor* t = std::get_if<Tensor>(&v)) {
    if (t->dtype() == DType::boolean) return t->item_int() != 0;
    return is_integral(t->dtype()) ? Scalar(t->item_int()) : Scalar(t->item());
  }
  return std::get<double>(v);
}

std::int64_t unbox_int(const Value& v) {
  if (const std::int64_t* i = std::get_if<std::int64_t>(&v)) return *i;
  return unbox_scalar(v).i;
}
double unbox_double(const Value& v) {
  if (const double* d = std::get_if<double>(&v)) return *d;
  return unbox_scalar(v).f;
}
bool unbox_bool(const Value& v) {
  if (const bool* b = std::get_if<bool>(&v)) return *b;
  return unbox_scalar(v).i != 0;
}
Dims unbox_dims(const Value& v) {
  if (const Dims* d = std::get_if<Dims>(&v)) return *d;
  if (std::holds_alternative<std::monostate>(v)) return {};
  return {unbox_int(v)};
}
std::vector<Tensor> unbox_tensors(const Value& v) { return std::get<std::vector<Tensor>>(v); }

}  // namespace detail

namespace {

struct Table {
  std::vector<OpDef> ops;
  std::vector<Schema> schemas;
};

const Table& the_table() {
  static const Table table = [] {
    Table t;
    for (const auto rows : {pointwise_ops(),   elementwise_ops(), view_ops(),
                            copy_ops(),        creation_ops(),    random_ops(),
                            indexing_ops(),    gather_ops(),      reduction_ops(),
                            matmul_ops(),      product_ops(),     einsum_ops(),
                            factor_ops(),      solve_ops(),       qr_ops(),
                            eig_ops(),         norm_ops(),        matrix_function_ops(),
                            nn_ops(),          nn_conv_ops(),     nn_pool_ops(),
                            nn_resample_ops(), nn_norm_ops(),     nn_loss_ops(),
                            nn_ctc_ops(),      nn_distance_ops(), nn_embedding_ops(),
                            nn_dropout_ops(),  nn_vision_ops(),   nn_attention_ops(),
                            nn_rnn_ops(),      complex_ops(),     composite_ops(),
                            layout_ops(),      shape_ops(),       part_ops(),
                            scatter_ops(),     index_ops(),       view_inplace_ops(),
                            sequence_ops(),    special_ops(),     fft_ops(),
                            signal_ops(),      scan_ops(),        statistics_ops(),
                            sorting_ops(),     set_ops(),         histogram_ops(),
                            segment_ops(),     calculus_ops(),    distribution_ops()}) {
      t.ops.insert(t.ops.end(), rows.begin(), rows.end());
    }
    const auto name = [](const OpDef& op) {
      const std::string_view s = op.schema;
      return s.substr(0, s.find_first_of(".("));
    };
    std::stable_sort(t.ops.begin(), t.ops.end(),
                     [&](const OpDef& a, const OpDef& b) { return name(a) < name(b); });
    for (const OpDef& op : t.ops) t.schemas.push_back(parse_schema(op.schema));
    return t;
  }();
  return table;
}

bool is_number(const Value& v) {
  return std::holds_alternative<Scalar>(v) || std::holds_alternative<std::int64_t>(v) ||
         std::holds_alternative<double>(v) || std::holds_alternative<bool>(v);
}

bool accepts(const Arg& arg, const Value& v) {
  if (std::holds_alternative<std::monostate>(v)) return arg.optional;
  switch (arg.type) {
    case ArgType::tensor:
      if (const Tensor* t = std::get_if<Tensor>(&v)) return t->defined() || arg.optional;
      return is_number(v);
    case ArgType::scalar:
      if (const Tensor* t = std::get_if<Tensor>(&v)) return t->defined() && t->numel() == 1;
      return is_number(v);
    case ArgType::layout:
    case ArgType::memory_format:
    case ArgType::integer:
      if (const Scalar* s = std::get_if<Scalar>(&v)) return s->kind != Scalar::Kind::floating;
      return std::holds_alternative<std::int64_t>(v) || std::holds_alternative<bool>(v);
    case ArgType::floating:
    case ArgType::boolean:
      return is_number(v);
    case ArgType::string:
      return std::holds_alternative<std::string>(v);
    case ArgType::dtype:
      return std::holds_alternative<DType>(v);
    case ArgType::device:
      return std::holds_alternative<Device>(v);
    case ArgType::generator:
      return std::holds_alternative<Generator*>(v);
    case ArgType::ints:
      return std::holds_alternative<Dims>(v) || std::holds_alternative<std::int64_t>(v);
    case ArgType::floats:
      return std::holds_alternative<std::vector<double>>(v);
    case ArgType::bools:
      return std::holds_alternative<Dims>(v);
    case ArgType::tensors: {
      const auto* list = std::get_if<std::vector<Tensor>>(&v);
      return list &&
             (arg.optional_elements ||
              std::all_of(list->begin(), list->end(), [](const Tensor& t) { return t.defined(); }));
    }
  }
  return false;
}

// "None", "True", "1", "0.5", "'mean'", "[]", "[0, 1]".
Value parse_default(const OpDef& op, const Arg& arg) {
  const std::string_view text = arg.default_text;
  const auto bad = [&] {
    fail(ErrorKind::value, "schema `" + std::string(op.schema) + "`: the default of `" +
                               std::string(arg.name) + "` can't be read as " + type_text(arg.type));
  };
  const auto integer = [&](std::string_view s) {
    std::int64_t value = 0;
    if (std::from_chars(s.data(), s.data() + s.size(), value).ptr != s.data() + s.size()) bad();
    return value;
  };
  if (text == "None") return {};
  if (text == "True") return true;
  if (text == "False") return false;
  switch (arg.type) {
    case ArgType::memory_format:
      return std::int64_t{0};  // contiguous_format
    case ArgType::integer:
      return integer(text);
    case ArgType::string:
      return std::string(text.substr(1, text.size() - 2));
    case ArgType::scalar:
      if (text.find_first_of(".eE") == std::string_view::npos) return Scalar(integer(text));
      return Scalar(std::stod(std::string(text)));
    case ArgType::floating:
      return std::stod(std::string(text));
    case ArgType::ints: {
      Dims dims;
      if (text.front() != '[') return Dims({integer(text)});
      std::string_view rest = text.substr(1, text.size() - 2);
      while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        dims.push_back(integer(rest.substr(0, comma)));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      }
      return dims;
    }
    default:
      bad();
  }
  return {};
}

}  // namespace

bool is_elementwise(const OpDef& op) {
  const std::span<const OpDef> maps = elementwise_ops();
  return std::any_of(maps.begin(), maps.end(),
                     [&](const OpDef& map) { return map.schema == op.schema; });
}

std::span<const OpDef> op_table() { return the_table().ops; }

const Schema& schema_of(const OpDef& op) {
  const Table& t = the_table();
  return t.schemas[static_cast<std::size_t>(&op - t.ops.data())];
}

std::span<const OpDef> find_op(std::string_view name) {
  const Table& t = the_table();
  const auto first =
      std::lower_bound(t.schemas.begin(), t.schemas.end(), name,
                       [](const Schema& s, std::string_view n) { return s.name < n; });
  auto last = first;
  while (last != t.schemas.end() && last->name == name) ++last;
  return {t.ops.data() + (first - t.schemas.begin()), static_cast<std::size_t>(last - first)};
}

Value default_value(const OpDef& op, const Arg& arg) {
  if (!arg.has_default) {
    fail(ErrorKind::type, std::string(schema_of(op).name) + "() missing required argument '" +
                              std::string(arg.name) + "' (" + type_text(arg.type) + ")");
  }
  return parse_default(op, arg);
}

void check_args(const OpDef& op, std::span<const Value> args) {
  const Schema& s = schema_of(op);
  if (args.size() != s.args.size()) {
    fail(ErrorKind::type, std::string(s.name) + "() takes " + std::to_string(s.args.size()) +
                              " arguments but " + std::to_string(args.size()) + " were given");
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (accepts(s.args[i], args[i])) continue;
    fail(ErrorKind::type,
         std::string(s.name) + "(): argument '" + std::string(s.args[i].name) + "' (position " +
             std::to_string(i + 1) + ") must be " + type_text(s.args[i].type) +
             (std::holds_alternative<std::monostate>(args[i]) ? ", not None" : ""));
  }
}

namespace {

bool is_lazy(const Value& v) {
  const Tensor* t = std::get_if<Tensor>(&v);
  return t && t->defined() && t->is_lazy();
}

// Runs f over the arguments with lazy conjugates and negatives computed: `args` themselves if there
// are none, which is usual, else a copy of them (who made the list may have borrowed its tensors).
template <class F>
void resolved(const OpDef& op, std::span<Value> args, F f) {
  bool lazy = false;
  for (const Value& v : args) {
    lazy |= is_lazy(v);
    if (const auto* list = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *list) lazy |= t.defined() && t.is_lazy();
    }
  }
  if (!lazy || schema_of(op).views) return f(args);
  std::vector<Value> copy(args.begin(), args.end());
  for (Value& v : copy) {
    if (is_lazy(v)) v = resolve(std::get<Tensor>(v));
    if (auto* list = std::get_if<std::vector<Tensor>>(&v)) {
      for (Tensor& t : *list) {
        if (t.defined()) t = resolve(t);
      }
    }
  }
  f(copy);
}

// Ops whose out= may not be one of their arguments, in PyTorch: they move elements about.
bool reads_while_writing(std::string_view name) {
  static constexpr std::string_view kOps[] = {"cat",          "concat", "concatenate", "gather",
                                              "index_select", "take",   "stack",       "hstack",
                                              "vstack",       "dstack", "column_stack"};
  return std::find(std::begin(kOps), std::end(kOps), name) != std::end(kOps);
}

// Ops whose out= must have the dtype of the result: it isn't cast, as in PyTorch.
bool keeps_dtype(const Schema& s) {
  static constexpr std::string_view kOps[] = {
      "gather", "index_select", "take",      "nonzero",      "sort",     "topk",     "kthvalue",
      "median", "nanmedian",    "mode",      "cummax",       "cummin",   "quantile", "nanquantile",
      "argmax", "argmin",       "histogram", "searchsorted", "bucketize"};
  if (s.name == "max" || s.name == "min") return s.returns == 2;
  return std::find(std::begin(kOps), std::end(kOps), s.name) != std::end(kOps);
}

// Sums and products with a dtype argument: an out= must have that dtype, and is it if none is
// given. Returns the position of the argument, or -1.
std::ptrdiff_t dtype_of_sum(const Schema& s, std::span<const Value> args) {
  static constexpr std::string_view kOps[] = {"sum", "nansum", "mean", "prod", "cumsum", "cumprod"};
  if (std::find(std::begin(kOps), std::end(kOps), s.name) == std::end(kOps)) return -1;
  if (const Tensor* self = std::get_if<Tensor>(&args[0]);
      s.name == "mean" && self && !is_differentiable(self->dtype())) {
    return -1;  // a mean of integers is refused
  }
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (s.args[i].type == ArgType::dtype) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

std::string scalar_name(const Tensor& t) { return std::string(info(t.dtype()).scalar); }

// Do the two windows reach common bytes?
bool may_share(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  if (!a.impl()->storage->shares_memory(*b.impl()->storage)) return false;
  const auto end = [](const Tensor& t) {
    std::int64_t last = 0;
    for (std::int64_t d = 0; d < t.dim(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
    return t.data() + (last + 1) * item_size(t.dtype());
  };
  return a.data() < end(b) && b.data() < end(a);
}

// An out= of another dtype than its result, in PyTorch's words, which differ from op to op.
[[noreturn]] void refuse_dtype(std::string_view op, std::size_t i, const Tensor& result,
                               const Tensor& out) {
  const std::string expected = scalar_name(result), given = scalar_name(out);
  std::string text = "Expected out tensor to have dtype " + cpp_name(result.dtype()) +
                     ", but got " + cpp_name(out.dtype()) + " instead";
  if (op == "nonzero") {
    text = "nonzero: Expected out tensor to have scalar type Long but got scalar type " + given;
  } else if (op == "mode") {
    text = "expected scalar type '" + expected + "' but got '" + given + "' for " +
           (i == 0 ? "values" : "indices") + " output";
  } else if (op == "kthvalue") {
    text = i == 0 ? "output values must be of same type as input"
                  : "output indices must be of scalar type Long";
  } else if (op == "cummax" || op == "cummin") {
    text = "expected scalar_type " + expected + " but found " + given;
  } else if (op == "quantile" || op == "nanquantile") {
    text = std::string(op) + "() out tensor must be same dtype as the input tensor";
  } else if (op == "histogram") {
    const std::string name = i == 0 ? "hist" : "bin_edges";
    text = "torch.histogram: input tensor and " + name +
           " tensor should have the same dtype, but got input " + cpp_name(result.dtype()) +
           " and " + name + " " + cpp_name(out.dtype());
  }
  if (op == "searchsorted" || op == "bucketize") {
    const bool narrow = result.dtype() == DType::int32;
    text =
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
        "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
        "dtype " +
        given + " and out_int32 flag is " + (narrow ? "True" : "False");
  }
  fail(ErrorKind::runtime, text);
}

// Computes first, so that the dtypes of the results are known before anything is written.
void write_exactly(const OpDef& op, std::span<Value> args, std::span<Tensor> outs) {
  const Schema& s = schema_of(op);
  std::vector<Value> results(static_cast<std::size_t>(s.returns));
  resolved(op, args, [&](std::span<Value> values) { op.call(values.data(), results.data()); });
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!std::holds_alternative<Tensor>(results[i])) {
      fail(ErrorKind::type, std::string(s.name) + "(): out= takes one tensor");
    }
    const Tensor& result = std::get<Tensor>(results[i]);
    if (result.dtype() == outs[i].dtype()) continue;
    refuse_dtype(s.name, i, result, outs[i]);
  }
  for (std::size_t i = 0; i < outs.size(); ++i) {
    write_out(s.name, outs[i], std::get<Tensor>(results[i]));
  }
}

}  // namespace

void invoke(const OpDef& op, std::span<Value> args, Value* results) {
  check_args(op, args);
  resolved(op, args, [&](std::span<Value> values) { op.call(values.data(), results); });
}

void invoke_inplace(const OpDef& op, std::span<Value> args) {
  const Schema& s = schema_of(op);
  if (!op.call_inplace) fail(ErrorKind::type, std::string(s.name) + "_() doesn't exist");
  check_args(op, args);
  if (!std::holds_alternative<Tensor>(args[0])) {
    fail(ErrorKind::type, std::string(s.name) + "_(): argument 'self' (position 1) must be Tensor");
  }
  const Tensor& self = std::get<Tensor>(args[0]);
  if (self.is_lazy() && !s.views) check_inplace(self);
  resolved(op, args, [&](std::span<Value> values) {
    op.call_inplace(values.data());
    // A lazy conjugate was computed and written: back into its memory.
    if (values.data() != args.data() && self.is_lazy()) copy_(self, std::get<Tensor>(values[0]));
  });
}

void invoke_out(const OpDef& op, std::span<Value> args, std::span<Tensor> outs) {
  const Schema& s = schema_of(op);
  if (!op.call_out)
    fail(ErrorKind::type, std::string(s.name) + "() got an unexpected keyword argument 'out'");
  check_args(op, args);
  if (static_cast<int>(outs.size()) != s.returns) {
    fail(ErrorKind::type, std::string(s.name) + "(): 'out' must hold " + std::to_string(s.returns) +
                              " tensors, got " + std::to_string(outs.size()));
  }
  std::vector<const Tensor*> inputs;
  for (const Value& v : args) {
    if (const Tensor* t = std::get_if<Tensor>(&v)) inputs.push_back(t);
    if (const auto* list = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *list) inputs.push_back(&t);
    }
  }
  check_out(
      s.name,
      op.differentiable ? std::span<const Tensor* const>(inputs) : std::span<const Tensor* const>(),
      outs);
  for (const Tensor& t : outs) check_inplace(t);
  if (reads_while_writing(s.name)) {
    for (const Tensor& t : outs) {
      for (const Tensor* in : inputs) {
        if (in->defined() && may_share(t, *in)) {
          fail(ErrorKind::runtime,
               "unsupported operation: some elements of the input tensor and the written-to tensor "
               "refer to a single memory location. Please clone() the tensor before performing the "
               "operation.");
        }
      }
    }
  }
  if (const std::ptrdiff_t at = dtype_of_sum(s, args); at >= 0) {
    Value& dtype = args[static_cast<std::size_t>(at)];
    if (const DType* given = std::get_if<DType>(&dtype); given && *given != outs[0].dtype()) {
      fail(ErrorKind::runtime, "Expected out tensor to have dtype " + cpp_name(*given) +
                                   ", but got " + cpp_name(outs[0].dtype()) + " instead");
    }
    if (s.name != "mean" || can_cast(detail::unbox_tensor(args[0]).dtype(), outs[0].dtype()))
      dtype = outs[0].dtype();
  }
  if (keeps_dtype(s)) {
    write_exactly(op, args, outs);
    return;
  }
  std::vector<Tensor> targets(outs.begin(), outs.end());
  for (Tensor& t : targets) {
    if (t.is_lazy()) t = resolve(t);
  }
  resolved(op, args, [&](std::span<Value> values) { op.call_out(values.data(), targets.data()); });
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!same(outs[i], targets[i])) copy_(outs[i], targets[i]);
  }
}

}  // namespace treadle
