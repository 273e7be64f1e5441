// The tape: gradients of every differentiable op against finite differences, first and second
// order, and the engine's rules (accumulation, retain_graph, hooks, depth, threads).
#include <limits>
#include <set>
#include <thread>

#include "engine/ops/native.h"
#include "engine_util.h"

using namespace treadle;
using namespace treadle::test;

namespace {

// One differentiable function per row: inputs are drawn from (low, high).
struct Case {
  const char* name;
  Function f;
  std::vector<Dims> shapes;
  double low = -1, high = 1;
};

std::vector<Case> cases() {
  using V = std::vector<Tensor>;
  const Tensor index =
      from_values(std::span<const std::int64_t>(std::vector<std::int64_t>{0, 2, 1, 1, 0, 2}),
                  {2, 3}, DType::int64);
  return {
      {"add broadcast", [](const V& x) { return add(x[0], x[1], 2); }, {{2, 3}, {3}}},
      {"mul broadcast", [](const V& x) { return mul(x[0], x[1]); }, {{2, 1}, {3}}},
      {"div", [](const V& x) { return div(x[0], x[1]); }, {{2, 3}, {2, 3}}, 0.5, 2},
      {"pow", [](const V& x) { return pow(x[0], x[1]); }, {{4}, {4}}, 0.5, 2},
      {"atan2", [](const V& x) { return atan2(x[0], x[1]); }, {{4}, {4}}, 0.5, 2},
      {"maximum", [](const V& x) { return maximum(x[0], x[1]); }, {{4}, {4}}},
      {"where",
       [](const V& x) { return where(gt(x[0], Tensor(0.0)), mul(x[0], x[1]), x[1]); },
       {{4}, {4}}},
      {"tanh exp", [](const V& x) { return tanh(exp(x[0])); }, {{4}}},
      {"log sqrt", [](const V& x) { return log(sqrt(x[0])); }, {{4}}, 0.5, 2},
      {"sigmoid relu", [](const V& x) { return mul(sigmoid(x[0]), relu(x[0])); }, {{5}}},
      {"gelu", [](const V& x) { return add(gelu(x[0]), gelu(x[0], "tanh")); }, {{5}}},
      {"erf sin", [](const V& x) { return erf(sin(x[0])); }, {{5}}},
      {"sum dim",
       [](const V& x) {
         return square(sum(x[0], {0, 2}));
       },
       {{2, 3, 2}}},
      {"mean", [](const V& x) { return square(mean(x[0], {1}, true)); }, {{2, 3}}},
      {"amax", [](const V& x) { return square(amax(x[0], {1})); }, {{3, 4}}},
      {"max dim", [](const V& x) { return square(std::get<0>(max(x[0], 0))); }, {{3, 4}}},
      {"cumsum", [](const V& x) { return square(cumsum(x[0], 1)); }, {{2, 4}}},
      {"mm", [](const V& x) { return mm(x[0], x[1]); }, {{2, 3}, {3, 2}}},
      {"bmm", [](const V& x) { return bmm(x[0], transpose(x[1], 1, 2)); }, {{2, 2, 3}, {2, 2, 3}}},
      {"matmul broadcast",
       [](const V& x) { return matmul(x[0], x[1]); },
       {{2, 1, 2, 3}, {2, 3, 2}}},
      {"matmul vector",
       [](const V& x) { return matmul(matmul(x[0], x[1]), x[2]); },
       {{3}, {3, 2}, {2}}},
      {"addmm", [](const V& x) { return addmm(x[0], x[1], x[2], 0.5, 2); }, {{2}, {2, 3}, {3, 2}}},
      {"linear", [](const V& x) { return linear(x[0], x[1], x[2]); }, {{2, 2, 3}, {4, 3}, {4}}},
      {"softmax", [](const V& x) { return softmax(x[0], 0); }, {{3, 2}}},
      {"log_softmax", [](const V& x) { return log_softmax(x[0], 1); }, {{2, 3}}},
      {"cat stack",
       [](const V& x) {
         return stack({cat({x[0], x[1]}, 1), cat({x[1], x[0]}, 1)});
       },
       {{2, 1}, {2, 2}}},
      {"reshape permute",
       [](const V& x) {
         return square(reshape(permute(x[0], {2, 0, 1}), {4, 3}));
       },
       {{2, 3, 2}}},
      {"expand",
       [](const V& x) {
         return square(expand(x[0], {3, 2, 2}));
       },
       {{2, 1}}},
      {"slice select",
       [](const V& x) {
         return mul(slice(select(x[0], 0, 1), 0, 0, 3, 2), slice(x[0], 1, 0, 3, 2));
       },
       {{2, 3}}},
      {"as_strided overlapping",
       [](const V& x) {
         return square(as_strided(x[0], {3, 2}, {1, 1}));
       },
       {{4}}},
      {"gather", [index](const V& x) { return square(gather(x[0], 1, index)); }, {{2, 3}}},
      {"scatter_add",
       [index](const V& x) { return square(scatter_add(x[0], 1, index, x[1])); },
       {{2, 3}, {2, 3}}},
      {"index",
       [index](const V& x) {
         return square(treadle::index(x[0], {Tensor(), index}));
       },
       {{2, 3}}},
      {"flip clone", [](const V& x) { return mul(flip(x[0], {0}), clone(x[0])); }, {{3, 2}}},
      {"cross_entropy",
       [](const V& x) {
         return cross_entropy(x[0], tensor({1, 0, -100}, DType::int64), x[1], "mean", -100, 0.1);
       },
       {{3, 4}, {4}},
       0.2,
       1},
  };
}

}  // namespace

