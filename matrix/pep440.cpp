#include "matrix/pep440.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "matrix/base/text.h"

namespace felloe {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_separator(char c) { return c == '.' || c == '-' || c == '_'; }

// Reads PEP 440's parts off the front of a lower-case text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool take(std::string_view word) {
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool take_separator() {
    if (!is_separator(peek())) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Digits as a number; nothing if there are none or it has more than 18 digits.
  std::optional<std::uint64_t> number() {
    std::size_t count = 0;
    std::uint64_t value = 0;
    while (count < text_.size() && is_digit(text_[count])) {
      if (count == 18) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(text_[count++] - '0');
    }
    if (count == 0) return std::nullopt;
    text_.remove_prefix(count);
    return value;
  }
  std::string_view rest() const { return text_; }
  void rewind(std::string_view text) { text_ = text; }

 private:
  std::string_view text_;
};

// "[sep]word[sep][digits]" for one of `words`; the number is 0 if missing (PEP 440: implicit).
std::optional<std::pair<std::string_view, std::uint64_t>> labelled(
    Cursor& cursor, std::initializer_list<std::string_view> words) {
  const std::string_view before = cursor.rest();
  cursor.take_separator();
  for (const std::string_view word : words) {
    if (!cursor.take(word)) continue;
    const std::string_view after_word = cursor.rest();
    cursor.take_separator();
    if (is_digit(cursor.peek())) {
      if (const auto value = cursor.number()) return std::pair(word, *value);
      break;
    }
    cursor.rewind(after_word);
    return std::pair(word, std::uint64_t{0});
  }
  cursor.rewind(before);
  return std::nullopt;
}

int order(std::uint64_t a, std::uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int compare_releases(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const int result = order(i < a.size() ? a[i] : 0, i < b.size() ? b[i] : 0);
    if (result != 0) return result;
  }
  return 0;
}

int compare_local(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size()) return -1;
    if (i >= b.size()) return 1;
    const bool number_a = is_digit(a[i][0]) && std::all_of(a[i].begin(), a[i].end(), is_digit);
    const bool number_b = is_digit(b[i][0]) && std::all_of(b[i].begin(), b[i].end(), is_digit);
    if (number_a != number_b) return number_a ? 1 : -1;  // numbers come after words
    int result = 0;
    if (number_a && a[i].size() != b[i].size()) {
      result = a[i].size() < b[i].size() ? -1 : 1;  // leading zeros are gone
    } else {
      result = a[i].compare(b[i]);
    }
    if (result != 0) return result < 0 ? -1 : 1;
  }
  return 0;
}

}  // namespace

std::string normalize_name(std::string_view name) {
  std::string out;
  bool in_run = false;
  for (const char c : to_lower(name)) {
    if (is_separator(c)) {
      if (!in_run) out += '-';
      in_run = true;
    } else {
      out += c;
      in_run = false;
    }
  }
  return out;
}

