// Text for people: lines, tables that fit 80 columns, findings, progress. Colour and progress
// appear only on a terminal, colour never with NO_COLOR or TERM=dumb. The only code that prints,
// besides main's JSON.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

enum class Style { plain, bold, dim, good, warn, bad };

class Printer {
 public:
  static constexpr std::size_t kWidth = 80;  // columns that tables and wrapped text keep to

  explicit Printer(std::FILE* to);

  bool is_terminal() const { return terminal_; }

  // `text` in a colour, or as it is where colour isn't wanted.
  std::string paint(Style style, std::string_view text) const;

  void line(std::string_view text = {});
  void heading(std::string_view text) { line(paint(Style::bold, text)); }

  // Wraps at words; every line starts with `indent` spaces. Long words (paths) are never cut.
  void wrapped(std::string_view text, std::size_t indent = 0);

  // "  name   value" pairs, names padded to one width.
  void pairs(const std::vector<std::pair<std::string, std::string>>& rows);

  // Columns as wide as their widest cell; where that is more than kWidth, the widest columns are
  // narrowed and their cells wrapped.
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);

  // The `findings` array of an envelope: one block each, severity in colour.
  void findings(const Json& list);

  // One line that the next progress call overwrites; nothing at all when not on a terminal. Call
  // with an empty text to clear it.
  void progress(std::string_view text);

 private:
  std::FILE* to_;
  bool terminal_;
  bool colour_;
  bool progress_shown_ = false;
};

// Status of a running command: standard error, so that standard output holds the result alone.
Printer& status();

// `text` cut into lines of at most `width` columns, at spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Columns a text takes (code points; East Asian width isn't judged).
std::size_t columns(std::string_view text);

}  // namespace felloe
