// The bytes as an ELF file, and, since few inputs get that far, as bare code of either machine.
#include "packaging/isa/isa.h"
#include "tests/fuzz/expect.h"

namespace {

// A shared object without tables whose one executable segment is the whole input.
felloe::ElfFile bare_code(const felloe::Bytes& bytes, const char* machine, std::uint16_t id) {
  felloe::ElfFile elf;
  elf.bytes = bytes;
  elf.machine = machine;
  elf.machine_id = id;
  felloe::ElfSegment segment;
  segment.type = 1;
  segment.flags = 5;
  segment.vaddr = 0x1000;
  segment.file_size = segment.mem_size = bytes.size();
  elf.segments.push_back(segment);
  elf.init = 0x1000;
  return elf;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  const Bytes bytes = test::as_bytes(data, size, "fuzz.so");
  test::expect_result_or_input_error([&] {
    if (is_elf(bytes)) {
      (void)scan_isa(read_elf(bytes), "fuzz.so");
    } else {
      (void)scan_isa(bare_code(bytes, "x86_64", 62), "fuzz.so");
      (void)scan_isa(bare_code(bytes, "aarch64", 183), "fuzz.so");
    }
  });
  return 0;
}
