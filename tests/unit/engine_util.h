// Helpers of the engine's tests: the error of an expression, tensors from values, and derivatives
// against finite differences.
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/treadle.h"

namespace treadle::test {

// The message of the Error that f throws; fails the test if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  FAIL("expected an Error");
  return "";
}

inline std::vector<double> values(const Tensor& t) {
  const Tensor flat = reshape(to(detach(t), DType::float64), {-1});
  const Tensor dense = contiguous(flat);
  return {dense.data_as<double>(), dense.data_as<double>() + dense.numel()};
}

inline Tensor f64(std::initializer_list<double> v, const Dims& shape) {
  return from_values(std::span<const double>(v.begin(), v.size()), shape, DType::float64);
}

inline Tensor leaf(const Tensor& t) {
  const Tensor x = detach(clone(t));
  x.set_requires_grad(true);
  return x;
}

// Fixed numbers that look random, in (low, high), no two equal.
inline Tensor numbers(const Dims& shape, double low = -1, double high = 1, int seed = 1) {
  const Tensor t = empty(shape, DType::float64);
  std::uint64_t s = static_cast<std::uint64_t>(seed) * 0x9E3779B97F4A7C15u;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    t.data_as<double>()[i] = low + (high - low) * static_cast<double>(s >> 11) * 0x1p-53;
  }
  return t;
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Largest difference between the gradients of sum(f(x) * w) and central differences, relative to 1
// + |gradient|.
inline double gradient_error(const Function& f, const std::vector<Tensor>& inputs,
                             double eps = 1e-6) {
  std::vector<Tensor> x;
  for (const Tensor& t : inputs) x.push_back(leaf(t));
  const Tensor y = f(x);
  const Tensor w = numbers(y.shape(), 0.5, 1.5, 7);
  const std::vector<Tensor> loss{sum(mul(y, w))};
  // What is constant between jumps gives constants: no graph, so a gradient of 0.
  const std::vector<Tensor> g =
      loss[0].requires_grad() ? grad(loss, x, {}, {}, true) : std::vector<Tensor>(x.size());
  const NoGrad off;
  double worst = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::vector<double> have =
        g[k].defined() ? values(g[k])
                       : std::vector<double>(static_cast<std::size_t>(x[k].numel()), 0);
    std::vector<Tensor> moved;
    for (const Tensor& t : inputs) moved.push_back(contiguous(clone(t)));
    for (std::int64_t i = 0; i < x[k].numel(); ++i) {
      double& v = moved[k].data_as<double>()[i];
      const double old = v;
      v = old + eps;
      const double up = sum(mul(f(moved), w)).item();
      v = old - eps;
      const double down = sum(mul(f(moved), w)).item();
      v = old;
      const double want = (up - down) / (2 * eps);
      worst = std::max(worst,
                       std::abs(want - have[static_cast<std::size_t>(i)]) / (1 + std::abs(want)));
    }
  }
  return worst;
}

// The same for the gradients of sum(f(x)^2 w) as functions of the inputs.
inline double second_gradient_error(const Function& f, const std::vector<Tensor>& inputs) {
  const Function gradients = [&](const std::vector<Tensor>& x) {
    const GradMode on(true);
    std::vector<Tensor> tracked;
    for (const Tensor& t : x) tracked.push_back(t.requires_grad() ? t : leaf(t));
    const Tensor y = f(tracked);
    const std::vector<Tensor> loss{sum(mul(square(y), numbers(y.shape(), 0.5, 1.5, 9)))};
    BackwardOptions options;
    options.create_graph = true;
    std::vector<Tensor> flat;
    for (const Tensor& g : grad(loss, tracked, {}, options, true)) {
      if (g.defined()) flat.push_back(reshape(square(g), {-1}));
    }
    return cat(flat);
  };
  return gradient_error(gradients, inputs, 1e-5);
}

}  // namespace treadle::test