std::string wheel_name(std::string_view name) {
  std::string out = normalize_name(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

bool valid_name(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto alnum = [](char c) { return is_digit(c) || is_lower(c); };
  return !lower.empty() && alnum(lower.front()) && alnum(lower.back()) &&
         std::all_of(lower.begin(), lower.end(),
                     [&](char c) { return alnum(c) || is_separator(c); });
}

std::optional<Version> Version::parse(std::string_view text) {
  const std::string lower = to_lower(trim(text));
  Cursor cursor(lower);
  cursor.take("v");
  Version out;
  auto value = cursor.number();
  if (!value) return std::nullopt;
  if (cursor.take("!")) {
    out.epoch_ = *value;
    value = cursor.number();
    if (!value) return std::nullopt;
  }
  out.release_.push_back(*value);
  while (cursor.peek() == '.' && cursor.rest().size() > 1 && is_digit(cursor.rest()[1])) {
    cursor.take(".");
    value = cursor.number();
    if (!value) return std::nullopt;
    out.release_.push_back(*value);
  }
  // The longer words first: "preview" before "pre", "rc" before "r".
  if (const auto pre = labelled(cursor, {"alpha", "beta", "preview", "pre", "rc", "a", "b", "c"})) {
    const char kind = pre->first[0];
    out.pre_ = std::pair(kind == 'a' || kind == 'b' ? kind : 'r', pre->second);
  }
  if (const auto post = labelled(cursor, {"post", "rev", "r"})) {
    out.post_ = post->second;
  } else if (cursor.peek() == '-' && cursor.rest().size() > 1 && is_digit(cursor.rest()[1])) {
    cursor.take("-");
    out.post_ = cursor.number();
    if (!out.post_) return std::nullopt;
  }
  if (const auto dev = labelled(cursor, {"dev"})) out.dev_ = dev->second;
  if (cursor.take("+")) {
    std::string segment;
    const auto finish = [&] {
      if (segment.empty()) return false;
      if (std::all_of(segment.begin(), segment.end(), is_digit)) {
        segment.erase(0, std::min(segment.find_first_not_of('0'), segment.size() - 1));
      }
      out.local_.push_back(std::exchange(segment, {}));
      return true;
    };
    for (const char c : cursor.rest()) {
      if (is_separator(c)) {
        if (!finish()) return std::nullopt;
      } else if (is_digit(c) || is_lower(c)) {
        segment += c;
      } else {
        return std::nullopt;
      }
    }
    if (!finish()) return std::nullopt;
    return out;
  }
  if (!cursor.done()) return std::nullopt;
  return out;
}

std::string Version::base_text() const {
  return (epoch_ != 0 ? fmt::format("{}!", epoch_) : "") +
         fmt::format("{}", fmt::join(release_, "."));
}

std::string Version::public_text() const {
  std::string out = base_text();
  if (pre_)
    out +=
        fmt::format("{}{}", pre_->first == 'r' ? "rc" : std::string(1, pre_->first), pre_->second);
  if (post_) out += fmt::format(".post{}", *post_);
  if (dev_) out += fmt::format(".dev{}", *dev_);
  return out;
}

std::string Version::text() const {
  return local_.empty() ? public_text() : public_text() + "+" + join(local_, ".");
}

int Version::compare(const Version& other) const {
  if (const int result = order(epoch_, other.epoch_)) return result;
  if (const int result = compare_releases(release_, other.release_)) return result;
  // 1.0.dev1 comes before 1.0a1, so a version with dev only sorts below every pre-release.
  const auto pre_key = [](const Version& v) -> std::pair<int, std::uint64_t> {
    if (v.pre_) return {v.pre_->first, v.pre_->second};
    if (!v.post_ && v.dev_) return {0, 0};
    return {std::numeric_limits<int>::max(), 0};
  };
  if (pre_key(*this) != pre_key(other)) return pre_key(*this) < pre_key(other) ? -1 : 1;
  const auto post_key = [](const Version& v) { return v.post_ ? *v.post_ + 1 : 0; };
  if (const int result = order(post_key(*this), post_key(other))) return result;
  const auto dev_key = [](const Version& v) {
    return v.dev_.value_or(std::numeric_limits<std::uint64_t>::max());
  };
  if (const int result = order(dev_key(*this), dev_key(other))) return result;
  return compare_local(local_, other.local_);
}

std::optional<Specifiers::Clause> Specifiers::parse_clause(std::string_view text) {
  text = trim(text);
  Clause out;
  for (const char* op : {"===", "==", "!=", "<=", ">=", "~=", "<", ">"}) {
    if (text.substr(0, std::string_view(op).size()) == op) {
      out.op = op;
      break;
    }
  }
  if (out.op.empty()) return std::nullopt;
  std::string_view right = trim(text.substr(out.op.size()));
  out.written = std::string(right);
  if (right.empty() || right.find_first_of(" \t,;()") != std::string_view::npos)
    return std::nullopt;
  if (out.op == "===") return out;
  if (right.size() > 2 && right.substr(right.size() - 2) == ".*") {
    if (out.op != "==" && out.op != "!=") return std::nullopt;
    out.prefix = true;
    right.remove_suffix(2);
  }
  out.version = Version::parse(right);
  if (!out.version) return std::nullopt;
  // PEP 440: a local version makes sense only for an exact match, "~=" needs two release numbers.
  if (out.version->has_local() && ((out.op != "==" && out.op != "!=") || out.prefix)) {
    return std::nullopt;
  }
  if (out.op == "~=" && out.version->release().size() < 2) return std::nullopt;
  return out;
}

std::optional<Specifiers> Specifiers::parse(std::string_view text) {
  Specifiers out;
  if (trim(text).empty()) return out;
  for (const std::string& part : split(text, ',')) {
    if (trim(part).empty()) continue;  // a trailing comma is common and harmless
    auto clause = parse_clause(part);
    if (!clause) return std::nullopt;
    out.clauses_.push_back(std::move(*clause));
  }
  return out;
}

bool Specifiers::holds(const Clause& clause, const Version& version) {
  if (clause.op == "===") return to_lower(clause.written) == to_lower(version.text());
  const Version& wanted = *clause.version;
  const auto public_part = [](const Version& v) { return *Version::parse(v.public_text()); };
  const auto has_prefix = [&](std::vector<std::uint64_t> prefix) {
    if (version.epoch() != wanted.epoch()) return false;
    std::vector<std::uint64_t> have = version.release();
    have.resize(std::max(have.size(), prefix.size()), 0);
    return std::equal(prefix.begin(), prefix.end(), have.begin());
  };
  const auto equal = [&] {
    if (clause.prefix) return has_prefix(wanted.release());
    return wanted.has_local() ? version == wanted : public_part(version) == wanted;
  };
  const Version plain = public_part(version);
  if (clause.op == "==") return equal();
  if (clause.op == "!=") return !equal();
  if (clause.op == "<=") return !(wanted < plain);
  if (clause.op == ">=") return !(plain < wanted);
  if (clause.op == "~=") {
    std::vector<std::uint64_t> prefix = wanted.release();
    prefix.pop_back();
    return !(plain < wanted) && has_prefix(prefix);
  }
  const auto same_base = [&] {
    return version.base_text() == wanted.base_text() ||
           *Version::parse(version.base_text()) == *Version::parse(wanted.base_text());
  };
  if (clause.op == "<") {  // "<3.1" doesn't allow 3.1.dev0 unless 3.1 is itself a pre-release
    return version < wanted && !(!wanted.is_prerelease() && version.is_prerelease() && same_base());
  }
  // ">1.7" allows neither 1.7.post1 nor 1.7+local
  return wanted < version &&
         !(!wanted.is_postrelease() && version.is_postrelease() && same_base()) &&
         !(version.has_local() && same_base());
}

bool Specifiers::contains(const Version& version) const {
  return std::all_of(clauses_.begin(), clauses_.end(),
                     [&](const Clause& clause) { return holds(clause, version); });
}

std::string Specifiers::text() const {
  std::vector<std::string> parts;
  for (const Clause& clause : clauses_) parts.push_back(clause.op + clause.written);
  return join(parts, ",");
}

}  // namespace felloe
