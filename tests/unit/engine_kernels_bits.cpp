// Same bits for every ISA, length, offset, stride and number of threads.
#include <catch2/catch.hpp>
#include <cstring>

#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/pool.h"
#include "engine/backend/cpu/reduce.h"
#include "tests/unit/engine_kernels.h"

using namespace kernels_test;
namespace functor = treadle::functor;

namespace {

template <class V>
std::vector<V> numbers(std::size_t n) {
  Xorshift random;
  std::vector<V> x(n);
  for (V& v : x) {
    if constexpr (functor::is_float<V>) {
      v = static_cast<V>((random.uniform() - 0.4) * 8);
    } else {
      v = static_cast<V>(random.next() % 5 + 1);
    }
  }
  return x;
}

template <class V>
bool same(const std::vector<V>& a, const std::vector<V>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0;
}

constexpr int kMax = 131;

// One map kernel: reference run dense over kMax; then every length, three offsets, strides.
template <class V, class Out>
void check_map(MapFn fn, MapFn reference_fn, int inputs) {
  const std::vector<V> x = numbers<V>(3 * kMax + 8);
  std::vector<Out> want(kMax);
  const auto run = [&](MapFn f, std::int64_t n, Out* out, std::int64_t out_stride,
                       std::int64_t offset, std::int64_t stride) {
    MapArgs a{};
    a.size[0] = n, a.size[1] = 1;
    a.out = reinterpret_cast<char*>(out),
    a.out_stride[0] = out_stride * static_cast<std::int64_t>(sizeof(Out));
    for (int k = 0; k < inputs; ++k) {
      a.in[k] = reinterpret_cast<const char*>(x.data() + offset + k);
      a.in_stride[k][0] = stride * static_cast<std::int64_t>(sizeof(V));
    }
    for (int p = 0; p < 4; ++p) a.param[p] = kParams[p];
    REQUIRE(f(a) == 0);
  };
  for (std::int64_t offset = 0; offset < 3; ++offset) {
    run(reference_fn, kMax, want.data(), 1, offset, 1);
    for (std::int64_t n = 0; n < kMax; ++n) {
      std::vector<Out> got(kMax + 1, Out{}), expected(kMax + 1, Out{});
      std::memcpy(expected.data(), want.data(), static_cast<std::size_t>(n) * sizeof(Out));
      run(fn, n, got.data(), 1, offset, 1);
      if (!same(got, expected)) FAIL("length " << n << ", offset " << offset);
    }
  }
  // Elements 0, 2, 4, ... in and out: the same as a dense copy of them.
  std::vector<Out> strided(2 * kMax, Out{});
  run(reference_fn, 1, want.data(), 1, 0, 1);
  run(fn, kMax, strided.data(), 2, 0, 2);
  for (std::int64_t i = 0; i < kMax; ++i) {
    Out one{};
    run(reference_fn, 1, &one, 1, 2 * i, 1);
    if (std::memcmp(&one, &strided[static_cast<std::size_t>(2 * i)], sizeof(Out)) != 0) {
      FAIL("stride 2, element " << i);
    }
  }
}

template <class V>
void check_table(const Table& t, const Table& reference, const std::string& isa) {
  for_each_op(functor::Unary{}, [&]<class Op>(int id) {
    INFO(isa << " " << Op::info.schema);
    if (reference.unary[id][row<V>()]) {
      if constexpr (Op::info.result == functor::Result::boolean) {
        check_map<V, std::uint8_t>(t.unary[id][row<V>()], reference.unary[id][row<V>()], 1);
      } else {
        check_map<V, V>(t.unary[id][row<V>()], reference.unary[id][row<V>()], 1);
      }
    }
    if (reference.unary_grad[id][row<V>()]) {
      check_map<V, V>(t.unary_grad[id][row<V>()], reference.unary_grad[id][row<V>()], 3);
    }
  });
  for_each_op(functor::Binary{}, [&]<class Op>(int id) {
    INFO(isa << " " << Op::info.schema);
    if (reference.binary[id][row<V>()]) {
      check_map<V, V>(t.binary[id][row<V>()], reference.binary[id][row<V>()], 2);
    }
    for (int k = 0; k < 2; ++k) {
      if (reference.binary_grad[k][id][row<V>()]) {
        check_map<V, V>(t.binary_grad[k][id][row<V>()], reference.binary_grad[k][id][row<V>()], 4);
      }
    }
  });
  for_each_op(functor::Compare{}, [&]<class Op>(int id) {
    INFO(isa << " " << Op::info.schema);
    check_map<V, std::uint8_t>(t.compare[id][row<V>()], reference.compare[id][row<V>()], 2);
  });
}

struct Threads {
  explicit Threads(int n) : before(treadle::get_num_threads()) { treadle::set_num_threads(n); }
  ~Threads() { treadle::set_num_threads(before); }
  int before;
};

}  // namespace

