// Promotion against tables recorded from PyTorch 2.15 (torch.promote_types and torch.result_type
// over all dtypes; -1: PyTorch raises, or gives a dtype that the engine lacks). Where PyTorch has
// no common dtype for uint16, uint32 and uint64 the values are the array API standard's.
#include "engine_util.h"

using namespace treadle;
using namespace treadle::test;

namespace {

constexpr int kPromote[16][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {1, 1, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 3, 2, 3, 4, 5, 4, 5, -1, 9, 10, 11, 12, 13, 14, 15},
    {3, 3, 3, 3, 4, 5, 4, 5, -1, 9, 10, 11, 12, 13, 14, 15},
    {4, 4, 4, 4, 4, 5, 4, 5, -1, 9, 10, 11, 12, 13, 14, 15},
    {5, 5, 5, 5, 5, 5, 5, 5, -1, 9, 10, 11, 12, 13, 14, 15},
    {6, 6, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {7, 7, 5, 5, 5, 5, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {8, 8, -1, -1, -1, -1, 8, 8, 8, 9, 10, 11, 12, 13, 14, 15},
    {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 11, 11, 12, 13, 14, 15},
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 10, 11, 12, 14, 14, 15},
    {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12, 14, 14, 15},
    {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 15, 15, 15},
    {13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 14, 14, 15, 13, 14, 15},
    {14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 14, 14, 15},
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
};
// A tensor with dimensions and a 0-d tensor.
constexpr int kZeroDim[16][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 10, 11, 12, 13, 14, 15},
    {2, 2, 2, 2, 2, 2, 2, 2, 2, 9, 10, 11, 12, 13, 14, 15},
    {3, 3, 3, 3, 3, 3, 3, 3, 3, 9, 10, 11, 12, 13, 14, 15},
    {4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 10, 11, 12, 13, 14, 15},
    {5, 5, 5, 5, 5, 5, 5, 5, 5, 9, 10, 11, 12, 13, 14, 15},
    {6, 6, 6, 6, 6, 6, 6, 6, 6, 9, 10, 11, 12, 13, 14, 15},
    {7, 7, 7, 7, 7, 7, 7, 7, 7, 9, 10, 11, 12, 13, 14, 15},
    {8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 10, 11, 12, 13, 14, 15},
    {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 13, 13, 13},
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, -1, -1, -1},
    {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 14, 14, 14},
    {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 15, 15, 15},
    {13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13},
    {14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14},
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
};
// A tensor with dimensions, and a 0-d one, with True, 1 and 1.0.
constexpr int kNumber[16][3] = {
    {0, 5, 11},   {1, 1, 11},   {2, 2, 11},   {3, 3, 11},   {4, 4, 11},   {5, 5, 11},
    {6, 6, 11},   {7, 7, 11},   {8, 8, 11},   {9, 9, 9},    {10, 10, 10}, {11, 11, 11},
    {12, 12, 12}, {13, 13, 13}, {14, 14, 14}, {15, 15, 15},
};
constexpr int kZeroDimNumber[16][3] = {
    {0, 5, 11},   {1, 1, 11},   {2, 2, 11},   {3, 3, 11},   {4, 4, 11},   {5, 5, 11},
    {6, 6, 11},   {7, 7, 11},   {8, 8, 11},   {9, 9, 9},    {10, 10, 10}, {11, 11, 11},
    {12, 12, 12}, {13, 13, 13}, {14, 14, 14}, {15, 15, 15},
};

DType dtype(int i) { return static_cast<DType>(i); }

template <class F>
int outcome(F&& f) {
  try {
    return static_cast<int>(f());
  } catch (const Error&) {
    return -1;
  }
}

Tensor of(const Dims& shape, DType t) { return Tensor::empty(shape, t); }

}  // namespace

TEST_CASE("promote_types is PyTorch's table") {
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < 16; ++b) {
      CAPTURE(a, b);
      CHECK(outcome([&] { return promote_types(dtype(a), dtype(b)); }) == kPromote[a][b]);
    }
  }
}

TEST_CASE("tensors with dimensions decide before 0-d tensors, and these before numbers") {
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < 16; ++b) {
      if (kZeroDim[a][b] < 0) continue;
      CAPTURE(a, b);
      CHECK(outcome([&] { return result_type(of({2}, dtype(a)), of({}, dtype(b))); }) ==
            kZeroDim[a][b]);
    }
    const Tensor numbers[] = {Tensor::wrapped(true), Tensor(1), Tensor(1.0)};
    for (int k = 0; k < 3; ++k) {
      CAPTURE(a, k);
      CHECK(outcome([&] { return result_type(of({2}, dtype(a)), numbers[k]); }) == kNumber[a][k]);
      CHECK(outcome([&] { return result_type(of({}, dtype(a)), numbers[k]); }) ==
            kZeroDimNumber[a][k]);
    }
  }
}

TEST_CASE("names and sizes of dtypes") {
  CHECK(repr(DType::float32) == "treadle.float32");
  CHECK(parse_dtype("torch.int64") == DType::int64);
  CHECK(parse_dtype("double") == DType::float64);
  CHECK(!parse_dtype("float33"));
  CHECK(item_size(DType::complex128) == 16);
  CHECK(can_cast(DType::int64, DType::float32));
  CHECK(!can_cast(DType::float32, DType::int64));
  CHECK(!can_cast(DType::int64, DType::boolean));
}

TEST_CASE("the default dtype decides about Python floats and true division") {
  const Tensor i = full({2}, 3, DType::int64);
  CHECK(div(i, i).dtype() == DType::float32);
  set_default_dtype(DType::float64);
  CHECK(div(i, i).dtype() == DType::float64);
  CHECK(mul(i, Tensor(0.5)).dtype() == DType::float64);
  set_default_dtype(DType::float32);
  CHECK_THROWS_AS(set_default_dtype(DType::int64), Error);
}
