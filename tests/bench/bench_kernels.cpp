// Map kernels of each ISA against plain loops over std::'s functions: elements per second and the
// ratio. Prints one line per op; run by hand (bench_kernels [ISA]), not by ci/test: timings are no
// tests.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "engine/backend/cpu/dispatch.h"
#include "engine/functor/all.h"

namespace functor = treadle::functor;
using treadle::kernel::MapArgs;

namespace {

constexpr std::int64_t kCount = 1 << 16;  // 256 KiB of float: in L2

// Best of several runs, elements per second.
template <class Fn>
double rate(const Fn& fn) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return static_cast<double>(kCount) / best;
}

template <class Op>
void compare(const treadle::kernel::Table& table, const char* name, float (*reference)(float)) {
  std::vector<float> x(kCount), y(kCount);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f + static_cast<float>(i % 1000) * 1e-3f;
  MapArgs args{};
  args.size[0] = kCount, args.size[1] = 1;
  args.out = reinterpret_cast<char*>(y.data()), args.out_stride[0] = sizeof(float);
  args.in[0] = reinterpret_cast<const char*>(x.data()), args.in_stride[0][0] = sizeof(float);
  const auto kernel = table.unary[functor::IndexOf<Op, functor::Unary>::value]
                                 [static_cast<int>(treadle::DType::float32)];
  const double ours = rate([&] { kernel(args); });
  const double std_rate = rate([&] { std::transform(x.begin(), x.end(), y.begin(), reference); });
  std::printf("%-8s %8.3f G/s   std:: %8.3f G/s   %6.1fx\n", name, ours / 1e9, std_rate / 1e9,
              ours / std_rate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const treadle::IsaInfo& isa : treadle::compiled_isas()) {
    if (!isa.usable || (argc > 1 && isa.name != argv[1])) continue;
    std::printf("%s, float32, %lld elements, one thread\n", std::string(isa.name).c_str(),
                static_cast<long long>(kCount));
    const auto& table = treadle::table_of(isa.name);
    compare<functor::Tanh>(table, "tanh", [](float x) { return std::tanh(x); });
    compare<functor::Exp>(table, "exp", [](float x) { return std::exp(x); });
    compare<functor::Log>(table, "log", [](float x) { return std::log(x); });
    compare<functor::Sin>(table, "sin", [](float x) { return std::sin(x); });
    compare<functor::Erf>(table, "erf", [](float x) { return std::erf(x); });
    compare<functor::Sigmoid>(table, "sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); });
    compare<functor::Atan>(table, "atan", [](float x) { return std::atan(x); });
    compare<functor::Floor>(table, "floor", [](float x) { return std::floor(x); });
  }
  return 0;
}