TEMPLATE_TEST_CASE("map kernels give the same bits everywhere", "[kernels][bits]", float, double,
                   std::int64_t, std::uint8_t) {
  const auto all = tables();
  const Table& reference = *all.back().second;  // the plain ISA comes last
  for (const auto& [isa, table] : all) check_table<TestType>(*table, reference, isa);
}

TEMPLATE_TEST_CASE("sums have one tree for all layouts, ISAs and threads", "[kernels][bits]", float,
                   double) {
  using V = TestType;
  const int sum = functor::IndexOf<functor::Sum, functor::Reduce>::value;
  for (const std::int64_t count :
       {0, 1, 15, 16, 17, 1000, 1024, 1025, 5000, 32768, 70000, 200001}) {
    const std::vector<V> x = numbers<V>(static_cast<std::size_t>(count) * 3 + 3);
    V want{};
    treadle::kernel::ReduceArgs a{};
    a.outer = 1, a.count = count;
    a.in = reinterpret_cast<const char*>(x.data()), a.in_reduce = sizeof(V), a.in_outer = sizeof(V);
    a.out = reinterpret_cast<char*>(&want), a.out_stride = sizeof(V);
    tables().back().second->reduce[sum][row<V>()](a);
    double exact = 0;
    for (std::int64_t i = 0; i < count; ++i)
      exact += static_cast<double>(x[static_cast<std::size_t>(i)]);
    CHECK(static_cast<double>(want) == Approx(exact).epsilon(1e-5).margin(1e-2));
    std::vector<V> wide(static_cast<std::size_t>(count) * 3 + 3);
    for (std::int64_t i = 0; i < count; ++i) {
      for (int c = 0; c < 3; ++c)
        wide[static_cast<std::size_t>(3 * i + c)] = x[static_cast<std::size_t>(i)];
    }
    for (const auto& [isa, table] : tables()) {
      INFO(isa << " count " << count);
      V dense{};
      a.out = reinterpret_cast<char*>(&dense);
      table->reduce[sum][row<V>()](a);
      CHECK(std::memcmp(&dense, &want, sizeof(V)) == 0);
      V columns[3] = {};
      treadle::kernel::ReduceArgs c = a;
      c.in = reinterpret_cast<const char*>(wide.data());
      c.outer = 3, c.in_reduce = 3 * sizeof(V), c.out = reinterpret_cast<char*>(columns);
      table->reduce[sum][row<V>()](c);
      for (const V v : columns) CHECK(std::memcmp(&v, &want, sizeof(V)) == 0);
    }
    for (const int threads : {1, 2, 5}) {
      const Threads scope(threads);
      V cut{};
      a.out = reinterpret_cast<char*>(&cut);
      treadle::reduce(sum, dtype_of<V>(), a);
      INFO(threads << " threads, count " << count);
      CHECK(std::memcmp(&cut, &want, sizeof(V)) == 0);
    }
  }
}

