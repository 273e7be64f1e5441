// Dims, storage, tensors, broadcasting, layouts and overlap.
#include <thread>

#include "engine/core/iter.h"
#include "engine/core/pool.h"
#include "engine_util.h"

using namespace treadle;
using namespace treadle::test;

TEST_CASE("dims keep values inline and on the heap") {
  Dims d{1, 2, 3};
  for (std::int64_t i = 0; i < 20; ++i) d.push_back(i);
  CHECK(d.size() == 23);
  CHECK(d[2] == 3);
  CHECK(d.back() == 19);
  Dims copy = d;
  const Dims moved = std::move(d);
  CHECK(moved == copy);
  CHECK(d.empty());
  copy.insert(1, 77);
  CHECK(copy[1] == 77);
  CHECK(copy[2] == 2);
  copy.erase(1);
  CHECK(copy == moved);
  copy = Dims{5};
  CHECK(copy == Dims{5});
  CHECK(Dims(100, 1).size() == 100);
  CHECK(error_of([] { empty(Dims(65, 1), DType::float32); }) ==
        "a tensor can have at most 64 dimensions, got 65");
  CHECK(to_string(Dims{2, 3}) == "[2, 3]");
  CHECK(error_of([] { wrap_dim(2, 2); }) ==
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  CHECK_THROWS_AS(product(Dims{std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
}

TEST_CASE("blocks are aligned and may be freed by another thread") {
  void* p = pool_allocate(100);
  CHECK(reinterpret_cast<std::uintptr_t>(p) % kAlignment == 0);
  std::thread([p] { pool_free(p, 100); }).join();
  CHECK_THROWS_AS(pool_allocate(~std::size_t{0}), Error);
  CHECK_THROWS_AS(empty({std::int64_t{1} << 45, 1 << 10}, DType::float32), Error);
}

TEST_CASE("broadcasting follows NumPy's rule and names the sizes it can't join") {
  CHECK(broadcast_shapes(Dims{3, 1}, Dims{2}) == Dims{3, 2});
  CHECK(broadcast_shapes(Dims{}, Dims{4, 1}) == Dims{4, 1});
  CHECK(broadcast_shapes(Dims{0}, Dims{1}) == Dims{0});
  CHECK(
      error_of([] {
        broadcast_shapes(Dims{2, 3}, Dims{4});
      }) ==
      "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
}

TEST_CASE("elementwise results keep the order of dimensions of their inputs") {
  const Tensor x = numbers({2, 3, 4});
  CHECK(add(x, x).strides() == Dims{12, 4, 1});
  const Tensor p = permute(x, {2, 0, 1});
  CHECK(add(p, p).strides() == Dims{1, 12, 4});
  CHECK(values(add(p, p)) == values(mul(p, Tensor(2.0))));
  // A broadcast operand has no say.
  CHECK(add(p, numbers({3})).strides() == Dims{1, 12, 4});
  CHECK(add(transpose(numbers({3, 2}), 0, 1), numbers({2, 3})).strides() == Dims{1, 2});
}

TEST_CASE("every layout gives the same values") {
  const Tensor a = numbers({3, 4, 5}), b = numbers({3, 4, 5}, -1, 1, 2);
  const std::vector<double> want = values(mul(a, b));
  const auto shuffled = [](const Tensor& t) {
    return permute(contiguous(permute(t, {1, 2, 0})), {2, 0, 1});
  };
  CHECK(values(mul(shuffled(a), b)) == want);
  CHECK(values(mul(a, shuffled(b))) == want);
  CHECK(values(mul(shuffled(a), shuffled(b))) == want);
  const Tensor wide = numbers({3, 4, 10}, -1, 1, 3);
  const Tensor every_second = slice(wide, 2, std::nullopt, std::nullopt, 2);
  CHECK(values(mul(a, every_second)) == values(mul(a, contiguous(every_second))));
  CHECK(values(mul(a, expand(numbers({1, 4, 1}), {3, 4, 5}))) == values(mul(a, numbers({4, 1}))));
}

TEST_CASE("large tensors are split over threads without change") {
  const Tensor a = numbers({300, 700});
  const Tensor t = transpose(a, 0, 1);
  CHECK(values(add(t, t)) == values(mul(t, Tensor(2.0))));
  const Tensor column = numbers({300, 1});
  const std::vector<double> got = values(mul(a, column));
  for (std::int64_t i : {0, 1, 150000, 209999}) {
    CHECK(got[static_cast<std::size_t>(i)] ==
          a.data_as<double>()[i] * column.data_as<double>()[i / 700]);
  }
}

TEST_CASE("writing one place twice or reading what was overwritten is refused") {
  const Tensor x = numbers({4});
  const Tensor wide = expand(reshape(x, {1, 4}), {3, 4});
  CHECK(error_of([&] {
          add_(wide, Tensor(1.0));
        }).find("more than one element of the written-to tensor") != std::string::npos);
  const Tensor y = numbers({6});
  const Tensor low = slice(y, 0, 0, 5), high = slice(y, 0, 1, 6);
  CHECK(error_of([&] {
          add_(low, high);
        }).find("some elements of the input tensor and the written-to tensor") !=
        std::string::npos);
  CHECK_NOTHROW(add_(y, y));
}

TEST_CASE("one number can be read from a tensor of one element") {
  CHECK(full({1, 1}, 2.5, DType::float32).item() == 2.5);
  CHECK(full({}, 7, DType::int64).item_int() == 7);
  CHECK(error_of([] { zeros({2}).item(); }) ==
        "a Tensor with 2 elements cannot be converted to Scalar");
  CHECK(error_of([] { zeros({-1}); }) ==
        "Trying to create tensor with negative dimension -1: [-1]");
}
