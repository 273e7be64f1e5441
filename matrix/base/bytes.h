// Bounds-checked, endian-fixed reading of untrusted bytes. Every parser (zip, ELF, fatbin) sits on
// this view: no pointer arithmetic, no casts, and each failure names the file and the offset.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "matrix/base/error.h"

namespace felloe {

class Bytes {
 public:
  Bytes() = default;
  // `name` is what errors call these bytes (a path, or `wheel!member`). The view doesn't own
  // `data`.
  Bytes(std::span<const std::uint8_t> data, std::string name, std::uint64_t base = 0)
      : data_(data), name_(std::move(name)), base_(base) {}
  Bytes(std::string_view data, std::string name)
      : Bytes(std::span(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()),
              std::move(name)) {}

  std::uint64_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }
  const std::string& name() const { return name_; }
  std::span<const std::uint8_t> span() const { return data_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_.data()), data_.size()};
  }

  bool contains(std::uint64_t offset, std::uint64_t count) const {
    return offset <= data_.size() && count <= data_.size() - offset;
  }

  // Little-endian fields, any alignment. Throw Error{input} past the end.
  std::uint8_t u8(std::uint64_t offset) const { return check(offset, 1), data_[offset]; }
  std::uint16_t u16(std::uint64_t offset) const { return field<std::uint16_t>(offset); }
  std::uint32_t u32(std::uint64_t offset) const { return field<std::uint32_t>(offset); }
  std::uint64_t u64(std::uint64_t offset) const { return field<std::uint64_t>(offset); }
  std::int64_t i64(std::uint64_t offset) const { return static_cast<std::int64_t>(u64(offset)); }

  // The bytes [offset, offset + count).
  Bytes slice(std::uint64_t offset, std::uint64_t count) const {
    check(offset, count);
    return Bytes(data_.subspan(offset, count), name_, base_ + offset);
  }

  // The text up to the next NUL, which must come within `max` bytes and inside the view.
  std::string_view cstr(std::uint64_t offset, std::uint64_t max = 4096) const;

  // "name@0xOFFSET", the offset counted from the start of the outermost view.
  std::string where(std::uint64_t offset) const;

  [[noreturn]] void fail(std::uint64_t offset, const std::string& message,
                         const std::string& hint = {}) const;

 private:
  void check(std::uint64_t offset, std::uint64_t count) const {
    if (!contains(offset, count)) fail_bounds(offset, count);
  }
  [[noreturn]] void fail_bounds(std::uint64_t offset, std::uint64_t count) const;
  template <class T>
  T field(std::uint64_t offset) const {
    check(offset, sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(data_[offset + i]) << (8 * i)));
    }
    return value;
  }

  std::span<const std::uint8_t> data_;
  std::string name_;
  std::uint64_t base_ = 0;
};

}  // namespace felloe
