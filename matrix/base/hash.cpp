#include "matrix/base/hash.h"

#include <openssl/evp.h>

#include "matrix/base/error.h"

namespace felloe {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr ||
      EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorKind::environment, "libcrypto", "SHA-256 is not available");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::uint8_t> data) {
  EVP_DigestUpdate(state_->context, data.data(), data.size());
}

void Sha256::update(std::string_view data) {
  EVP_DigestUpdate(state_->context, data.data(), data.size());
}

std::array<std::uint8_t, 32> Sha256::finish() {
  std::array<std::uint8_t, 32> out{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, out.data(), &size);
  return out;
}

std::string hex(std::span<const std::uint8_t> data) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(data.size() * 2);
  for (const std::uint8_t byte : data) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string base64url(std::span<const std::uint8_t> data) {
  static constexpr char alphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : data) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= 6; count -= 6) out += alphabet[(bits >> (count - 6)) & 63];
  }
  if (count > 0) out += alphabet[(bits << (6 - count)) & 63];
  return out;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return hex(hash.finish());
}

std::string sha256_record(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return "sha256=" + base64url(hash.finish());
}

}  // namespace felloe
