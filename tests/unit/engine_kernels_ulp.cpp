// Every floating map op against long double: error in ULP over its domain and special values, on
// every ISA this host can run. The bounds are those of the op's Info.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "tests/unit/engine_kernels.h"
#include "tests/unit/special_reference.h"

using namespace kernels_test;
using treadle::functor::is_float;
namespace functor = treadle::functor;
using L = long double;

namespace {

constexpr L kPi = 3.14159265358979323846264338327950288L;

L sigmoid(L x) { return 1 / (1 + std::exp(-x)); }

const std::map<std::string, L (*)(L)>& plain_references() {
  static const std::map<std::string, L (*)(L)> table = {
      {"_abs", [](L x) { return std::fabs(x); }},
      {"neg", [](L x) { return -x; }},
      {"square", [](L x) { return x * x; }},
      {"sign", [](L x) { return std::isnan(x) ? x : L(x > 0) - L(x < 0); }},
      {"reciprocal", [](L x) { return 1 / x; }},
      {"sqrt", [](L x) { return std::sqrt(x); }},
      {"rsqrt", [](L x) { return 1 / std::sqrt(x); }},
      {"exp", [](L x) { return std::exp(x); }},
      {"exp2", [](L x) { return std::exp2(x); }},
      {"expm1", [](L x) { return std::expm1(x); }},
      {"log", [](L x) { return std::log(x); }},
      {"log2", [](L x) { return std::log2(x); }},
      {"log10", [](L x) { return std::log10(x); }},
      {"log1p", [](L x) { return std::log1p(x); }},
      {"sin", [](L x) { return std::sin(x); }},
      {"cos", [](L x) { return std::cos(x); }},
      {"tan", [](L x) { return std::tan(x); }},
      {"asin", [](L x) { return std::asin(x); }},
      {"acos", [](L x) { return std::acos(x); }},
      {"atan", [](L x) { return std::atan(x); }},
      {"sinh", [](L x) { return std::sinh(x); }},
      {"cosh", [](L x) { return std::cosh(x); }},
      {"tanh", [](L x) { return std::tanh(x); }},
      {"asinh", [](L x) { return std::asinh(x); }},
      {"acosh", [](L x) { return std::acosh(x); }},
      {"atanh", [](L x) { return std::atanh(x); }},
      {"erf", [](L x) { return std::erf(x); }},
      {"erfc", [](L x) { return std::erfc(x); }},
      {"sigmoid", sigmoid},
      {"relu", [](L x) { return x < 0 ? L(0) : x; }},
      {"silu", [](L x) { return std::isinf(x) && x < 0 ? std::nanl("") : x * sigmoid(x); }},
      {"_gelu_erf",
       [](L x) {
         return std::isinf(x) && x < 0 ? std::nanl("") : x / 2 * std::erfc(-x / std::sqrt(L(2)));
       }},
      {"_gelu_tanh",
       [](L x) {
         if (std::isinf(x)) return x < 0 ? std::nanl("") : x;
         return x / 2 * (1 + std::tanh(std::sqrt(2 / kPi) * (x + L(0.044715) * x * x * x)));
       }},
      {"softplus", [](L x) { return x > 20 ? x : std::log1p(std::exp(x)); }},
      {"leaky_relu", [](L x) { return x; }},  // slope 1 in kParams
      {"elu", [](L x) { return (x > 0 ? x : std::expm1(x * kParams[2].f)) * kParams[1].f; }},
      {"clamp", [](L x) { return x < 1    ? L(1)
                                 : x > 20 ? L(20)
                                          : x; }},
      {"logsigmoid",
       [](L x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }},
      {"mish", [](L x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"floor", [](L x) { return std::floor(x); }},
      {"ceil", [](L x) { return std::ceil(x); }},
      {"round", [](L x) { return std::nearbyint(x); }},
      {"trunc", [](L x) { return std::trunc(x); }},
      {"frac", [](L x) { return x - std::trunc(x); }},
  };
  return table;
}

// What the op with this name (the schema's) computes; null if it isn't in a table.
L (*reference_of(const std::string& name))(L) {
  for (const auto* table : {&plain_references(), &special_reference::unary()}) {
    const auto at = table->find(name);
    if (at != table->end()) return at->second;
  }
  return nullptr;
}

std::string name_of(const char* schema) {
  const std::string s = schema;
  return s.substr(0, s.find('('));
}

// The reference of an op. One that has none is made of primitives that do: its float kernel is held
// to its own formula in double.
using Reference = L (*)(L);
template <class Op, class V>
Reference reference_of(const std::string& name) {
  if (const Reference known = reference_of(name)) return known;
  if (sizeof(V) == sizeof(double)) return nullptr;
  return [](L x) {
    functor::Params p;
    std::copy(std::begin(kParams), std::end(kParams), p.value);
    return static_cast<L>(functor::eval<Op>(p, static_cast<double>(x)));
  };
}

// Distance in units of the last place of V at the exact value, or at `floor` (Info::floor) if that
// is larger; infinite for a wrong special value.
template <class V>
double ulp_error(V got, L want, double floor = 0) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  const V rounded = static_cast<V>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // One may overflow where the other just doesn't.
    const V max = std::numeric_limits<V>::max();
    return std::fabs(got) >= max && std::fabs(rounded) >= max ? 1 : INFINITY;
  }
  int exponent = 0;
  std::frexp(std::max(std::fabs(rounded), static_cast<V>(floor)), &exponent);
  const int lowest = std::numeric_limits<V>::min_exponent;
  const L ulp = std::ldexp(L(1), std::max(exponent, lowest) - std::numeric_limits<V>::digits);
  return static_cast<double>(std::fabs(static_cast<L>(got) - want) / ulp);
}

