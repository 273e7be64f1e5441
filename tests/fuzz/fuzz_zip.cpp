#include "packaging/zip/reader.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  const Bytes bytes = test::as_bytes(data, size, "fuzz.whl");
  test::expect_result_or_input_error([&] {
    const ZipReader zip(bytes, {.member = 1 << 20, .total = 1 << 24, .entries = 1000});
    for (const ZipEntry& entry : zip.entries()) {
      test::expect_result_or_input_error([&] { (void)zip.read(entry, 1 << 20); });
    }
    zip.require_sound();
  });
  return 0;
}
