// ISA0xx: code that needs more of the CPU than a platform tag can promise (x86-64-v1, Armv8.0-A).
#include <fmt/format.h>

#include "packaging/audit/rule.h"

namespace felloe {
namespace {

constexpr const char* kPsabi = "x86-64 psABI levels; Arm ARM (Armv8.0-A)";

void report(const AuditInput& in, AuditSink& sink, const char* when, const char* guard,
            const char* text) {
  for (const ScannedModule& m : in.scan.modules) {
    if (!m.isa.known()) continue;
    for (const IsaRequirement& r : m.isa->requirements) {
      if ((when != nullptr && r.when != when) || r.guard != guard) continue;
      Place place{.file = m.path, .data = {{"feature", r.feature}, {"when", r.when}}};
      std::string what = "code";
      if (r.where.known()) {
        place.symbol = r.where->symbol.value_or("");
        if (r.where->offset.known()) place.offset = static_cast<std::uint64_t>(*r.where->offset);
        what = r.where->mnemonic.value_or(what);
        if (!place.symbol.empty()) what += " in " + place.symbol;
      }
      sink.add(place, fmt::format("needs {} {}: {}", r.feature, text, what));
    }
  }
}

void at_load(const AuditInput& in, AuditSink& sink) {
  report(in, sink, "load", "none", "when it is loaded");
}

void on_call(const AuditInput& in, AuditSink& sink) {
  report(in, sink, "call", "none", "when it is used, without a check of the CPU");
}

void unproven(const AuditInput& in, AuditSink& sink) {
  report(in, sink, nullptr, "unknown",
         "perhaps; whether a check of the CPU comes first isn't proven");
}

void note(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    if (!m.elf.isa_note || m.elf.isa_note->needed.value_or(0) <= 1) continue;
    int level = 1;
    while ((*m.elf.isa_note->needed >> level) != 0) ++level;
    sink.add({.file = m.path, .symbol = "GNU_PROPERTY_X86_ISA_1_NEEDED"},
             fmt::format("declares that it needs x86-64-v{}", level));
  }
}

}  // namespace

const std::vector<Rule> kIsaRules = {
    {"ISA001", Severity::error, "loading needs more than the baseline CPU",
     "the import dies with SIGILL on every CPU without the feature, and no tag can keep the wheel "
     "away from it",
     "compile start-up code for the baseline, put the rest behind a check of the CPU", kPsabi,
     at_load},
    {"ISA002", Severity::error, "the ISA note asks for more than x86-64-v1",
     "glibc 2.33 and later refuse to load it on lesser CPUs",
     "link with -z x86-64-baseline, or build for the baseline",
     "x86-64 psABI, GNU_PROPERTY_X86_ISA_1_NEEDED", note},
    {"ISA003", Severity::warning, "the whole module is compiled for more than the baseline CPU",
     "the first call dies with SIGILL on lesser CPUs",
     "compile for the baseline and choose faster kernels at run time", kPsabi, on_call},
    {"ISA004", Severity::info, "code beyond the baseline, not proven to be behind a check",
     "it may die with SIGILL on lesser CPUs",
     "try the import under qemu-user with the oldest CPU promised", kPsabi, unproven},
};

}  // namespace felloe
