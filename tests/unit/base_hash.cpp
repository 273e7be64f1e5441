#include "matrix/base/hash.h"

#include <catch2/catch.hpp>

using namespace felloe;

TEST_CASE("SHA-256 of the standard's examples") {  // FIPS 180-4
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("pieces hash like the whole") {
  Sha256 hash;
  hash.update("a");
  hash.update("bc");
  CHECK(hex(hash.finish()) == sha256_hex("abc"));
}

TEST_CASE("RECORD's base64 has the URL alphabet and no padding") {  // RFC 4648, section 10
  const auto encode = [](std::string_view text) {
    return base64url(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  };
  CHECK(encode("f") == "Zg");
  CHECK(encode("fo") == "Zm8");
  CHECK(encode("foobar") == "Zm9vYmFy");
  CHECK(encode("\xfb\xff") == "-_8");
  CHECK(sha256_record("") == "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}
