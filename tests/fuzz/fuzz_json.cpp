#include "matrix/base/json.h"
#include "matrix/facts.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  const std::string_view text = test::as_bytes(data, size, "fuzz.json").text();
  test::expect_result_or_input_error([&] {
    const Json json = parse_json(text, "fuzz.json");
    (void)dump_json(json);
    test::expect_result_or_input_error([&] { (void)to_json(host_from_json(json, "fuzz.json")); });
    (void)to_json(wheel_from_json(json, "fuzz.json"));
  });
  return 0;
}
