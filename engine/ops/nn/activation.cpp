// Softmax, and activations that are made of other ops.
#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/reduce.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/reduce.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

struct RowKernels {
  const char* name;
  kernel::RowFn (kernel::Table::*forward)[kernel::kDTypes];
  kernel::RowFn (kernel::Table::*backward)[kernel::kDTypes];
};
constexpr RowKernels kSoftmax{"SoftmaxBackward0", &kernel::Table::softmax,
                              &kernel::Table::softmax_grad};
constexpr RowKernels kLogSoftmax{"LogSoftmaxBackward0", &kernel::Table::log_softmax,
                                 &kernel::Table::log_softmax_grad};

// Rows along `dim` of dense operands; the result is dense in the same order.
Tensor run_rows(kernel::RowFn fn, std::int64_t dim, const Tensor& a, const Tensor& b) {
  if (!fn) {
    fail(ErrorKind::not_implemented,
         "\"softmax\" not implemented for '" + std::string(info(a.dtype()).scalar) + "'");
  }
  const NoGrad off;
  const auto rows = [&](const Tensor& t) {
    return t.dim() == 0 ? reshape(detach(t), {1}) : contiguous(transpose(detach(t), dim, -1));
  };
  const Tensor x = rows(a), y = b.defined() ? rows(b) : Tensor();
  const Tensor out = Tensor::empty(x.shape(), x.dtype());
  const std::int64_t count = x.shape().back(), item = item_size(x.dtype());
  const std::int64_t n = count == 0 ? 0 : x.numel() / count;
  if (n > 0) {
    kernel::RowArgs args{};
    args.rows = n;
    args.count = count;
    args.out = out.data();
    args.out_stride = args.in_stride[0] = args.in_stride[1] = count * item;
    args.in[0] = x.data();
    args.in[1] = y.defined() ? y.data() : nullptr;
    map_rows(fn, args);
  }
  return a.dim() == 0 ? reshape(out, {}) : contiguous(transpose(out, dim, -1));
}

Tensor soft(const RowKernels& k, const Tensor& input, std::int64_t dim,
            std::optional<DType> dtype) {
  const Tensor self = dtype ? to(input, *dtype) : input;
  dim = wrap_dim(dim, self.dim());
  if (is_short_float(self.dtype())) {
    return to(soft(k, to(self, DType::float32), dim, std::nullopt), self.dtype());
  }
  const auto type = static_cast<std::size_t>(self.dtype());
  const Tensor out = run_rows((table().*k.forward)[type], dim, self, Tensor());
  if (needs_tape({&self})) {
    record(k.name, out, {&self}, [&k, dim, y = Saved::output(out)](Node& n, const Gradients& g) {
      if (none(g)) return Gradients(1);
      if (!context().grad_enabled) {
        const Tensor result = y.get_data(k.name);
        return Gradients{run_rows((table().*k.backward)[static_cast<std::size_t>(g[0].dtype())],
                                  dim, g[0], result)};
      }
      const Tensor result = y.get(&n);
      if (&k == &kSoftmax)
        return Gradients{mul(result, sub(g[0], sum(mul(g[0], result), {dim}, true)))};
      return Gradients{sub(g[0], mul(exp(result), sum(g[0], {dim}, true)))};
    });
  }
  return out;
}

}  // namespace

Tensor softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  return soft(kSoftmax, self, dim, dtype);
}
Tensor log_softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  return soft(kLogSoftmax, self, dim, dtype);
}

std::span<const OpDef> nn_ops() {
  static constexpr OpDef rows[] = {
      native<softmax>("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                      "exp(x) / sum(exp(x)) along dim.", kFunction | kMethod),
      native<log_softmax>("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                          "log(softmax(x)) along dim, without overflow.", kFunction | kMethod),
      native<gelu>("gelu(Tensor self, *, str approximate='none') -> Tensor",
                   "Gaussian error linear unit; approximate 'tanh' uses the tanh formula.",
                   kFunctional),
  };
  return rows;
}

}  // namespace treadle
