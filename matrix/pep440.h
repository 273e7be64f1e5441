// Names and versions of Python packages: PEP 503 names, PEP 440 versions and version specifiers.
// Everything that compares or writes a version of a package goes through here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace felloe {

// PEP 503: lower case, each run of '-', '_' and '.' one '-'.
std::string normalize_name(std::string_view name);

// PEP 427/503 in a file name: as normalize_name, with '_' for '-'.
std::string wheel_name(std::string_view name);

// Core metadata's rule for Name: letters, digits, '.', '_', '-', a letter or digit at both ends.
bool valid_name(std::string_view name);

// One PEP 440 version. `text()` is its normal form.
class Version {
 public:
  // Nothing if `text` is no PEP 440 version. Accepts what the PEP's normalisation accepts
  // ("v1.0-RC1").
  static std::optional<Version> parse(std::string_view text);

  std::string text() const;         // "1!2.0rc1.post2.dev3+cpu.1"
  std::string public_text() const;  // without "+local"
  std::string base_text() const;    // epoch and release only
  bool is_prerelease() const { return pre_.has_value() || dev_.has_value(); }
  bool is_postrelease() const { return post_.has_value(); }
  bool has_local() const { return !local_.empty(); }
  std::uint64_t epoch() const { return epoch_; }
  const std::vector<std::uint64_t>& release() const { return release_; }

  // <0, 0 or >0, by the order of PEP 440 (dev < a < b < rc < release < post; local versions last).
  int compare(const Version& other) const;
  bool operator==(const Version& other) const { return compare(other) == 0; }
  bool operator<(const Version& other) const { return compare(other) < 0; }

 private:
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> release_;
  std::optional<std::pair<char, std::uint64_t>> pre_;  // 'a', 'b' or 'r' and its number
  std::optional<std::uint64_t> post_, dev_;
  std::vector<std::string> local_;  // lower-case segments
};

// A comma-separated set of clauses, e.g. ">=3.10,!=3.11.0,<4". The empty set holds every version.
class Specifiers {
 public:
  // Nothing if a clause is malformed. Operators: == != <= >= < > ~= ===, with ".*" after == and !=.
  static std::optional<Specifiers> parse(std::string_view text);

  // Whether `version` satisfies every clause. Pre-releases are not treated specially: that is the
  // installer's choice, not a property of the set.
  bool contains(const Version& version) const;

  bool empty() const { return clauses_.empty(); }

  // Clauses in their written order joined by ',', without spaces.
  std::string text() const;

 private:
  struct Clause {
    std::string op;
    std::string written;             // right-hand side as written, trimmed
    std::optional<Version> version;  // nothing for ===
    bool prefix = false;             // ended in ".*"
  };
  static std::optional<Clause> parse_clause(std::string_view text);
  static bool holds(const Clause& clause, const Version& version);
  std::vector<Clause> clauses_;
};

}  // namespace felloe
