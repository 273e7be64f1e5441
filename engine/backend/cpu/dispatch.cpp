#include "engine/backend/cpu/dispatch.h"

#include <cstdlib>
#include <memory>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/error.h"
#include "probe/cpu/cpu.h"

namespace treadle {

// Defined by backend/cpu/kernels/table.cpp, once for each ISA.
#define TREADLE_DECLARE_ISA(isa) \
  namespace isa {                \
  void fill(kernel::Table&);     \
  }
TREADLE_DECLARE_ISA(base)
TREADLE_DECLARE_ISA(avx2)
TREADLE_DECLARE_ISA(avx512)
TREADLE_DECLARE_ISA(neon)
TREADLE_DECLARE_ISA(sve)
#undef TREADLE_DECLARE_ISA

namespace {

using felloe::cpu::FeatureSet;

struct Isa {
  std::string_view name;
  void (*fill)(kernel::Table&);
  FeatureSet needs;
};

// Best first. TREADLE_HAS_* come from the TREADLE_ISAS option; `needs` is what the compiler's flags
// of that ISA (engine/CMakeLists.txt) allow it to emit.
constexpr Isa kIsas[] = {
#ifdef TREADLE_HAS_AVX512
    {"avx512", avx512::fill, felloe::cpu::x86_level_set(4)},
#endif
#ifdef TREADLE_HAS_AVX2
    {"avx2", avx2::fill, felloe::cpu::x86_level_set(3)},
#endif
#ifdef TREADLE_HAS_BASE
    {"base", base::fill, felloe::cpu::x86_level_set(1)},
#endif
#ifdef TREADLE_HAS_SVE
    {"sve", sve::fill, felloe::cpu::arm_set("sve")},
#endif
#ifdef TREADLE_HAS_NEON
    {"neon", neon::fill, FeatureSet{}},
#endif
};
constexpr std::size_t kIsaCount = sizeof(kIsas) / sizeof(kIsas[0]);

const FeatureSet& host_features() {
  static const FeatureSet features = felloe::cpu::detect().features;
  return features;
}

std::string missing_features(const Isa& isa) {
  std::string out;
  FeatureSet::without(isa.needs, host_features()).for_each([&](felloe::cpu::Feature f) {
    out += (out.empty() ? "" : " ") + std::string(felloe::cpu::name(f));
  });
  return out;
}

std::string compiled_names() {
  std::string out;
  for (const Isa& isa : kIsas) out += (out.empty() ? "" : ", ") + std::string(isa.name);
  return out;
}

const Isa& find_isa(std::string_view name, std::string_view origin) {
  for (const Isa& isa : kIsas) {
    if (isa.name != name) continue;
    if (host_features().contains(isa.needs)) return isa;
    fail(ErrorKind::value,
         std::string(origin) + " asks for the ISA '" + std::string(name) +
             "', but this CPU or its operating system lacks: " + missing_features(isa));
  }
  fail(ErrorKind::value, std::string(origin) + " asks for the ISA '" + std::string(name) +
                             "', which isn't in this build; built are: " + compiled_names());
}

const Isa& choose() {
  if (const char* forced = std::getenv("TREADLE_FORCE_ISA"); forced != nullptr && *forced != 0) {
    return find_isa(forced, "TREADLE_FORCE_ISA");
  }
  for (const Isa& isa : kIsas) {
    if (host_features().contains(isa.needs)) return isa;
  }
  fail(ErrorKind::runtime, "no kernels for this CPU in this build; built are: " + compiled_names());
}

// The names and the kernels of the chosen ISA. Never freed: kernels may run until the process ends.
struct Chosen {
  const Isa* isa;
  kernel::Table table;
};
constinit std::atomic<const Chosen*> the_choice{nullptr};

const Chosen& chosen() {
  const Chosen* now = the_choice.load(std::memory_order_acquire);
  if (now != nullptr) return *now;
  auto made = std::make_unique<Chosen>();
  made->isa = &choose();
  made->isa->fill(made->table);
  if (the_choice.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *now;  // another thread was first
}

}  // namespace

constinit std::atomic<const kernel::Table*> chosen_table{nullptr};

const kernel::Table& choose_table() {
  const kernel::Table& made = chosen().table;
  chosen_table.store(&made, std::memory_order_release);
  return made;
}

std::string_view current_isa() { return chosen().isa->name; }

std::vector<IsaInfo> compiled_isas() {
  std::vector<IsaInfo> out;
  for (const Isa& isa : kIsas) {
    const std::string missing = missing_features(isa);
    out.push_back({isa.name, missing.empty(), missing});
  }
  return out;
}

const kernel::Table& table_of(std::string_view name) {
  const Isa& isa = find_isa(name, "the caller");
  static constinit std::atomic<const kernel::Table*> tables[kIsaCount] = {};
  std::atomic<const kernel::Table*>& slot = tables[&isa - kIsas];
  const kernel::Table* now = slot.load(std::memory_order_acquire);
  if (now != nullptr) return *now;
  auto made = std::make_unique<kernel::Table>();
  isa.fill(*made);
  if (slot.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *now;
}

std::string config_string() {
  return "isa=" + std::string(current_isa()) + " (built: " + compiled_names() +
         "); threads=" + std::to_string(get_num_threads()) + "; gemm=" + blas::description();
}

}  // namespace treadle
