// Views, in-place ops through them, and what saved tensors notice.
#include "engine_util.h"

using namespace treadle;
using namespace treadle::test;

namespace {
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("views share memory and version") {
  const Tensor x = numbers({2, 3, 4});
  const Tensor v = select(transpose(x, 0, 2), 0, 1);
  CHECK(v.shape() == Dims{3, 2});
  CHECK(v.strides() == Dims{4, 12});
  fill_(v, 5);
  CHECK(x.version() == v.version());
  CHECK(values(x)[1] == 5);
  CHECK(view(x, {6, -1}).shape() == Dims{6, 4});
  CHECK(has(error_of([&] { view(transpose(x, 0, 1), {24}); }), "Use .reshape(...) instead"));
  CHECK(error_of([&] { view(x, {5, -1}); }) == "shape '[5, -1]' is invalid for input of size 24");
  CHECK(reshape(transpose(x, 0, 1), {24}).is_contiguous());
  CHECK(slice(x, 2, -3, 100, 2).shape() == Dims{2, 3, 2});
  CHECK(error_of([&] { select(x, 1, 3); }) ==
        "select(): index 3 out of range for tensor of size [2, 3, 4] at dimension 1");
  CHECK(movedim(x, {0}, {2}).shape() == Dims{3, 4, 2});
  CHECK(squeeze(unsqueeze(x, -1)).shape() == x.shape());
  CHECK(split(x, 3, 2)[1].shape() == Dims{2, 3, 1});
  CHECK(chunk(x, 3, 2).size() == 2);
  CHECK(has(error_of([&] { as_strided(x, {100}, {1}); }), "out of bounds for storage"));
}

TEST_CASE("indexing follows NumPy's rules") {
  const Tensor x = arange(0, 24);
  const Tensor m = reshape(x, {2, 3, 4});
  const auto i = [](std::initializer_list<double> v) { return tensor(v, DType::int64); };
  CHECK(values(index(m, {Tensor(), i({2, 0})})) ==
        std::vector<double>{8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15});
  CHECK(index(m, {i({0, 1}), Tensor(), i({1, 2})}).shape() == Dims{2, 3});  // apart: in front
  CHECK(index(m, {Tensor(), i({0, 1}), i({1, 2})}).shape() == Dims{2, 2});  // adjacent: in place
  CHECK(values(index(m, {i({0, 1}), Tensor(), i({1, -1})})) ==
        std::vector<double>{1, 5, 9, 15, 19, 23});
  CHECK(values(index(x, {gt(x, Tensor(20))})) == std::vector<double>{21, 22, 23});
  CHECK(error_of([&] { index(m, {i({2})}); }) ==
        "index 2 is out of bounds for dimension 0 with size 2");
  CHECK(has(error_of([&] { index(m, {full({3}, true, DType::boolean)}); }),
            "The shape of the mask [3] at index 0"));
  const Tensor a = zeros({3}, DType::float64);
  index_put_(a, {i({1, 1, 2})}, f64({1, 2, 3}, {3}), true);
  CHECK(values(a) == std::vector<double>{0, 3, 3});
  index_put_(a, {i({1, 1})}, f64({1, 2}, {2}));
  CHECK(values(a) == std::vector<double>{0, 2, 3});
}

TEST_CASE("leaves that require grad can't be written in place") {
  const Tensor x = leaf(numbers({3}));
  CHECK(error_of([&] { add_(x, Tensor(1.0)); }) ==
        "a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(error_of([&] { add_(select(x, 0, 0), Tensor(1.0)); }) ==
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  const NoGrad off;
  CHECK_NOTHROW(add_(x, Tensor(1.0)));
}

TEST_CASE("in-place ops give the gradient of what they compute") {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor y = mul(in[0], Tensor(2.0));
    mul_(y, in[1]);
    add_(y, in[0]);
    return square(y);
  };
  CHECK(gradient_error(f, {numbers({3}), numbers({3}, -1, 1, 2)}) < 1e-6);
}

TEST_CASE("writing through a view changes the history of its base and of other views") {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor base = mul(in[0], Tensor(3.0));
    const Tensor row = select(base, 0, 1), column = select(base, 1, 0);
    mul_(row, in[1]);
    const Tensor through = mul(column, Tensor(2.0));  // sees the write
    add_(slice(row, 0, 0, 2), in[0].dim() == 2 ? select(select(in[0], 0, 0), 0, 0) : in[0]);
    return cat({reshape(base, {-1}), through, row});
  };
  CHECK(gradient_error(f, {numbers({2, 3}), numbers({3}, -1, 1, 2)}) < 1e-6);
  CHECK(second_gradient_error(f, {numbers({2, 3}), numbers({3}, -1, 1, 2)}) < 1e-4);
}

TEST_CASE("copying into a part of a tensor is differentiable") {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor out = zeros({4}, DType::float64);
    copy_(slice(out, 0, 1, 3), in[0]);
    index_put_(out, {tensor({0}, DType::int64)}, square(select(in[0], 0, 0)));
    return square(out);
  };
  CHECK(gradient_error(f, {numbers({2})}) < 1e-6);
}

TEST_CASE("saved tensors notice writes") {
  const Tensor x = leaf(numbers({3}));
  const Tensor y = exp(x);
  const Tensor z = sum(y);
  {
    const NoGrad off;
    mul_(y, Tensor(2.0));
  }
  const std::string text = error_of([&] { backward(z); });
  CHECK(has(text,
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation"));
  CHECK(has(text,
            "[treadle.float64Tensor [3]], which is output 0 of ExpBackward0, is at version 1; "
            "expected version 0"));
}

TEST_CASE("only what a derivative reads is saved") {
  // d(a * 2)/da doesn't need a, so writing a later is fine; d(a * b)/db does.
  const Tensor x = leaf(numbers({3})), w = leaf(numbers({3}));
  const Tensor a = exp(x), b = neg(x);
  const Tensor scaled = mul(b, Tensor(2.0));
  add_(b, Tensor(1.0));
  CHECK_NOTHROW(backward(sum(scaled)));
  const Tensor weighted = mul(a, w);
  add_(a, Tensor(1.0));
  CHECK(has(error_of([&] { backward(sum(weighted)); }), "saved by MulBackward0"));
}

TEST_CASE("views that can't be tracked refuse writes") {
  const Tensor x = leaf(numbers({4}));
  const Tensor y = mul(x, Tensor(2.0));
  CHECK(has(error_of([&] { add_(unbind(y)[0], Tensor(1.0)); }),
            "Output 0 of UnbindBackward0 is a view"));
  Tensor v;
  {
    const NoGrad off;
    v = select(y, 0, 0);
  }
  CHECK(has(error_of([&] { add_(v, Tensor(1.0)); }), "A view was created in no_grad mode"));
}

TEST_CASE("inference tensors stay out of autograd") {
  Tensor x;
  {
    const InferenceMode on;
    x = numbers({2});
    x = add(x, x);
  }
  CHECK(has(error_of([&] { add_(x, Tensor(1.0)); }), "Inplace update to inference tensor"));
  CHECK(has(error_of([&] { mul(x, leaf(numbers({2}))); }),
            "Inference tensors cannot be saved for backward"));
}