// Where an op's test range may be left for special values that the reference knows.
template <class V>
std::vector<V> inputs_for(double low, double high, int count) {
  std::vector<V> x;
  Xorshift random;
  for (int i = 0; i < count; ++i)
    x.push_back(static_cast<V>(low + (high - low) * random.uniform()));
  // Small magnitudes of both signs, densely over the exponents.
  for (int i = 0; i < count / 5; ++i) {
    const double v = std::exp2(-30 + 30 * random.uniform()) * (random.next() & 1 ? 1 : -1);
    if (v >= low && v <= high) x.push_back(static_cast<V>(v));
    const double large = std::exp2(std::log2(std::max(1e-30, std::fabs(high))) * random.uniform());
    if (large >= low && large <= high) x.push_back(static_cast<V>(large));
  }
  return x;
}

template <class V>
std::vector<V> specials() {
  using N = std::numeric_limits<V>;
  const V tiny = N::denorm_min(), inf = N::infinity();
  return {V(0),     -V(0),     V(1),     V(-1),       V(0.5),         V(-0.5), V(1.5),
          V(2.5),   V(-2.5),   inf,      -inf,        N::quiet_NaN(), tiny,    -tiny,
          N::min(), -N::min(), N::max(), N::lowest(), V(2),           V(-2)};
}

}  // namespace

TEMPLATE_TEST_CASE("map ops stay within their ULP bounds", "[kernels][ulp]", float, double) {
  using V = TestType;
  for (const auto& [isa, table] : tables()) {
    for_each_op(functor::Unary{}, [&, t = table, name_isa = isa]<class Op>(int id) {
      if constexpr ((Op::info.kinds & functor::kFloat) != 0 &&
                    Op::info.result != functor::Result::boolean) {
        const std::string name = name_of(Op::info.schema);
        INFO(name_isa << " " << name);
        const Reference reference = reference_of<Op, V>(name);
        if (!reference) return;
        const double bound = sizeof(V) == 4 ? Op::info.ulp32 : Op::info.ulp64;
        const bool slow = special_reference::unary().count(name) != 0;
        const std::vector<V> x =
            inputs_for<V>(Op::info.domain.low, Op::info.domain.high, slow ? 1000 : 20000);
        std::vector<V> y(x.size());
        REQUIRE(call(t->unary[id][row<V>()], static_cast<std::int64_t>(x.size()), y.data(),
                     x.data()) == 0);
        double worst = 0;
        V at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double e = ulp_error(y[i], reference(x[i]), Op::info.floor);
          if (!(e <= worst)) worst = e, at = x[i];
        }
        INFO("worst " << worst << " ULP at " << at);
        CHECK(worst <= std::max(0.5, bound) + 0.01);
      }
    });
  }
}