TEST_CASE("gradients agree with finite differences") {
  for (const Case& c : cases()) {
    std::vector<Tensor> in;
    for (std::size_t k = 0; k < c.shapes.size(); ++k)
      in.push_back(numbers(c.shapes[k], c.low, c.high, static_cast<int>(k) + 3));
    CAPTURE(c.name);
    CHECK(gradient_error(c.f, in) < 1e-6);
    CHECK(second_gradient_error(c.f, in) < 1e-3);
  }
}

// Every differentiable elementwise op of the table, in the middle of its domain.
TEST_CASE("elementwise gradients agree with finite differences") {
  // The order of these functions has no derivative, as in PyTorch.
  const std::set<std::string_view> of_the_second = {"igamma", "igammac", "special_zeta"};
  std::set<std::string_view> elementwise;
  for (const OpDef& op : elementwise_ops()) elementwise.insert(op.schema);
  for (const OpDef& op : op_table()) {
    const Schema& s = schema_of(op);
    if (!op.differentiable || elementwise.count(op.schema) == 0 || of_the_second.count(s.name) != 0)
      continue;
    std::size_t tensors = 0;
    bool plain = true;
    for (const Arg& a : s.args) {
      tensors += a.type == ArgType::tensor;
      plain &= a.type == ArgType::tensor || (a.type == ArgType::scalar && a.has_default);
    }
    if (!plain || s.name == "fill" || s.name == "where" || s.name == "masked_fill") continue;
    CAPTURE(op.schema);
    const Function f = [&](const std::vector<Tensor>& x) {
      std::vector<Value> args;
      for (const Arg& a : s.args) {
        if (a.type == ArgType::tensor)
          args.emplace_back(x[args.size()]);
        else
          args.push_back(a.name == "min" ? Value(Scalar(0.3)) : default_value(op, a));
      }
      Value r;
      invoke(op, args, &r);
      return std::get<Tensor>(r);
    };
    std::vector<Tensor> in;
    for (std::size_t k = 0; k < tensors; ++k)
      in.push_back(numbers({5}, 0.15, 0.9, static_cast<int>(k) + 11));
    CHECK(gradient_error(f, in) < 1e-6);
    CHECK(second_gradient_error(f, in) < 1e-3);
  }
}

// 0, not g * 0: nothing of an infinite g or of its sign may come through.
TEST_CASE("what is constant between jumps has a gradient of plain 0") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor g = f64({inf, -1, std::nan("")}, {3});
  const auto check = [&](const OpDef& op, std::size_t tensors, bool graph) {
    CAPTURE(op.schema, graph);
    std::vector<Tensor> x;
    std::vector<Value> args;
    for (std::size_t k = 0; k < tensors; ++k) {
      x.push_back(leaf(f64({1.5, 2.5, 0.5}, {3})));
      args.emplace_back(x.back());
    }
    Value y;
    invoke(op, args, &y);
    BackwardOptions options;
    options.create_graph = graph;
    for (const Tensor& d :
         grad(std::vector<Tensor>{std::get<Tensor>(y)}, x, std::vector<Tensor>{g}, options)) {
      CHECK(d.dtype() == DType::float64);
      for (const double v : values(d)) CHECK((v == 0 && !std::signbit(v)));
    }
  };
  for (const bool graph : {false, true}) {
    const auto check_overload = [&](const char* name, std::size_t tensors) {
      for (const OpDef& op : find_op(name)) {
        const Schema& s = schema_of(op);
        if (s.args.size() == tensors && s.args.back().type == ArgType::tensor)
          return check(op, tensors, graph);
      }
      FAIL(name);
    };
    for (const char* name : {"floor", "ceil", "round", "trunc", "sign"}) check_overload(name, 1);
    for (const char* name : {"floor_divide", "_div_trunc"}) check_overload(name, 2);
  }
}

