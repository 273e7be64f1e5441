// The CTC loss.
#include "engine/backend/cpu/ctc.h"

#include <algorithm>
#include <memory>

#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

// Owns what a CtcShape points to.
struct Sequences {
  CtcShape shape{};
  Tensor input_lengths, target_lengths, targets, offsets;
};

Tensor lengths_tensor(const Dims& list) {
  return from_values(list.span(), {list.size()}, DType::int64);
}
Tensor lengths_tensor(const char* name, const Tensor& t) {
  if (!is_integral(t.dtype()) || t.dtype() == DType::boolean) {
    fail(ErrorKind::runtime, std::string(name) + " must be integral");
  }
  return dense(reshape(to(detach(t), DType::int64), {-1}));
}

// logp (T, N, C)
Sequences sequences(const Tensor& logp, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, std::int64_t blank) {
  Sequences q;
  const std::int64_t time = logp.size(0), batch = logp.size(1), classes = logp.size(2);
  if (blank < 0 || blank >= classes) {
    fail(ErrorKind::runtime, "blank must be in label range");
  }
  if (!is_integral(targets.dtype()) || targets.dtype() == DType::boolean) {
    fail(ErrorKind::runtime, "targets must be integral");
  }
  if (input_lengths.numel() != batch) {
    fail(ErrorKind::runtime, "input_lengths must be of size batch_size");
  }
  if (target_lengths.numel() != batch) {
    fail(ErrorKind::runtime, "target_lengths must be of size batch_size");
  }
  q.input_lengths = input_lengths;
  q.target_lengths = target_lengths;
  q.targets = dense(to(detach(targets), DType::int64));
  q.offsets = Tensor::empty({batch}, DType::int64);
  const auto* in = q.input_lengths.data_as<std::int64_t>();
  const auto* out = q.target_lengths.data_as<std::int64_t>();
  std::int64_t* offset = q.offsets.data_as<std::int64_t>();
  const bool padded = targets.dim() == 2;
  if (targets.dim() != 1 && !padded) {
    fail(ErrorKind::runtime,
         "targets must have 1 or 2 dimensions, but got sizes " + to_string(targets.shape()));
  }
  if (padded && targets.size(0) != batch) {
    fail(ErrorKind::runtime, "Expected targets to have " + std::to_string(batch) +
                                 " rows, but got sizes " + to_string(targets.shape()));
  }
  std::int64_t total = 0, longest = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    if (in[n] < 0 || in[n] > time) {
      fail(ErrorKind::runtime, "Expected input_lengths to have value at most " +
                                   std::to_string(time) + ", but got value " +
                                   std::to_string(in[n]));
    }
    if (out[n] < 0) {
      fail(ErrorKind::runtime, "Expected target_lengths to have value at least 0, but got value " +
                                   std::to_string(out[n]));
    }
    if (padded && out[n] > targets.size(1)) {
      fail(ErrorKind::runtime, "Expected tensor to have size at least " + std::to_string(out[n]) +
                                   " at dimension 1, but got size " + to_string(targets.shape()));
    }
    if (!padded && out[n] > q.targets.numel() - total) {
      fail(ErrorKind::runtime, "Expected targets to have " + std::to_string(total) + " + " +
                                   std::to_string(out[n]) + " elements or more, but got " +
                                   std::to_string(q.targets.numel()));
    }
    offset[n] = padded ? n * targets.size(1) : total;
    total += out[n];
    longest = std::max(longest, out[n]);
    for (std::int64_t i = 0; i < out[n]; ++i) {
      const std::int64_t label = q.targets.data_as<std::int64_t>()[offset[n] + i];
      if (label < 0 || label >= classes) {
        fail(ErrorKind::runtime, "ctc_loss: target " + std::to_string(label) +
                                     " is out of the range of " + std::to_string(classes) +
                                     " classes");
      }
    }
  }
  if (!padded && total != q.targets.numel()) {
    fail(ErrorKind::runtime, "Expected targets of size " + std::to_string(total) +
                                 ", the sum of target_lengths, but got " +
                                 std::to_string(q.targets.numel()));
  }
  q.shape = {time,  batch, classes, blank, longest, in, out, q.targets.data_as<std::int64_t>(),
             offset};
  return q;
}

