// PyTorch's CPU streams. The numbers below are what PyTorch 2.15 gives after manual_seed(1234).
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/backend/cpu/random.h"
#include "engine/core/error.h"

using treadle::DType;
using treadle::RandomState;

namespace {

const std::vector<float> kRand32 = {
    0x1.dacbc00000000p-6f, 0x1.9b8b4c0000000p-2f, 0x1.0a14980000000p-2f,
    0x1.7770d40000000p-2f, 0x1.dd99800000000p-5f, 0x1.66bae80000000p-1f,
    0x1.a853000000000p-5f, 0x1.df5fe40000000p-2f, 0x1.58fd1e0000000p-1f};
const std::vector<double> kRand64 = {0x1.dacbdfd9b8b4cp-3, 0x1.429368aeee1a8p-4,
                                     0x1.dd9993966bae8p-2, 0x1.a85318aefaff2p-2,
                                     0x1.8fd1fb8a9b562p-2};
const std::vector<float> kUniform32 = {-0x1.dae8140000000p+0f, 0x1.370f800000000p-7f,
                                       -0x1.66cc840000000p-1f, -0x1.5597b80000000p-3f,
                                       -0x1.b560040000000p+0f, 0x1.80d3440000000p+0f};
const std::vector<double> kUniform64 = {0x1.f3f42fbeed334p-2, -0x1.08159e8dace56p-5,
                                        0x1.4928f0a641edfp+0, 0x1.1be03b61888c1p+0,
                                        0x1.070c15cf6a6fap+0, 0x1.3bd4eb6507d7ep-1};
const std::vector<float> kNormalShort32 = {
    0x1.79e6980000000p-5f,  0x1.9c0f7c0000000p-2f, -0x1.02f3920000000p+0f, 0x1.bbe1420000000p-3f,
    -0x1.397bdc0000000p-1f, 0x1.01d9440000000p-1f, 0x1.d905200000000p-3f};
const std::vector<double> kNormalShort64 = {0x1.179e697264219p+0, 0x1.ce07be424e16cp+0,
                                            -0x1.05e72453e1310p+0, 0x1.6ef8505e4c267p+0,
                                            -0x1.cbdee47e28f18p-3};
const std::vector<float> kNormal32 = {
    -0x1.c999680000000p-4f, -0x1.fc821e0000000p-2f, 0x1.4df9960000000p-3f,  -0x1.9a34680000000p+0f,
    0x1.2809180000000p-2f,  0x1.f5a0b40000000p-2f,  -0x1.8a856e0000000p-2f, -0x1.6c8fcc0000000p-1f,
    0x1.46196a0000000p-1f,  -0x1.6d9be80000000p-1f, -0x1.1547a40000000p+0f, 0x1.f853020000000p-3f,
    -0x1.5326e00000000p+0f, 0x1.64daa20000000p-1f,  -0x1.537bcc0000000p-1f, 0x1.373bd80000000p+0f,
    -0x1.437fb80000000p+1f, 0x1.7a50120000000p+0f,  -0x1.5b63a20000000p-3f};
const std::vector<double> kNormal64 = {
    -0x1.69b7d46e0a142p-4, 0x1.5e42075054d76p-2,  0x1.a5093d2e85c6dp-2,  -0x1.38b710004e8e4p-1,
    0x1.3359798f1836ap-1,  -0x1.c0f6289e92a35p-1, 0x1.ee06d64fa6fc4p-1,  -0x1.8a5bac0d82aa4p-3,
    0x1.d648599c2eaa7p-4,  -0x1.8fc4b866cc221p-3, -0x1.0afc223f80a44p-1, 0x1.4febd76572d19p+0,
    -0x1.1f3ff3249833ep-1, 0x1.85253b6976766p-3,  -0x1.53e55cbd9de87p-3, 0x1.d2424d32f914fp-1,
    -0x1.76cbb64fa89edp-2, 0x1.5d3f69a88e1ebp-4,  0x1.002631ec57193p+0};
const std::vector<std::int64_t> kRandint = {385, 91, 586, 795, 951, 959, 892, 205};
const std::vector<std::int64_t> kRandintWide = {203984846263, 166669160343, 878765609683,
                                                656082113962, 617811442742, 99408361919};
const std::vector<std::int64_t> kRandomInt64 = {3532910284440527571, 2252509165406510133,
                                                8074651545468362100, 5263936763381405689};
const std::vector<int> kRandomUint8 = {47, 211, 38, 53, 204, 116, 152, 249};
const std::vector<float> kRandomFloat = {0x1.dabf800000000p+18f, 0x1.9b89500000000p+22f,
                                         0x1.0a121c0000000p+22f, 0x1.776d900000000p+22f};
const std::vector<std::int64_t> kRandperm = {3, 1, 8, 5, 2, 6, 0, 7, 11, 9, 4, 10};
const std::vector<int> kBernoulli = {1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1,
                                     0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0};
const std::vector<int> kBernoulliEach = {1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0,
                                         0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0};
const std::vector<float> kAfter1000 = {0x1.2a7eb40000000p-2f, 0x1.df693a0000000p-1f,
                                       0x1.939b8e0000000p-1f};
const std::vector<float> kWideSeed = {0x1.11e15e0000000p-1f, 0x1.9726200000000p-3f,
                                      0x1.5184320000000p-1f};

RandomState seeded(std::uint64_t seed = 1234) {
  RandomState state;
  state.reseed(seed);
  return state;
}

template <class T>
std::vector<T> made(std::size_t n, auto&& fill) {
  std::vector<T> out(n);
  fill(reinterpret_cast<char*>(out.data()), static_cast<std::int64_t>(n));
  return out;
}

template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return worst;
}

}  // namespace