TEMPLATE_TEST_CASE("map ops give IEEE's results at special values", "[kernels][ulp]", float,
                   double) {
  using V = TestType;
  // Large arguments of trigonometric functions are beyond their stated range; gelu's formula
  // cancels for negative numbers, as PyTorch's does.
  const auto beyond = [](const std::string& name, V x) {
    const bool periodic = name == "sin" || name == "cos" || name == "tan";
    // Airy's function has no digit left there: its phase is of the order of |x|^1.5.
    return ((periodic || name == "special_airy_ai") && std::fabs(x) > 1e15) ||
           (name.starts_with("_gelu") && x < -1);
  };
  for (const auto& [isa, table] : tables()) {
    for_each_op(functor::Unary{}, [&, t = table, name_isa = isa]<class Op>(int id) {
      if constexpr ((Op::info.kinds & functor::kFloat) != 0 &&
                    Op::info.result != functor::Result::boolean) {
        const std::string name = name_of(Op::info.schema);
        const Reference reference = reference_of<Op, V>(name);
        if (!reference) return;
        for (const V x : specials<V>()) {
          if (beyond(name, x) && std::isfinite(x)) continue;
          V y = 0;
          REQUIRE(call(t->unary[id][row<V>()], 1, &y, &x) == 0);
          const L want = reference(x);
          INFO(name_isa << " " << name << "(" << x << ") = " << y << ", expected " << want);
          CHECK(ulp_error(y, want, Op::info.floor) <= std::max(6.0, Op::info.ulp64));
          // The sign of a zero that the reference keeps is kept.
          if (want == 0 && x == 0 && y == 0) CHECK(std::signbit(y) == std::signbit(want));
        }
      }
    });
  }
}

TEST_CASE("map ops keep their bounds over all exponents of float", "[kernels][ulp]") {
  std::vector<float> x;
  Xorshift random;
  for (int e = -149; e < 128; ++e) {
    for (int i = 0; i < 6; ++i) {
      const float v = static_cast<float>(std::ldexp(1 + random.uniform(), e));
      if (std::isfinite(v)) x.push_back(v), x.push_back(-v);
    }
  }
  std::vector<float> y(x.size());
  // Where a function is beyond its range (bounds are stated there in other tests, or not at all).
  const auto beyond = [](const std::string& name, float v) {
    if (name == "sin" || name == "cos" || name == "tan") return std::fabs(v) > 1e6f;
    if (name == "special_airy_ai") return std::fabs(v) > 30;
    if (name == "silu" || name == "mish") return v < -87;  // e^x is subnormal
    if (name == "special_spherical_bessel_j0") return std::fabs(v) > 1e6f;
    return name.starts_with("_gelu") && v < -1;
  };
  for (const auto& [isa, table] : tables()) {
    for_each_op(functor::Unary{}, [&, t = table, name_isa = isa]<class Op>(int id) {
      if constexpr ((Op::info.kinds & functor::kFloat) != 0 &&
                    Op::info.result != functor::Result::boolean) {
        const std::string name = name_of(Op::info.schema);
        const Reference reference = reference_of<Op, float>(name);
        REQUIRE(call(t->unary[id][row<float>()], static_cast<std::int64_t>(x.size()), y.data(),
                     x.data()) == 0);
        double worst = 0;
        float at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (beyond(name, x[i])) continue;
          const double e = ulp_error(y[i], reference(x[i]), Op::info.floor);
          if (!(e <= worst)) worst = e, at = x[i];
        }
        INFO(name_isa << " " << name << ": worst " << worst << " ULP at " << at);
        CHECK(worst <= std::max(1.0, Op::info.ulp32) + 0.01);
      }
    });
  }
}

