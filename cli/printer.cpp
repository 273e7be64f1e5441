#include "cli/printer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "matrix/base/text.h"
#include "matrix/base/visible.h"

namespace felloe {
namespace {

bool wants_colour(bool terminal) {
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* term = std::getenv("TERM");
  return terminal && (no_color == nullptr || *no_color == 0) &&
         (term == nullptr || std::string_view(term) != "dumb");
}

const char* code(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\033[1m";
    case Style::dim:
      return "\033[2m";
    case Style::good:
      return "\033[32m";
    case Style::warn:
      return "\033[33m";
    case Style::bad:
      return "\033[31m";
  }
  return "";
}

Style severity_style(const std::string& severity) {
  if (severity == "error") return Style::bad;
  return severity == "warning" ? Style::warn : Style::dim;
}

}  // namespace

Printer::Printer(std::FILE* to)
    : to_(to), terminal_(::isatty(::fileno(to)) == 1), colour_(wants_colour(terminal_)) {}

Printer& status() {
  static Printer printer(stderr);
  return printer;
}

std::string Printer::paint(Style style, std::string_view text) const {
  if (!colour_ || style == Style::plain) return std::string(text);
  return code(style) + std::string(text) + "\033[0m";
}

void Printer::line(std::string_view text) {
  progress({});
  std::fwrite(text.data(), 1, text.size(), to_);
  std::fputc('\n', to_);
}

void Printer::wrapped(std::string_view text, std::size_t indent) {
  for (const std::string& part : wrap(text, kWidth - indent)) {
    line(std::string(indent, ' ') + part);
  }
}

void Printer::pairs(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, columns(row.first));
  for (const auto& [name, value] : rows) {
    const std::string label = "  " + name + std::string(width - columns(name) + 2, ' ');
    bool first = true;
    for (const std::string& part : wrap(value, kWidth - width - 4)) {
      line((first ? label : std::string(width + 4, ' ')) + part);
      first = false;
    }
  }
}

void Printer::table(const std::vector<std::string>& header,
                    const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(header.size());
  for (std::size_t c = 0; c < header.size(); ++c) {
    widths[c] = columns(header[c]);
    for (const auto& row : rows) widths[c] = std::max(widths[c], columns(row.at(c)));
  }
  constexpr std::size_t narrowest = 8;
  const std::size_t gaps = 2 * (header.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > kWidth) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= narrowest) break;
    --*widest;
  }
  const auto print = [&](const std::vector<std::string>& row, Style style) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t c = 0; c < row.size(); ++c) {
      cells.push_back(wrap(row[c], widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string text;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string cell = i < cells[c].size() ? cells[c][i] : std::string();
        text += cell;
        const std::size_t used = columns(cell);
        if (c + 1 < row.size()) {
          text += std::string((used < widths[c] ? widths[c] - used : 0) + 2, ' ');
        }
      }
      while (!text.empty() && text.back() == ' ') text.pop_back();
      line(paint(style, text));
    }
  };
  print(header, Style::bold);
  for (const auto& row : rows) print(row, Style::plain);
}

void Printer::findings(const Json& list) {
  for (const Json& f : list) {
    const std::string severity = f.at("severity");
    std::string place = f.at("wheel");
    if (const std::string file = f.at("file"); !file.empty()) {
      place += (place.empty() ? "" : "!") + file;
    }
    if (!f.at("offset").is_null()) place += "@" + std::to_string(f.at("offset").get<long long>());
    if (const std::string symbol = f.at("symbol"); !symbol.empty()) place += " " + symbol;
    line(paint(severity_style(severity), severity) + " " +
         paint(Style::bold, f.at("code").get<std::string>()) +
         (place.empty() ? "" : " " + visible(place, Lines::escape)));
    wrapped(f.at("message").get<std::string>(), 2);
    if (const std::string hint = f.at("hint"); !hint.empty()) wrapped("hint: " + hint, 2);
  }
}

void Printer::progress(std::string_view text) {
  if (!terminal_ || (text.empty() && !progress_shown_)) return;
  std::string cut(text);
  if (columns(cut) >= kWidth) cut.resize(kWidth - 1);
  const std::string out = "\r\033[K" + cut;
  std::fwrite(out.data(), 1, out.size(), to_);
  std::fflush(to_);
  progress_shown_ = !text.empty();
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  for (const std::string& paragraph : split(text, '\n')) {
    std::string current;
    bool empty = true;
    for (const std::string& word : split(paragraph, ' ')) {
      if (!empty && columns(current) + 1 + columns(word) > width) {
        out.push_back(current);
        current.clear();
        empty = true;
      }
      if (!empty) current += ' ';
      current += word;
      empty = false;
    }
    out.push_back(current);
  }
  return out;
}

}  // namespace felloe
