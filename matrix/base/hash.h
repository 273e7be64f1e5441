// SHA-256 through OpenSSL's EVP (SHA-NI where the CPU has it).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace felloe {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::uint8_t> data);
  void update(std::string_view data);
  std::array<std::uint8_t, 32> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hex(std::span<const std::uint8_t> data);

// URL-safe base64 without '=': the form RECORD uses (PEP 376, PEP 427).
std::string base64url(std::span<const std::uint8_t> data);

std::string sha256_hex(std::string_view data);
std::string sha256_record(std::string_view data);  // "sha256=<base64url>"

}  // namespace felloe