TEST_CASE("third order, and gradients that flow into .grad") {
  const Tensor x = leaf(f64({0.7}, {1}));
  const Tensor y = sin(x);
  BackwardOptions graph;
  graph.create_graph = true;
  const auto d = [&](const Tensor& t) {
    return grad(std::vector<Tensor>{t}, std::vector<Tensor>{x}, {}, graph)[0];
  };
  const Tensor third = d(d(d(y)));
  CHECK(third.item() == Approx(-std::cos(0.7)));
  backward(y);
  backward(mul(x, Tensor(2.0)));
  CHECK(x.grad().item() == Approx(std::cos(0.7) + 2));
  CHECK(!x.grad().requires_grad());
}

TEST_CASE("a graph is freed after use unless kept") {
  const Tensor x = leaf(numbers({3}));
  const Tensor y = sum(exp(x));
  BackwardOptions keep;
  keep.retain_graph = true;
  CHECK_NOTHROW(backward(y, keep));
  CHECK_NOTHROW(backward(y));
  CHECK(error_of([&] { backward(y); }).find("Trying to backward through the graph a second time") ==
        0);
}

TEST_CASE("grad() names what isn't part of the graph") {
  const Tensor x = leaf(numbers({2})), unused = leaf(numbers({2}));
  const std::vector<Tensor> y{sum(x)}, in{x, unused};
  CHECK(error_of([&] { grad(y, in, {}, {}); }).find("appears to not have been used in the graph") !=
        std::string::npos);
  const std::vector<Tensor> y2{sum(x)};
  CHECK(!grad(y2, in, {}, {}, true)[1].defined());
  CHECK(error_of([&] { backward(x); }) == "grad can be implicitly created only for scalar outputs");
  CHECK(error_of([&] { backward(numbers({})); }) ==
        "element 0 of tensors does not require grad and does not have a grad_fn");
}

TEST_CASE("grad() of an inner tensor stops there") {
  const Tensor x = leaf(numbers({2}));
  const Tensor h = square(x);
  const std::vector<Tensor> y{sum(mul(h, Tensor(3.0)))}, in{h};
  CHECK(values(grad(y, in)[0]) == std::vector<double>{3, 3});
  CHECK(!x.grad().defined());
}

TEST_CASE("hooks see and change gradients") {
  const Tensor x = leaf(f64({1, 2}, {2}));
  const Tensor h = square(x);
  int seen = 0;
  add_hook(h, [&](const Tensor& g) {
    ++seen;
    return mul(g, Tensor(10.0));
  });
  const std::int64_t id = add_hook(x, [&](const Tensor&) {
    ++seen;
    return Tensor();
  });
  int after = 0;
  add_accumulated_hook(x, [&](const Tensor& t) { after += t.grad().defined(); });
  retain_grad(h);
  BackwardOptions keep;
  keep.retain_graph = true;
  backward(sum(h), keep);
  CHECK(seen == 2);
  CHECK(after == 1);
  CHECK(values(x.grad()) == std::vector<double>{20, 40});
  CHECK(values(h.grad()) == std::vector<double>{10, 10});
  remove_hook(x, id);
  backward(sum(h));
  CHECK(seen == 3);
}

TEST_CASE("no_grad makes no tape") {
  const Tensor x = leaf(numbers({2}));
  const NoGrad off;
  CHECK(!square(x).requires_grad());
}

TEST_CASE("deep graphs run and die without recursion") {
  const Tensor x = leaf(full({}, 1.0, DType::float64));
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = add(y, Tensor(1.0));
  backward(y);
  CHECK(x.grad().item() == 1);
  // Deep through saved tensors too.
  Tensor z = x;
  for (int i = 0; i < 200000; ++i) z = mul(z, Tensor(1.0));
  z = Tensor();
  SUCCEED();
}

TEST_CASE("several threads may run backward at once, also on shared leaves and nodes") {
  const Tensor x = leaf(numbers({8}));
  const Tensor shared = square(x);
  BackwardOptions keep;
  keep.retain_graph = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) backward(sum(mul(shared, Tensor(2.0))), keep);
    });
  }
  for (std::thread& t : threads) t.join();
  const std::vector<double> got = values(x.grad()), at = values(x);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(200 * 4 * at[i]));
}

TEST_CASE("integer and bool tensors don't take part") {
  CHECK(error_of([] { zeros({2}, DType::int64).set_requires_grad(true); }) ==
        "only Tensors of floating point and complex dtype can require gradients");
  const Tensor x = leaf(numbers({3}));
  CHECK(!gt(x, Tensor(0.0)).requires_grad());
  CHECK(!argmax(x).requires_grad());
  CHECK(!to(x, DType::int64).requires_grad());
}
