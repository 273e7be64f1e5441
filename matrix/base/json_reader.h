// Reading typed values out of a JSON document with errors that name the file and the JSON pointer
// of the place ("host.json#/os/kernel"). Used for facts and for felloe.json.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "matrix/base/error.h"
#include "matrix/base/json.h"

namespace felloe {

// One place in a document. Cheap to copy; doesn't own the document.
class JsonNode {
 public:
  // `kind` is what a wrong type throws: input for facts, usage for felloe.json.
  JsonNode(const Json& json, const std::string& document, ErrorKind kind = ErrorKind::input)
      : json_(&json), document_(&document), kind_(kind) {}

  const Json& json() const { return *json_; }
  bool is_null() const { return json_->is_null(); }

  // The value of `key`, which must be there. Throws unless this is an object.
  JsonNode at(const std::string& key) const;
  bool has(const std::string& key) const;
  JsonNode item(std::size_t index) const;

  // Typed values; each throws naming the place and what stands there.
  void read(std::string& out) const;
  void read(bool& out) const;
  void read(std::int64_t& out) const;
  void read(int& out) const;
  void read(std::vector<std::string>& out) const;
  void read(std::map<std::string, std::string>& out) const;

  std::size_t size() const;  // of an array
  void check_object() const;

  std::string where() const { return *document_ + "#" + (path_.empty() ? "/" : path_); }
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
  // "must be X, not 5"
  [[noreturn]] void fail_type(const std::string& expected) const;

 private:
  JsonNode step(const Json& json, const std::string& key) const;

  const Json* json_;
  const std::string* document_;
  ErrorKind kind_;
  std::string path_;
};

}  // namespace felloe
