// One decoded instruction, as far as "which CPU does this need?" goes. Internal to packaging/isa.
// To add a feature: a name in kFeatureNames, a mapping in x86.cpp or a mask in aarch64.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "packaging/elf/elf.h"

namespace felloe::isa_detail {

// A set of CPU features: bit i stands for feature_name(i). Names are the kernel's.
using FeatureSet = std::uint64_t;

FeatureSet feature_bit(const char* name);
const char* feature_name(unsigned bit);

enum class Flow {
  next,
  branch,  // conditional, to `target`
  jump,    // to `target`, or through `slot`, or unknown
  call,    // likewise
  end,     // return, trap
  broken,  // no instruction
};

struct Insn {
  unsigned length = 1;  // bytes
  Flow flow = Flow::next;
  std::uint64_t target = 0;    // virtual address; 0: not known
  std::uint64_t slot = 0;      // address of the pointer that a jump or call goes through; 0: none
  FeatureSet features = 0;     // needed beyond the ABI's baseline
  bool legacy_vector = false;  // baseline vector code (SSE, SSE2)
  bool wide_vector = false;    // VEX or EVEX coded
  bool cpu_test = false;       // asks the CPU what it can: cpuid, xgetbv, mrs ID_*
  bool exclusive = false;  // AArch64 load- or store-exclusive: the other half of outline atomics
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // The instruction at file offset `offset` = address `vaddr`; looks at most at `room` bytes.
  virtual Insn decode(std::uint64_t offset, std::uint64_t vaddr, std::uint64_t room) const = 0;
  virtual std::string mnemonic(std::uint64_t offset, std::uint64_t vaddr,
                               std::uint64_t room) const = 0;
  // Where a run of code that can't be decoded goes on, bytes.
  virtual unsigned step() const = 0;
};

std::unique_ptr<Decoder> make_x86_decoder(const ElfFile& elf);
std::unique_ptr<Decoder> make_aarch64_decoder(const ElfFile& elf);

}  // namespace felloe::isa_detail