// The loss of each sequence.
Tensor losses(const Tensor& logp, const Sequences& q, bool zero_infinity) {
  const Tensor loss = Tensor::empty({q.shape.batch}, logp.dtype());
  const Tensor alpha =
      Tensor::empty({q.shape.batch, q.shape.time, 2 * q.shape.longest + 1}, logp.dtype());
  const Tensor in = dense(logp);
  ctc_forward(logp.dtype(), q.shape, in.data(), loss.data(), alpha.data());
  Tensor out = loss;
  if (zero_infinity) {
    const NoGrad off;
    out = where(eq(loss, Tensor(HUGE_VAL)), zeros({}, loss.dtype()), loss);
  }
  if (needs_tape({&logp})) {
    record("CtcLossBackward0", out, {&logp},
           [q, zero_infinity, loss, alpha, s = Saved(logp)](Node&, const Gradients& g) {
             if (none(g)) return Gradients(1);
             if (context().grad_enabled && needs_tape({&g[0]})) {
               fail(ErrorKind::runtime,
                    "ctc_loss: the derivative of its gradient isn't implemented");
             }
             const Tensor x = s.get_data("CtcLossBackward0");
             const Tensor grad = Tensor::empty(x.shape(), x.dtype());
             ctc_backward(x.dtype(), q.shape, dense(g[0]).data(), dense(x).data(), loss.data(),
                          alpha.data(), zero_infinity, grad.data());
             return Gradients{grad};
           });
  }
  return out;
}

Tensor ctc(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
           const Tensor& target_lengths, std::int64_t blank, std::int64_t reduction,
           bool zero_infinity) {
  if (!is_floating(log_probs.dtype())) no_implementation(log_probs.dtype(), "ctc_loss_cpu");
  if (log_probs.dim() != 2 && log_probs.dim() != 3) {
    fail(ErrorKind::runtime,
         "log_probs must have 2 or 3 dimensions, but got sizes " + to_string(log_probs.shape()));
  }
  if (const DType wide = compute_dtype(log_probs.dtype()); wide != log_probs.dtype()) {
    return to(ctc(to(log_probs, wide), targets, input_lengths, target_lengths, blank, reduction,
                  zero_infinity),
              log_probs.dtype());
  }
  const bool batched = log_probs.dim() == 3;
  const Tensor logp = batched ? log_probs : unsqueeze(log_probs, 1);
  const Tensor labels = batched || targets.dim() != 1 ? targets : unsqueeze(targets, 0);
  const Sequences q = sequences(logp, labels, input_lengths, target_lengths, blank);
  Tensor loss = losses(logp, q, zero_infinity);
  if (!batched) loss = squeeze(loss, Dims{0});
  if (static_cast<LossReduction>(reduction) == LossReduction::mean) {
    const Tensor lengths =
        to(maximum(q.target_lengths, Tensor::wrapped(std::int64_t{1})), loss.dtype());
    return mean(div(loss, batched ? lengths : squeeze(lengths, Dims{0})));
  }
  return reduce_loss(loss, reduction);
}

Tensor ctc_lists(const Tensor& log_probs, const Tensor& targets, const Dims& input_lengths,
                 const Dims& target_lengths, std::int64_t blank, std::int64_t reduction,
                 bool zero_infinity) {
  return ctc(log_probs, targets, lengths_tensor(input_lengths), lengths_tensor(target_lengths),
             blank, reduction, zero_infinity);
}
Tensor ctc_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                   const Tensor& target_lengths, std::int64_t blank, std::int64_t reduction,
                   bool zero_infinity) {
  return ctc(log_probs, targets, lengths_tensor("input_lengths", input_lengths),
             lengths_tensor("target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace

std::span<const OpDef> nn_ctc_ops() {
  static constexpr const char* kDoc =
      "Minus the log-likelihood of label sequences under (T, N, C) log-probabilities, over all "
      "alignments with blanks.";
  static constexpr OpDef rows[] = {
      native<ctc_lists>(
          "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
          "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
          kDoc, kFunction),
      native<ctc_tensors>(
          "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
          "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
          kDoc, kFunction),
  };
  return rows;
}

}  // namespace treadle
