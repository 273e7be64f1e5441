#include "packaging/wheel/record.h"

#include <fmt/format.h>

#include <charconv>

#include "matrix/base/error.h"

namespace felloe {
namespace {

// RFC 4180: fields may be quoted, a quote inside is doubled. Fields may span lines when quoted.
class Csv {
 public:
  Csv(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  std::size_t line() const { return line_; }

  // The next row; nothing at the end.
  std::optional<std::vector<std::string>> row() {
    while (!text_.empty() && (text_[0] == '\n' || text_[0] == '\r')) skip_newline();
    if (text_.empty()) return std::nullopt;
    std::vector<std::string> out;
    for (;;) {
      out.push_back(field());
      if (out.size() > 8) fail("a row has more than 8 fields, expected 3");
      if (text_.empty() || text_[0] != ',') break;
      text_.remove_prefix(1);
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::input, where_, fmt::format("line {}: {}", line_, message),
                "expected rows of path,sha256=DIGEST,SIZE (PEP 427)");
  }

 private:
  void skip_newline() {
    if (text_[0] == '\n') ++line_;
    text_.remove_prefix(1);
  }

  std::string field() {
    std::string out;
    if (text_.empty() || text_[0] != '"') {
      const auto end = text_.find_first_of(",\r\n");
      out = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end);
      return out;
    }
    for (std::size_t i = 1; i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line_;
      if (text_[i] != '"') {
        out += text_[i];
      } else if (i + 1 < text_.size() && text_[i + 1] == '"') {
        out += text_[++i];
      } else {
        text_.remove_prefix(i + 1);
        if (!text_.empty() && text_.find_first_of(",\r\n") != 0)
          fail("text follows a closing quote");
        return out;
      }
    }
    fail("a quoted field has no closing quote");
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<RecordRow> parse_record(std::string_view text, const std::string& where) {
  Csv csv(text, where);
  std::vector<RecordRow> out;
  while (const auto row = csv.row()) {
    if (row->size() != 3) csv.fail(fmt::format("{} fields, expected 3", row->size()));
    RecordRow r;
    r.line = csv.line();
    r.path = (*row)[0];
    if (r.path.empty()) csv.fail("the path is empty");
    const std::string& hash = (*row)[1];
    if (!hash.empty()) {
      const auto equal = hash.find('=');
      if (equal == std::string::npos || equal == 0)
        csv.fail("the hash names no algorithm: " + hash);
      r.algorithm = hash.substr(0, equal);
      r.digest = hash.substr(equal + 1);
    }
    const std::string& size = (*row)[2];
    if (!size.empty()) {
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
      if (error != std::errc() || end != size.data() + size.size()) {
        csv.fail("the size is no number: " + size);
      }
      r.size = value;
    }
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace felloe
