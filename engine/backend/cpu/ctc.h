// Connectionist temporal classification (Graves et al. 2006): the log-likelihood of a sequence of
// labels, summed over its alignments with blanks, and its gradient.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

struct CtcShape {
  std::int64_t time, batch, classes, blank;
  std::int64_t longest;                // of the label sequences
  const std::int64_t* input_lengths;   // (batch), in [0, time]
  const std::int64_t* target_lengths;  // (batch)
  const std::int64_t* targets;         // of all sequences, one after another, in [0, classes)
  const std::int64_t* target_offsets;  // (batch): where each begins
};
// logp (time, batch, classes), dense, float32 or float64. loss (batch); alpha (batch, time, 2 *
// longest + 1), for the gradient.
void ctc_forward(DType dtype, const CtcShape& shape, const char* logp, char* loss, char* alpha);
// grad (time, batch, classes) for the gradients g (batch) of the losses. As in PyTorch it is that
// of scores whose log_softmax is logp, and passes unchanged through log_softmax. zero_infinity:
// infinite losses count for nothing.
void ctc_backward(DType dtype, const CtcShape& shape, const char* g, const char* logp,
                  const char* loss, const char* alpha, bool zero_infinity, char* grad);

}  // namespace treadle
