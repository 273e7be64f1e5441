#include "matrix/base/json_reader.h"

#include <limits>

namespace felloe {

JsonNode JsonNode::step(const Json& json, const std::string& key) const {
  JsonNode node = *this;
  node.json_ = &json;
  node.path_ += '/';
  for (const char c : key) {  // RFC 6901
    if (c == '~') {
      node.path_ += "~0";
    } else if (c == '/') {
      node.path_ += "~1";
    } else {
      node.path_ += c;
    }
  }
  return node;
}

JsonNode JsonNode::at(const std::string& key) const {
  check_object();
  const auto it = json_->find(key);
  if (it == json_->end()) fail("`" + key + "` is missing");
  return step(*it, key);
}

bool JsonNode::has(const std::string& key) const {
  check_object();
  return json_->contains(key);
}

JsonNode JsonNode::item(std::size_t index) const {
  return step(json_->at(index), std::to_string(index));
}

void JsonNode::read(std::string& out) const {
  if (!json_->is_string()) fail_type("a string");
  out = json_->get<std::string>();
}

void JsonNode::read(bool& out) const {
  if (!json_->is_boolean()) fail_type("true or false");
  out = json_->get<bool>();
}

void JsonNode::read(std::int64_t& out) const {
  // An unsigned value beyond int64 would wrap.
  if (!json_->is_number_integer() ||
      (json_->is_number_unsigned() &&
       json_->get<std::uint64_t>() >
           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))) {
    fail_type("an integer");
  }
  out = json_->get<std::int64_t>();
}

void JsonNode::read(int& out) const {
  std::int64_t wide = 0;
  read(wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    fail_type("a 32-bit integer");
  }
  out = static_cast<int>(wide);
}

void JsonNode::read(std::vector<std::string>& out) const {
  out.resize(size());
  for (std::size_t i = 0; i < out.size(); ++i) item(i).read(out[i]);
}

void JsonNode::read(std::map<std::string, std::string>& out) const {
  check_object();
  for (const auto& [key, value] : json_->items()) at(key).read(out[key]);
}

std::size_t JsonNode::size() const {
  if (!json_->is_array()) fail_type("a list");
  return json_->size();
}

void JsonNode::check_object() const {
  if (!json_->is_object()) fail_type("an object");
}

void JsonNode::fail(const std::string& message, const std::string& hint) const {
  throw Error(kind_, where(), message,
              hint.empty() ? "correct it; docs/schema says what is expected here" : hint);
}

void JsonNode::fail_type(const std::string& expected) const {
  std::string got = dump_json_compact(*json_);
  if (got.size() > 40) got = got.substr(0, 37) + "...";
  fail("must be " + expected + ", not " + got);
}

}  // namespace felloe
