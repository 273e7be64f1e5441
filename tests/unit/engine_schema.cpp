// The schema parser and the op table: every row can be read, called wrongly without harm, and has
// its defaults.
#include <set>

#include "engine_util.h"

using namespace treadle;
using namespace treadle::test;

TEST_CASE("a schema is read in all its parts") {
  const Schema s = parse_schema(
      "sum.dim_IntList(Tensor(a!) self, int[1]? dim, Tensor?[] rest, *, float eps=1e-05, str "
      "mode='a, b', int[] p=[0, 1]) -> "
      "(Tensor values, Tensor indices)");
  CHECK(s.name == "sum");
  CHECK(s.overload == "dim_IntList");
  REQUIRE(s.args.size() == 6);
  CHECK(s.returns == 2);
  CHECK(s.args[0].mutated);
  CHECK(s.args[1].type == ArgType::ints);
  CHECK(s.args[1].optional);
  CHECK(s.args[1].list_size == 1);
  CHECK(s.args[2].type == ArgType::tensors);
  CHECK(s.args[2].optional_elements);
  CHECK(!s.args[2].optional);
  CHECK(s.args[3].keyword_only);
  CHECK(s.args[3].default_text == "1e-05");
  CHECK(s.args[4].default_text == "'a, b'");
  CHECK(s.args[5].default_text == "[0, 1]");
  CHECK(parse_schema("f() -> ()").returns == 0);
}

TEST_CASE("every argument type has a name of its own for people") {
  std::set<std::string> seen;
  for (int i = 0; i <= static_cast<int>(ArgType::bools); ++i) {
    const std::string text = type_text(static_cast<ArgType>(i));
    CAPTURE(i, text);
    CHECK(seen.insert(text).second);
  }
  CHECK(std::string(type_text(ArgType::scalar)) == "Number");
  CHECK(std::string(type_text(ArgType::ints)) == "tuple of ints");
}

TEST_CASE("a broken schema is refused with the position") {
  for (const char* text :
       {"", "f", "f(", "f(Tensor)", "f(Thing x) -> Tensor", "f(Tensor x) -> ",
        "f(Tensor x) > Tensor", "f(Tensor x=) -> Tensor", "f(str s='a) -> Tensor",
        "f(int[ x) -> Tensor", "f(Tensor x) -> Tensor x y", "1f(Tensor x) -> Tensor"}) {
    CAPTURE(text);
    CHECK(error_of([&] { parse_schema(text); }).find("at position") != std::string::npos);
  }
}

TEST_CASE("the op table is sorted, has no row twice and can read its defaults") {
  std::set<std::string> seen;
  std::string_view last;
  for (const OpDef& op : op_table()) {
    const Schema& s = schema_of(op);
    CAPTURE(op.schema);
    CHECK(last <= s.name);
    last = s.name;
    // A form of its own (in-place views, for one) may have a row of its own.
    for (const unsigned form : {kFunction, kMethod, kInplace, kOut, kFunctional}) {
      if ((op.variants & form) == 0) continue;
      const std::string key = std::string(s.name) + "." + std::string(s.overload);
      CHECK(seen.insert(key + " " + std::to_string(form)).second);
    }
    CHECK(op.doc[0] != 0);
    CHECK(op.call != nullptr);
    CHECK((op.call_inplace != nullptr) == ((op.variants & kInplace) != 0));
    CHECK((op.call_out != nullptr) == ((op.variants & kOut) != 0));
    for (const Arg& a : s.args) {
      if (a.has_default) CHECK_NOTHROW(default_value(op, a));
    }
  }
  CHECK(op_table().size() > 150);
  CHECK(find_op("sum").size() == 2);
  CHECK(find_op("no_such_op").empty());
}

// Arguments of every kind in every slot: an Error or a result, never a crash.
TEST_CASE("no argument can crash an op") {
  const std::vector<Value> pool = {Value(),
                                   Value(numbers({2, 3})),
                                   Value(full({3}, 1, DType::int64)),
                                   Value(zeros({0}, DType::float64)),
                                   Value(Scalar(2)),
                                   Value(Scalar(-0.5)),
                                   Value(std::int64_t{-7}),
                                   Value(std::int64_t{1}),
                                   Value(true),
                                   Value(std::string("mean")),
                                   Value(DType::int64),
                                   Value(Dims{1, 0}),
                                   Value(Dims{-1, 99}),
                                   Value(std::vector<Tensor>{numbers({2}), numbers({2})}),
                                   Value(std::vector<Tensor>{}),
                                   Value(full({}, true, DType::boolean))};
  std::uint64_t random = 12345;
  for (const OpDef& op : op_table()) {
    const Schema& s = schema_of(op);
    CAPTURE(op.schema);
    for (int round = 0; round < 60; ++round) {
      std::vector<Value> args;
      for (std::size_t i = 0; i < s.args.size(); ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        Value v = pool[(random >> 33) % pool.size()];
        if (Tensor* t = std::get_if<Tensor>(&v)) v = clone(*t);
        args.push_back(v);
      }
      Value results[8];
      try {
        invoke(op, args, results);
      } catch (const Error&) {
      }
      if (!op.call_inplace) continue;
      try {
        invoke_inplace(op, args);
      } catch (const Error&) {
      }
    }
  }
}

TEST_CASE("calls through the table check their arguments by name") {
  const OpDef& op = find_op("mm")[0];
  std::vector<Value> args{Value(numbers({2, 2})), Value()};
  Value r;
  CHECK(error_of([&] { invoke(op, args, &r); }) ==
        "mm(): argument 'mat2' (position 2) must be Tensor, not None");
  args[1] = std::string("x");
  CHECK(error_of([&] { invoke(op, args, &r); }) ==
        "mm(): argument 'mat2' (position 2) must be Tensor");
  CHECK(error_of([&] { default_value(op, schema_of(op).args[1]); }) ==
        "mm() missing required argument 'mat2' (Tensor)");
}

TEST_CASE("out= is resized, converted where that loses nothing, and refused under autograd") {
  const OpDef& op = find_op("add")[0];
  std::vector<Value> args{Value(f64({1, 2}, {2})), Value(Scalar(1)), Value(Scalar(1))};
  std::vector<Tensor> out{Tensor::empty({5}, DType::float64)};
  invoke_out(op, args, out);
  CHECK(values(out[0]) == std::vector<double>{2, 3});
  out[0] = Tensor::empty({2}, DType::float32);
  invoke_out(op, args, out);
  CHECK(values(out[0]) == std::vector<double>{2, 3});
  out[0] = Tensor::empty({2}, DType::int64);
  CHECK(error_of([&] { invoke_out(op, args, out); }) ==
        "result type Double can't be cast to the desired output type Long");
  args[0] = leaf(numbers({2}));
  out[0] = Tensor::empty({2}, DType::float64);
  CHECK(error_of([&] {
          invoke_out(op, args, out);
        }).find("don't support automatic differentiation") != std::string::npos);
}
