// METADATA, RECORD and the file name: the three texts of a wheel.
#include "packaging/wheel/filename.h"
#include "packaging/wheel/headers.h"
#include "packaging/wheel/record.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  const std::string_view text = test::as_bytes(data, size, "fuzz").text();
  test::expect_result_or_input_error([&] { (void)parse_headers(text, "METADATA"); });
  test::expect_result_or_input_error([&] { (void)parse_record(text, "RECORD"); });
  test::expect_result_or_input_error([&] { (void)parse_wheel_filename(text); });
  return 0;
}
