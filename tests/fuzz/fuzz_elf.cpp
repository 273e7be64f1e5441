#include "packaging/elf/elf.h"
#include "packaging/policy/platform.h"
#include "packaging/wheel/python_tags.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  const Bytes bytes = test::as_bytes(data, size, "fuzz.abi3.so");
  test::expect_result_or_input_error([&] {
    const ElfFile elf = read_elf(bytes);
    (void)read_symtab(elf);
    (void)python_support({{"fuzz.abi3.so", &elf}});
    (void)lowest_platform(elf.machine, {{"fuzz.abi3.so", &elf}});
  });
  return 0;
}