TEST_CASE("max and argmax name the first of the largest, NaN first", "[kernels]") {
  const int max = functor::IndexOf<functor::Max, functor::Reduce>::value;
  const int argmin = functor::IndexOf<functor::ArgMin, functor::Reduce>::value;
  std::vector<float> x(100000, 1.0f);
  const auto run = [&](int id, float* value, std::int64_t* index) {
    treadle::kernel::ReduceArgs a{};
    a.outer = 1, a.count = static_cast<std::int64_t>(x.size());
    a.in = reinterpret_cast<const char*>(x.data()), a.in_reduce = sizeof(float);
    a.out = value ? reinterpret_cast<char*>(value) : reinterpret_cast<char*>(index);
    a.index = value ? reinterpret_cast<char*>(index) : nullptr;
    treadle::reduce(id, DType::float32, a);
  };
  float value = 0;
  std::int64_t at = -1;
  run(max, &value, &at);
  CHECK((value == 1.0f && at == 0));
  x[70000] = 2, x[90000] = 2, x[50000] = -3;
  run(max, &value, &at);
  CHECK((value == 2.0f && at == 70000));
  run(argmin, nullptr, &at);
  CHECK(at == 50000);
  x[80000] = x[95000] = NAN;
  run(max, &value, &at);
  CHECK((value != value && at == 80000));
  run(argmin, nullptr, &at);
  CHECK(at == 80000);
}

TEMPLATE_TEST_CASE("gemm agrees with the plain triple loop for any strides", "[kernels][gemm]",
                   float, double, std::int64_t, std::uint8_t) {
  using V = TestType;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {3, 5, 7},
                                                                        {4, 16, 300},
                                                                        {33, 17, 65},
                                                                        {130, 70, 40},
                                                                        {1, 200, 64},
                                                                        {200, 1, 64},
                                                                        {5, 4, 0},
                                                                        {300, 300, 50}}) {
    for (int form = 0; form < 8; ++form) {
      const auto a = numbers<V>(static_cast<std::size_t>(m * k * 2 + 1));
      const auto b = numbers<V>(static_cast<std::size_t>(k * n * 2 + 1));
      std::vector<V> c = numbers<V>(static_cast<std::size_t>(m * n)), want = c;
      constexpr std::int64_t s = sizeof(V);
      treadle::kernel::GemmArgs g{};
      g.m = m, g.n = n, g.k = k;
      g.a = reinterpret_cast<const char*>(a.data()), g.b = reinterpret_cast<const char*>(b.data());
      g.c = reinterpret_cast<char*>(c.data());
      g.a_row = form & 1 ? s : k * s, g.a_col = form & 1 ? m * s : s;
      g.b_row = form & 2 ? s : n * s, g.b_col = form & 2 ? k * s : s;
      if (form == 6) g.a_row = 2 * k * s, g.a_col = 2 * s;  // no dense axis at all
      g.c_row = form & 4 ? s : n * s, g.c_col = form & 4 ? m * s : s;
      const bool add = form & 1;
      g.alpha = {2, 2, 0}, g.beta = add ? Param{3, 3, 0} : Param{0, 0, 0};
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          long double sum = 0;
          std::uint64_t whole = 0;
          for (std::int64_t p = 0; p < k; ++p) {
            const V x = a[static_cast<std::size_t>((i * g.a_row + p * g.a_col) / s)];
            const V y = b[static_cast<std::size_t>((p * g.b_row + j * g.b_col) / s)];
            if constexpr (functor::is_float<V>) {
              sum += static_cast<long double>(x) * static_cast<long double>(y);
            } else {
              whole += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
            }
          }
          V& w = want[static_cast<std::size_t>((i * g.c_row + j * g.c_col) / s)];
          if constexpr (functor::is_float<V>) {
            w = static_cast<V>(2 * sum + (add ? 3 * static_cast<long double>(w) : 0));
          } else {
            w = static_cast<V>(2 * whole + (add ? 3 * static_cast<std::uint64_t>(w) : 0));
          }
        }
      }
      const std::vector<V> start = c;
      std::vector<V> alone;
      for (const int threads : {1, 2}) {
        const Threads scope(threads);
        std::copy(start.begin(), start.end(), c.begin());
        treadle::gemm(dtype_of<V>(), g);
        if (alone.empty()) alone = c;
        CHECK(same(alone, c));  // any number of threads: the same bits
        double worst = 0;
        for (std::size_t i = 0; i < c.size(); ++i) {
          worst =
              std::max(worst, std::abs(static_cast<double>(c[i]) - static_cast<double>(want[i])));
        }
        INFO(m << "x" << n << "x" << k << " form " << form << " threads " << threads);
        CHECK(worst <= (functor::is_float<V> ? (sizeof(V) == 4 ? 2e-3 : 1e-10) : 0));
      }
    }
  }
}

