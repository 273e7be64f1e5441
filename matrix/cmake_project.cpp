#include "matrix/cmake_project.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "matrix/base/text.h"

namespace felloe {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kEndsWord = " \t\r\n()\"#";

// Words, quoted arguments and parentheses of CMake text, comments left out (cmake-language(7)).
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next one, without quotes; nothing at the end.
  std::optional<std::string> next() {
    skip_blank_and_comments();
    if (at_ >= text_.size()) return std::nullopt;
    const char c = text_[at_];
    if (c == '(' || c == ')') {
      ++at_;
      return std::string(1, c);
    }
    if (c == '"') return quoted();
    const std::size_t end = std::min(text_.find_first_of(kEndsWord, at_), text_.size());
    const std::string word(text_.substr(at_, end - at_));
    at_ = end;
    return word;
  }

 private:
  void skip_blank_and_comments() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(kBlank, at_), text_.size());
      if (at_ >= text_.size() || text_[at_] != '#') return;
      const bool bracket = text_.substr(at_, 3) == "#[[";
      const std::size_t end = bracket ? text_.find("]]", at_) : text_.find('\n', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + (bracket ? 2 : 1);
    }
  }

  std::string quoted() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    if (at_ < text_.size()) ++at_;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string unless_variable(const std::string& word) {
  return word.find("${") == std::string::npos ? word : std::string();
}

}  // namespace

CMakeProject read_cmake_project(std::string_view text) {
  Lexer lexer(text);
  CMakeProject out;
  for (auto word = lexer.next(); word; word = lexer.next()) {
    if (to_lower(*word) != "project") continue;
    if (lexer.next() != "(") continue;
    std::vector<std::string> arguments;
    for (auto argument = lexer.next(); argument && argument != ")"; argument = lexer.next()) {
      arguments.push_back(*argument);
    }
    if (arguments.empty()) return out;
    out.name = unless_variable(arguments[0]);
    const auto version = std::find(arguments.begin(), arguments.end(), "VERSION");
    if (version != arguments.end() && version + 1 != arguments.end()) {
      out.version = unless_variable(version[1]);
    }
    return out;
  }
  return out;
}

bool makes_python_module(std::string_view text) {
  constexpr std::string_view kSigns[] = {"nanobind",           "pybind11",
                                         "python_add_library", "python3_add_library",
                                         "python_add_module",  "python_extension_module",
                                         "development.module", "felloe_python_abis"};
  Lexer lexer(text);
  for (auto word = lexer.next(); word; word = lexer.next()) {
    const std::string lower = to_lower(*word);
    if (std::any_of(std::begin(kSigns), std::end(kSigns),
                    [&](std::string_view sign) { return lower.find(sign) != std::string::npos; })) {
      return true;
    }
  }
  return false;
}

}  // namespace felloe