TEMPLATE_TEST_CASE("sin, cos and tan take arguments of any size", "[kernels][ulp]", float, double) {
  using V = TestType;
  std::vector<V> x;
  Xorshift random;
  const double top = std::log2(static_cast<double>(std::numeric_limits<V>::max())) - 1;
  for (int i = 0; i < 500; ++i) {
    const double v = std::exp2(40 + (top - 40) * random.uniform());
    x.push_back(static_cast<V>(i % 2 ? v : -v));
  }
  x.push_back(std::numeric_limits<V>::max());
  for (const auto& [isa, table] : tables()) {
    const auto check = [&, t = table, name_isa = isa](int id, L (*reference)(L)) {
      std::vector<V> y = x;  // in place
      REQUIRE(call(t->unary[id][row<V>()], static_cast<std::int64_t>(x.size()), y.data(),
                   y.data()) == 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const L want = reference(x[i]);
        INFO(name_isa << " op " << id << " at " << x[i] << ": " << y[i] << ", expected " << want);
        // Absolute error of the reduced argument: 2^-53 (2^-24 for float), tan steepens it.
        const L bound = std::numeric_limits<V>::epsilon() * 4 * (1 + want * want);
        CHECK(std::fabs(y[i] - want) <= bound);
      }
    };
    check(functor::IndexOf<functor::Sin, functor::Unary>::value, [](L v) { return std::sin(v); });
    check(functor::IndexOf<functor::Cos, functor::Unary>::value, [](L v) { return std::cos(v); });
    check(functor::IndexOf<functor::Tan, functor::Unary>::value, [](L v) { return std::tan(v); });
  }
}

TEMPLATE_TEST_CASE("pow, atan2 and the divisions agree with long double", "[kernels][ulp]", float,
                   double) {
  using V = TestType;
  std::vector<V> a, b;
  Xorshift random;
  for (int i = 0; i < 20000; ++i) {
    a.push_back(static_cast<V>(std::exp2(-8 + 16 * random.uniform())));
    b.push_back(static_cast<V>(-12 + 24 * random.uniform()));
    if (i % 3 == 0) b.back() = std::round(b.back());
    if (i % 6 == 0) a.back() = -a.back();
  }
  for (const V x : specials<V>()) {
    for (const V y : specials<V>()) a.push_back(x), b.push_back(y);
  }
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<V> out(a.size());
  const auto worst = [&](auto reference, const char* what) {
    double w = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double e =
          ulp_error(out[i], static_cast<L>(reference(static_cast<L>(a[i]), static_cast<L>(b[i]))));
      if (!(e <= w)) {
        w = e;
        UNSCOPED_INFO(what << "(" << a[i] << ", " << b[i] << ") = " << out[i] << ": " << e
                           << " ULP");
      }
    }
    return w;
  };
  for (const auto& [isa, table] : tables()) {
    INFO(isa);
    const auto run = [&, t = table](int id) {
      REQUIRE(call(t->binary[id][row<V>()], n, out.data(), a.data(), b.data()) == 0);
    };
    run(functor::IndexOf<functor::Pow, functor::Binary>::value);
    CHECK(worst([](L x, L y) { return std::pow(x, y); }, "pow") <= 1.01);
    run(functor::IndexOf<functor::Atan2, functor::Binary>::value);
    CHECK(worst([](L x, L y) { return std::atan2(x, y); }, "atan2") <= 2);
    run(functor::IndexOf<functor::Fmod, functor::Binary>::value);
    CHECK(worst([](L x, L y) { return std::fmod(x, y); }, "fmod") == 0);
    run(functor::IndexOf<functor::Maximum, functor::Binary>::value);
    CHECK(worst([](L x, L y) { return std::isnan(x) || std::isnan(y) ? NAN
                                      : x > y                        ? x
                                                                     : y; },
                "maximum") == 0);
    run(functor::IndexOf<functor::Remainder, functor::Binary>::value);
    CHECK(worst(
              [](L x, L y) {
                const L r = std::fmod(x, y);
                // One rounding in V where the sign is corrected.
                return r != 0 && (r < 0) != (y < 0) ? static_cast<L>(static_cast<V>(r + y)) : r;
              },
              "remainder") <= 0.5);
  }
}