TEST_CASE("integer divisions follow PyTorch", "[kernels]") {
  const auto run = [](int id, std::int64_t a, std::int64_t b, std::uint32_t* status = nullptr) {
    std::int64_t out = -99;
    const std::uint32_t s = call(treadle::table().binary[id][row<std::int64_t>()], 1, &out, &a, &b);
    if (status) *status = s;
    return out;
  };
  constexpr int floor_divide = functor::IndexOf<functor::FloorDivide, functor::Binary>::value;
  constexpr int remainder = functor::IndexOf<functor::Remainder, functor::Binary>::value;
  constexpr int fmod = functor::IndexOf<functor::Fmod, functor::Binary>::value;
  constexpr int trunc = functor::IndexOf<functor::DivTrunc, functor::Binary>::value;
  constexpr int pow = functor::IndexOf<functor::Pow, functor::Binary>::value;
  CHECK(run(floor_divide, -7, 2) == -4);
  CHECK(run(floor_divide, 7, -2) == -4);
  CHECK(run(trunc, -7, 2) == -3);
  CHECK(run(remainder, -7, 3) == 2);
  CHECK(run(remainder, 7, -3) == -2);
  CHECK(run(fmod, -7, 3) == -1);
  CHECK(run(floor_divide, INT64_MIN, -1) == INT64_MIN);
  CHECK(run(remainder, INT64_MIN, -1) == 0);
  CHECK(run(pow, 3, 4) == 81);
  CHECK(run(pow, 2, -1) == 0);
  CHECK(run(pow, -1, -3) == -1);
  for (const int id : {floor_divide, remainder, fmod, trunc}) {
    std::uint32_t status = 0;
    run(id, 1, 0, &status);
    CHECK(status == treadle::kernel::kDivisionByZero);
  }
}

TEST_CASE("casts are defined for every float", "[kernels]") {
  const double x[] = {300.7, -1.0, 1e300, -1e300, NAN, -0.0, 255.9};
  std::int64_t i[7];
  std::uint8_t u[7], b[7];
  const auto& cast = treadle::table().cast[row<double>()];
  REQUIRE(call(cast[row<std::int64_t>()], 7, i, x) == 0);
  REQUIRE(call(cast[row<std::uint8_t>()], 7, u, x) == 0);
  REQUIRE(call(cast[row<bool>()], 7, b, x) == 0);
  CHECK(std::vector<std::int64_t>(i, i + 7) ==
        std::vector<std::int64_t>{300, -1, INT64_MIN, INT64_MIN, INT64_MIN, 0, 255});
  CHECK(std::vector<int>(u, u + 7) == std::vector<int>{44, 255, 0, 0, 0, 0, 255});
  CHECK(std::vector<int>(b, b + 7) == std::vector<int>{1, 1, 1, 1, 1, 0, 1});
}

TEST_CASE("an index out of range is reported before anything is touched", "[kernels]") {
  std::vector<float> data = {0, 1, 2, 3}, values = {9, 9, 9};
  const std::int64_t index[] = {-1, 4, 0};
  treadle::kernel::IndexArgs a{};
  a.count = 3, a.indices = 1;
  a.index[0] = reinterpret_cast<const char*>(index), a.index_stride[0] = 8;
  a.size[0] = 4, a.step[0] = 4, a.inner = 1;
  a.data = reinterpret_cast<char*>(data.data());
  a.values = reinterpret_cast<char*>(values.data()), a.values_stride = 4;
  CHECK(treadle::table().index_get[row<float>()](a) == 1 * treadle::kernel::kMaxIndices);
  CHECK((values[0] == 3 && values[1] == 9));
  a.count = 1;
  values[0] = 5;
  CHECK(treadle::table().index_add[row<float>()](a) == -1);
  CHECK(data[3] == 8);
}
