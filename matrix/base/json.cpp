#include "matrix/base/json.h"

#include "matrix/base/error.h"
#include "matrix/base/fs.h"

template class nlohmann::basic_json<>;

namespace felloe {
namespace {

// nlohmann's parser recurses over nothing (it is iterative), but consumers of the value recurse, so
// depth is bounded while parsing.
void check_depth(std::string_view text, const std::string& where) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '*') {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return;  // the parser reports it
      i = end + 1;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) {
        throw Error(ErrorKind::input, where,
                    "JSON is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels",
                    "check that this is the right file: felloe's own are never so deep");
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  if (text.size() > kMaxJsonBytes) {
    throw Error(ErrorKind::input, where,
                "JSON is larger than " + std::to_string(kMaxJsonBytes >> 20) + " MiB",
                "check that this is the right file");
  }
  check_depth(text, where);
  try {
    return Json::parse(text.begin(), text.end(), nullptr, true, true);
  } catch (const Json::parse_error& error) {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i + 1 < error.byte && i < text.size(); ++i) {
      if (text[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    throw Error(ErrorKind::input, where + ":" + std::to_string(line) + ":" + std::to_string(column),
                "not valid JSON", "check the text at this position for a missing quote or comma");
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input, where, std::string("not valid JSON: ") + error.what(),
                "check that this is the right file, in UTF-8");
  }
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, kMaxJsonBytes), path.string());
}

std::string dump_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string dump_json_compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace felloe
