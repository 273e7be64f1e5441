// The parser of PyTorch's schema strings.
#include "engine/ops/schema.h"

#include <array>
#include <utility>

namespace treadle {

Tensor Scalar::tensor() const {
  switch (kind) {
    case Kind::boolean:
      return Tensor::wrapped(i != 0);
    case Kind::integer:
      return beyond_int64() ? Tensor::wrapped(static_cast<std::uint64_t>(i)) : Tensor::wrapped(i);
    case Kind::complex:
      return Tensor::wrapped(std::complex<double>(f, im));
    case Kind::floating:
      break;
  }
  return Tensor(f);
}

namespace {

constexpr std::array<std::pair<std::string_view, ArgType>, 12> kTypes = {{
    {"Tensor", ArgType::tensor},
    {"Scalar", ArgType::scalar},
    {"int", ArgType::integer},
    {"SymInt", ArgType::integer},
    {"float", ArgType::floating},
    {"bool", ArgType::boolean},
    {"str", ArgType::string},
    {"ScalarType", ArgType::dtype},
    {"Device", ArgType::device},
    {"Generator", ArgType::generator},
    {"Layout", ArgType::layout},
    {"MemoryFormat", ArgType::memory_format},
}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema s;
    s.name = identifier();
    if (accept('.')) s.overload = identifier();
    expect('(');
    bool keyword_only = false;
    if (!accept(')')) {
      do {
        skip();
        if (accept('*')) {
          keyword_only = true;
          continue;
        }
        s.args.push_back(argument(keyword_only));
      } while (accept(','));
      expect(')');
    }
    expect('-');
    expect('>');
    s.views = text_.find("(a") != std::string_view::npos;
    s.returns = results();
    skip();
    if (at_ != text_.size()) error("the end");
    return s;
  }

 private:
  [[noreturn]] void error(const std::string& expected) {
    fail(ErrorKind::value, "schema `" + std::string(text_) + "`: expected " + expected +
                               " at position " + std::to_string(at_));
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(std::string("'") + c + "'");
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  std::string_view identifier() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start || (text_[start] >= '0' && text_[start] <= '9')) {
      at_ = start;
      error("a name");
    }
    return text_.substr(start, at_ - start);
  }

  // "(a)", "(a!)", "(a -> *)": which tensors share memory. True if written to.
  bool alias() {
    if (!accept('(')) return false;
    bool mutated = false;
    while (at_ < text_.size() && text_[at_] != ')') mutated |= text_[at_++] == '!';
    expect(')');
    return mutated;
  }

  void type(Arg& arg) {
    skip();
    const std::size_t start = at_;
    const std::string_view word = identifier();
    bool known = false;
    for (const auto& [name, type] : kTypes) {
      if (name != word) continue;
      arg.type = type;
      known = true;
    }
    if (!known) {
      at_ = start;
      error("a type");
    }
    arg.mutated = alias();
    const bool element_optional = accept('?');
    if (accept('[')) {
      skip();
      if (at_ < text_.size() && text_[at_] != ']') {
        arg.list_size = number();
      }
      expect(']');
      switch (arg.type) {
        case ArgType::tensor:
          arg.type = ArgType::tensors;
          break;
        case ArgType::integer:
          arg.type = ArgType::ints;
          break;
        case ArgType::floating:
          arg.type = ArgType::floats;
          break;
        case ArgType::boolean:
          arg.type = ArgType::bools;
          break;
        default:
          error("a list of Tensor, int, float or bool");
      }
      arg.optional_elements = element_optional;
      arg.mutated |= alias();
      arg.optional = accept('?');
    } else {
      arg.optional = element_optional;
    }
  }

  std::int64_t number() {
    const std::size_t start = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value < 1000) {
      value = value * 10 + (text_[at_++] - '0');
    }
    if (at_ == start) error("a number");
    return value;
  }

  Arg argument(bool keyword_only) {
    Arg arg;
    arg.type = ArgType::tensor;
    arg.keyword_only = keyword_only;
    type(arg);
    arg.name = identifier();
    if (accept('=')) {
      skip();
      const std::size_t start = at_;
      int depth = 0;
      char quote = 0;
      for (; at_ < text_.size(); ++at_) {
        const char c = text_[at_];
        if (quote != 0) {
          if (c == quote) quote = 0;
          continue;
        }
        if (c == '"' || c == '\'') quote = c;
        if (c == '[') ++depth;
        if (c == ']') --depth;
        if (depth == 0 && (c == ',' || c == ')')) break;
      }
      if (at_ == start || quote != 0) error("a default value");
      arg.has_default = true;
      arg.default_text = text_.substr(start, at_ - start);
    }
    return arg;
  }

  int results() {
    if (!accept('(')) {
      Arg ignored;
      type(ignored);
      return 1;
    }
    if (accept(')')) return 0;
    int count = 0;
    do {
      Arg ignored;
      type(ignored);
      skip();
      if (at_ < text_.size() && is_word(text_[at_])) identifier();  // "Tensor values"
      ++count;
    } while (accept(','));
    expect(')');
    return count;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

const char* type_text(ArgType type) {
  switch (type) {
    case ArgType::tensor:
      return "Tensor";
    case ArgType::scalar:
      return "Number";
    case ArgType::integer:
      return "int";
    case ArgType::floating:
      return "float";
    case ArgType::boolean:
      return "bool";
    case ArgType::string:
      return "str";
    case ArgType::dtype:
      return "dtype";
    case ArgType::device:
      return "device";
    case ArgType::generator:
      return "Generator";
    case ArgType::ints:
      return "tuple of ints";
    case ArgType::floats:
      return "tuple of floats";
    case ArgType::tensors:
      return "tuple of Tensors";
    case ArgType::bools:
      return "tuple of bools";
    case ArgType::layout:
      return "layout";
    case ArgType::memory_format:
      return "memory_format";
  }
  return "value";
}

}  // namespace treadle