TEST_CASE("uniform numbers have PyTorch's bits", "[random]") {
  RandomState s = seeded();
  CHECK(made<float>(9, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float32, p, n, 0, 1);
        }) == kRand32);
  s.reseed(1234);
  CHECK(made<double>(5, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float64, p, n, 0, 1);
        }) == kRand64);
  s.reseed(1234);
  CHECK(made<float>(6, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float32, p, n, -2, 3);
        }) == kUniform32);
  s.reseed(1234);
  CHECK(made<double>(6, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float64, p, n, -0.3, 3.1);
        }) == kUniform64);
  s.reseed((std::uint64_t{1} << 33) + 7);
  CHECK(made<float>(3, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float32, p, n, 0, 1);
        }) == kWideSeed);
}

TEST_CASE("a restored stream goes on where it was saved", "[random]") {
  RandomState s = seeded();
  made<float>(1000, [&](char* p, auto n) { treadle::fill_uniform(s, DType::float32, p, n, 0, 1); });
  treadle::Mt19937 copy(1);
  copy.restore(s.engine.words(), s.engine.next());
  s.reseed(99);
  s.engine = copy;
  CHECK(made<float>(3, [&](char* p, auto n) {
          treadle::fill_uniform(s, DType::float32, p, n, 0, 1);
        }) == kAfter1000);
}

TEST_CASE("normal numbers follow PyTorch's short and block paths", "[random]") {
  RandomState s = seeded();
  std::vector<float> short32 =
      made<float>(5, [&](char* p, auto n) { treadle::fill_normal(s, DType::float32, p, n, 0, 1); });
  for (const float x : made<float>(
           2, [&](char*p, auto n) { treadle::fill_normal(s, DType::float32, p, n, 0, 1); })) {
    short32.push_back(x);  // begins with the second number of the last pair
  }
  CHECK(distance(short32, kNormalShort32) <= 2e-7);
  s.reseed(1234);
  CHECK(distance(
            made<double>(
                5, [&](char* p, auto n) { treadle::fill_normal(s, DType::float64, p, n, 1, 2); }),
            kNormalShort64) <= 1e-15);
  s.reseed(1234);
  CHECK(distance(
            made<float>(
                19, [&](char* p, auto n) { treadle::fill_normal(s, DType::float32, p, n, 0, 1); }),
            kNormal32) <= 1e-6);
  s.reseed(1234);
  CHECK(distance(
            made<double>(
                19, [&](char* p, auto n) { treadle::fill_normal(s, DType::float64, p, n, 0, 1); }),
            kNormal64) <= 1e-15);
}

TEST_CASE("integers, permutations and bernoulli have PyTorch's bits", "[random]") {
  RandomState s = seeded();
  CHECK(made<std::int64_t>(8, [&](char* p, auto n) {
          treadle::fill_randint(s, DType::int64, p, n, -5, 1005);
        }) == kRandint);
  s.reseed(1234);
  CHECK(made<std::int64_t>(6, [&](char* p, auto n) {
          treadle::fill_randint(s, DType::int64, p, n, -5, (std::uint64_t{1} << 40) + 5);
        }) == kRandintWide);
  s.reseed(1234);
  CHECK(made<std::int64_t>(4, [&](char* p, auto n) {
          treadle::fill_random(s, DType::int64, p, n);
        }) == kRandomInt64);
  s.reseed(1234);
  const auto bytes =
      made<std::uint8_t>(8, [&](char* p, auto n) { treadle::fill_random(s, DType::uint8, p, n); });
  CHECK(std::vector<int>(bytes.begin(), bytes.end()) == kRandomUint8);
  s.reseed(1234);
  CHECK(made<float>(4, [&](char* p, auto n) { treadle::fill_random(s, DType::float32, p, n); }) ==
        kRandomFloat);
  s.reseed(1234);
  std::vector<std::int64_t> order(12);
  treadle::fill_randperm(s, order.data(), 12);
  CHECK(order == kRandperm);
  s.reseed(1234);
  const auto coins = made<std::uint8_t>(
      24, [&](char* p, auto n) { treadle::fill_bernoulli(s, DType::boolean, p, n, 0.3); });
  CHECK(std::vector<int>(coins.begin(), coins.end()) == kBernoulli);
  s.reseed(1234);
  const std::vector<float> p(24, 0.3f);
  const auto each = made<std::uint8_t>(24, [&](char* out, auto n) {
    CHECK(treadle::fill_bernoulli_each(s, DType::float32, reinterpret_cast<const char*>(p.data()),
                                       DType::uint8, out, n) == -1);
  });
  CHECK(std::vector<int>(each.begin(), each.end()) == kBernoulliEach);
}

TEST_CASE("wrong requests are refused", "[random]") {
  RandomState s = seeded();
  std::int64_t x = 0;
  const std::vector<float> p = {0.5f, 1.5f};
  std::uint8_t out[2];
  CHECK_THROWS_AS(treadle::fill_uniform(s, DType::int64, reinterpret_cast<char*>(&x), 1, 0, 1),
                  treadle::Error);
  CHECK(treadle::fill_bernoulli_each(s, DType::float32, reinterpret_cast<const char*>(p.data()),
                                     DType::uint8, reinterpret_cast<char*>(out), 2) == 1);
}