TEMPLATE_TEST_CASE("special functions of two numbers agree with long double", "[kernels][ulp]",
                   float, double) {
  using V = TestType;
  namespace ref = special_reference;
  using ref::Family;
  constexpr int kCount = 1500;
  Xorshift random;
  std::vector<V> a(kCount), b(kCount), out(kCount);
  for (const auto& [isa, table] : tables()) {
    INFO(isa);
    const auto check = [&, t = table]<class Op>(Op, double a_low, double a_high, double b_low,
                                                double b_high, bool degree, auto reference) {
      for (int i = 0; i < kCount; ++i) {
        const auto at = static_cast<std::size_t>(i);
        a[at] = static_cast<V>(a_low + (a_high - a_low) * random.uniform());
        b[at] = static_cast<V>(b_low + (b_high - b_low) * random.uniform());
        if (degree) b[at] = std::floor(b[at]);
      }
      const int id = functor::IndexOf<Op, functor::Binary>::value;
      REQUIRE(call(t->binary[id][row<V>()], kCount, out.data(), a.data(), b.data()) == 0);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        const double e =
            ulp_error(out[i], static_cast<L>(reference(static_cast<L>(a[i]), static_cast<L>(b[i]))),
                      Op::info.floor);
        if (!(e <= worst)) worst = e, at = i;
      }
      INFO(Op::info.schema << ": " << worst << " ULP at " << a[at] << ", " << b[at]);
      CHECK(worst <= (sizeof(V) == 4 ? Op::info.ulp32 : Op::info.ulp64));
    };
    const auto lower = [](L x, L y) { return ref::gamma_part(x, y, false); };
    const auto upper = [](L x, L y) { return ref::gamma_part(x, y, true); };
    check(functor::Xlogy{}, -10, 10, 0, 10, false, [](L x, L y) { return x * std::log(y); });
    check(functor::Xlog1py{}, -10, 10, -1, 10, false, [](L x, L y) { return x * std::log1p(y); });
    check(functor::Zeta{}, 1.01, 12, 0.01, 20, false, ref::zeta);
    for (const double top : {2.0, 30.0, 200.0}) {
      check(functor::Igamma{}, 0.01, top, 0.01, top, false, lower);
      check(functor::Igammac{}, 0.01, top, 0.01, top, false, upper);
    }
    // Degrees for which the numbers that cancel stay small.
    const auto polynomial = [&]<class Op>(Op op, Family family, double low, double high,
                                          auto first) {
      const bool hermite = family == Family::hermite || family == Family::hermite_e;
      check(op, low, high, 0, hermite ? 9 : 24, true,
            [=](L x, L n) { return ref::polynomial(family, x, static_cast<int>(n), first(x)); });
    };
    const auto t1 = [](L x) { return x; };
    const auto u1 = [](L x) { return 2 * x; };
    const auto v1 = [](L x) { return 2 * x - 1; };
    const auto w1 = [](L x) { return 2 * x + 1; };
    polynomial(functor::ChebyshevT{}, Family::chebyshev, -1.2, 1.2, t1);
    polynomial(functor::ChebyshevU{}, Family::chebyshev, -1.2, 1.2, u1);
    polynomial(functor::ChebyshevV{}, Family::chebyshev, -1.2, 1.2, v1);
    polynomial(functor::ChebyshevW{}, Family::chebyshev, -1.2, 1.2, w1);
    polynomial(functor::HermiteH{}, Family::hermite, -1, 1, u1);
    polynomial(functor::HermiteHe{}, Family::hermite_e, -1, 1, t1);
    polynomial(functor::LaguerreL{}, Family::laguerre, -1, 4, [](L x) { return 1 - x; });
    polynomial(functor::LegendreP{}, Family::legendre, -1, 1, t1);
  }
}
