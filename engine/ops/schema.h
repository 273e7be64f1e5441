// PyTorch's schema strings, parsed: the single contract of an op. From it follow the Python
// signature, argument conversion and checks, stubs, docs and error texts.
//
//   "sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/tensor.h"

#pragma GCC visibility push(default)
namespace treadle {

// A number as Python gave it: its kind takes part in promotion.
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, floating, complex } kind = Kind::floating;
  double f = 0;        // of a complex number the real part
  std::int64_t i = 0;  // of a boolean or integer the value (beyond int64, f > 0: uint64's bits)
  double im = 0;

  Scalar() = default;
  Scalar(double value) : kind(Kind::floating), f(value), i(truncated(value)) {}
  Scalar(float value) : Scalar(static_cast<double>(value)) {}
  Scalar(std::int64_t value) : kind(Kind::integer), f(static_cast<double>(value)), i(value) {}
  Scalar(int value) : Scalar(static_cast<std::int64_t>(value)) {}
  Scalar(std::uint64_t value) : Scalar(static_cast<std::int64_t>(value)) {
    f = static_cast<double>(value);
  }
  Scalar(bool value) : kind(Kind::boolean), f(value), i(value) {}
  Scalar(std::complex<double> value) : Scalar(value.real()) {
    kind = Kind::complex;
    im = value.imag();
  }
  // As a 0-d wrapped number.
  Tensor tensor() const;
  bool beyond_int64() const { return kind == Kind::integer && f > 0 && i < 0; }
};

// To add one: here, in `kTypes` and `type_text` of schema.cpp, and in the conversions of table.cpp
// (from a default's text) and python/bind/parse.cpp (from Python).
enum class ArgType : std::uint8_t {
  tensor,
  scalar,
  integer,
  floating,
  boolean,
  string,
  dtype,
  device,
  generator,
  ints,
  floats,
  tensors,
  bools,
  layout,
  memory_format,
};

// One argument's value on its way from Python (or a test, or a saved graph) to an op.
class Generator;  // core/random.h
using Value =
    std::variant<std::monostate, Tensor, Scalar, std::int64_t, double, bool, std::string, DType,
                 Device, Generator*, Dims, std::vector<double>, std::vector<Tensor>>;

struct Arg {
  std::string_view name;
  ArgType type;
  bool optional = false;           // "int?": None is allowed
  bool keyword_only = false;       // after '*'
  bool optional_elements = false;  // "Tensor?[]"
  std::int64_t list_size = -1;     // "int[2]": one int stands for two
  bool has_default = false;
  std::string_view default_text;
  bool mutated = false;  // "Tensor(a!)"
};

// What a caller is told to pass, in PyTorch's words: "Tensor", "Number", "tuple of ints". In the
// texts of all errors about arguments and in the signatures that they list.
const char* type_text(ArgType type);

struct Schema {
  std::string_view name;      // "sum"
  std::string_view overload;  // "dim", may be empty
  std::vector<Arg> args;
  int returns = 1;  // number of results; 0 for "()"
  // "Tensor(a)": the result may share memory with an argument, which the op takes as it is: a lazy
  // conjugate, too.
  bool views = false;
};

// Throws Error{value} with the position of what it can't read.
Schema parse_schema(std::string_view text);

}  // namespace treadle
#pragma GCC visibility pop
