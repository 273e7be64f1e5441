#include "matrix/base/glob.h"

#include <algorithm>

#include "matrix/base/text.h"

namespace felloe {
namespace {

namespace fs = std::filesystem;

// Matches one "[...]" that starts at pattern[at]; moves `at` behind it. A '[' without its ']' is
// taken literally.
bool match_set(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  if (i >= pattern.size()) {
    ++at;
    return c == '[';
  }
  at = i + 1;
  return found != negated;
}

// One segment. Remembers the last '*' only, so the work is at most length times length.
bool match_segment(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    std::size_t next = p;
    bool same = false;
    if (p < pattern.size()) {
      if (pattern[p] == '[') {
        same = match_set(pattern, next, text[t]);
      } else {
        same = pattern[p] == '?' || pattern[p] == text[t];
        ++next;
      }
    }
    if (same) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

using Parts = std::vector<std::string>;

bool match_parts(const Parts& pattern, std::size_t p, const Parts& path, std::size_t t) {
  for (; p < pattern.size(); ++p, ++t) {
    if (pattern[p] == "**") {
      for (std::size_t i = t; i <= path.size(); ++i) {
        if (match_parts(pattern, p + 1, path, i)) return true;
      }
      return false;
    }
    if (t >= path.size() || !match_segment(pattern[p], path[t])) return false;
  }
  return t == path.size();
}

void find(const fs::path& folder, const std::string& prefix, const Parts& pattern, std::size_t p,
          std::vector<std::string>& out) {
  const bool last = p + 1 == pattern.size();
  std::error_code ec;
  if (pattern[p] == "**") {
    if (!last) find(folder, prefix, pattern, p + 1, out);
  } else if (!is_glob(pattern[p])) {
    const fs::path next = folder / pattern[p];
    if (last) {
      if (fs::is_regular_file(next, ec)) out.push_back(prefix + pattern[p]);
    } else if (fs::is_directory(next, ec)) {
      find(next, prefix + pattern[p] + "/", pattern, p + 1, out);
    }
    return;
  }
  const bool deep = pattern[p] == "**";
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::end(it); it.increment(ec)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->is_directory(ignored)) {
      if (it->is_symlink(ignored)) continue;
      if (deep) {
        find(it->path(), prefix + name + "/", pattern, p, out);
      } else if (!last && match_segment(pattern[p], name)) {
        find(it->path(), prefix + name + "/", pattern, p + 1, out);
      }
    } else if (last && it->is_regular_file(ignored) && (deep || match_segment(pattern[p], name))) {
      out.push_back(prefix + name);
    }
  }
}

}  // namespace

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool glob_match(std::string_view pattern, std::string_view path) {
  return match_parts(split(pattern, '/'), 0, split(path, '/'), 0);
}

std::vector<std::string> glob_files(const fs::path& root, std::string_view pattern) {
  Parts parts = split(pattern, '/');
  std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "."; });
  std::vector<std::string> out;
  if (!parts.empty()) find(root, "", parts, 0, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace felloe
