// The tape node of the elementwise ops: one class for all of them.
#pragma once
#include <array>
#include <memory>
#include <string>

#include "engine/autograd/node.h"
#include "engine/ops/elementwise/map.h"

namespace treadle {

// Throws what PyTorch throws for the Status bits of a kernel.
void check_map_status(std::uint32_t status);

class MapNode final : public Node {
 public:
  static constexpr std::size_t kInputs = 3;

  // Whether a call with these inputs goes on the tape.
  static bool wanted(const MapOp& op, Inputs in);

  // `shape` and `result` are those of the output.
  MapNode(const MapOp& op, const functor::Params& p, Inputs in, const Dims& shape, DType result);
  void save_inputs(Inputs in) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (read_ >> k & 1) saved_[k] = Saved(*in[k]);
    }
  }
  bool reads_inputs() const { return (read_ & 7) != 0; }
  bool reads_output() const { return (read_ & 8) != 0; }
  void save_output(const Tensor& out) { saved_[kInputs] = Saved::output(out); }

  std::string name() const override;
  Saved* saved(std::string_view name) override;
  void release() override;
  Gradients apply(Gradients grads) override;
  void references(ReferenceVisitor& visitor) const override {
    for (const Saved& s : saved_) s.references(visitor);
  }

 private:
  struct Undo {  // of broadcasting and promotion
    Dims shape[kInputs];
    DType dtype[kInputs];
  };

  Tensor one(std::uint32_t k, const Tensor& g, const std::array<Tensor, kInputs>& x,
             const Tensor& y, bool graph) const;

  const MapOp& op_;
  functor::Params params_;
  std::array<Saved, kInputs + 1> saved_;  // inputs, output
  std::uint32_t read_ = 0;                // bit k: input k, bit 3: the output
  bool released_ = false;
  std::unique_ptr<Undo> undo_;
};

}  // namespace treadle
