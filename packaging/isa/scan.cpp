// The coarse analysis that isa.h describes.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "packaging/isa/functions.h"
#include "packaging/isa/insn.h"
#include "packaging/isa/isa.h"

namespace felloe {
namespace {

using namespace isa_detail;  // NOLINT: this file is the other half of that namespace

// Thresholds of the share rule, found on some 300 modules of public wheels: built with AVX or more
// 0-0.034, all others 0.30 and up; SSE4.1 builds 0.125 and up, dispatchers up to 0.08 (one 0.117).
constexpr double kWholeModule = 0.10;
constexpr double kSse4Sure = 0.12, kSse4Perhaps = 0.08;
constexpr std::size_t kFewFunctions = 20;  // below, shares say nothing
// A feature belongs to what the whole module was compiled for if this share of vector functions
// uses it.
constexpr double kCommon = 0.05;
constexpr std::size_t kMaxPath = 200'000;  // instructions followed on the must-run path

struct Function {
  std::uint64_t start = 0, end = 0;  // virtual addresses
  std::uint64_t offset = 0;          // file offset of start
  std::string name;
  FeatureSet features = 0;
  bool legacy_vector = false, wide_vector = false, exclusive = false;
  std::vector<std::uint64_t> calls;  // direct targets outside the function
};

struct Use {
  std::uint64_t offset = 0;
  std::string symbol, mnemonic;
};

class Scan {
 public:
  Scan(const ElfFile& elf, std::string path, std::unique_ptr<Decoder> decoder)
      : elf_(elf),
        path_(std::move(path)),
        decoder_(std::move(decoder)),
        slots_(pointer_slots(elf)) {}

  ModuleIsa run() {
    read_functions();
    for (Function& f : functions_) decode(f);
    const std::vector<std::uint64_t> roots = load_roots(elf_, slots_);
    for (const std::uint64_t root : roots) follow(root);
    reach(roots);
    judge_calls();
    return result();
  }

 private:
  void read_functions() {
    const std::vector<CodeRange> ranges = code_ranges(elf_);
    const std::vector<FunctionStart> starts = function_starts(elf_, ranges);
    std::size_t r = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      while (starts[i].vaddr - ranges[r].vaddr >= ranges[r].size) ++r;
      Function f;
      f.start = starts[i].vaddr;
      f.end = ranges[r].vaddr + ranges[r].size;
      if (i + 1 < starts.size()) f.end = std::min(f.end, starts[i + 1].vaddr);
      f.offset = ranges[r].offset + (f.start - ranges[r].vaddr);
      f.name = starts[i].name;
      functions_.push_back(std::move(f));
    }
  }

  // The function that holds an address, or null.
  Function* at(std::uint64_t vaddr) {
    auto it = std::upper_bound(functions_.begin(), functions_.end(), vaddr,
                               [](std::uint64_t v, const Function& f) { return v < f.start; });
    if (it == functions_.begin()) return nullptr;
    --it;
    return vaddr < it->end ? &*it : nullptr;
  }

  std::uint64_t target_of(const Insn& i) const {
    if (i.target != 0 || i.slot == 0) return i.target;
    const auto it = slots_.find(i.slot);
    return it == slots_.end() ? 0 : it->second;
  }

  void decode(Function& f) {
    for (std::uint64_t v = f.start; v < f.end;) {
      const std::uint64_t offset = f.offset + (v - f.start);
      const Insn i = decoder_->decode(offset, v, f.end - v);
      if (i.flow == Flow::broken) {
        v += decoder_->step();
        continue;
      }
      for (FeatureSet fresh = i.features & ~first_seen_mask_; fresh != 0; fresh &= fresh - 1) {
        const auto bit = static_cast<unsigned>(__builtin_ctzll(fresh));
        first_seen_[bit] = use_at(f, offset, v);
        first_seen_mask_ |= FeatureSet{1} << bit;
      }
      f.features |= i.features;
      f.legacy_vector |= i.legacy_vector;
      f.wide_vector |= i.wide_vector;
      f.exclusive |= i.exclusive;
      if (i.flow == Flow::call || i.flow == Flow::jump || i.flow == Flow::branch) {
        const std::uint64_t target = target_of(i);
        if (target != 0 && (target < f.start || target >= f.end)) f.calls.push_back(target);
      }
      v += i.length;
    }
  }

  Use use_at(const Function& f, std::uint64_t offset, std::uint64_t v) const {
    return {offset, f.name, decoder_->mnemonic(offset, v, f.end - v)};
  }

  // The path that every load takes: through jumps and calls, up to the first conditional branch.
  void follow(std::uint64_t start) {
    std::vector<std::uint64_t> returns;
    std::uint64_t v = start;
    for (std::size_t steps = 0; steps < kMaxPath && must_.insert(v).second; ++steps) {
      const Function* f = at(v);
      if (f == nullptr) return;
      const std::uint64_t offset = f->offset + (v - f->start);
      const Insn i = decoder_->decode(offset, v, f->end - v);
      for (FeatureSet set = i.features & ~load_mask_; set != 0; set &= set - 1) {
        const auto bit = static_cast<unsigned>(__builtin_ctzll(set));
        load_.emplace(bit, use_at(*f, offset, v));
        load_mask_ |= FeatureSet{1} << bit;
      }
      switch (i.flow) {
        case Flow::branch:
        case Flow::broken:
          return;
        case Flow::next:
          v += i.length;
          break;
        case Flow::jump: {
          const std::uint64_t target = target_of(i);
          if (target == 0) return;
          v = target;
          break;
        }
        case Flow::call: {
          const std::uint64_t target = target_of(i);
          // A call elsewhere (another library, a pointer) is taken to return.
          if (target != 0 && at(target) != nullptr && !must_.contains(target)) {
            returns.push_back(v + i.length);
            v = target;
          } else {
            v += i.length;
          }
          break;
        }
        case Flow::end:
          if (returns.empty()) return;
          v = returns.back();
          returns.pop_back();
          break;
      }
    }
  }

  // Functions that direct calls reach from the roots, whatever branch lies before.
  void reach(const std::vector<std::uint64_t>& roots) {
    std::unordered_set<const Function*> seen;
    std::vector<Function*> todo;
    const auto visit = [&](std::uint64_t v) {
      Function* f = at(v);
      if (f != nullptr && seen.insert(f).second) todo.push_back(f);
    };
    for (const std::uint64_t root : roots) visit(root);
    while (!todo.empty()) {
      const Function* f = todo.back();
      todo.pop_back();
      for (FeatureSet set = unguarded(*f) & ~load_mask_; set != 0; set &= set - 1) {
        const auto bit = static_cast<unsigned>(__builtin_ctzll(set));
        if (!perhaps_.contains(bit)) perhaps_.emplace(bit, find(*f, bit));
      }
      for (const std::uint64_t target : f->calls) visit(target);
    }
  }

  // Outline atomics hold both halves: LSE for CPUs that have it, load-exclusive for the others.
  FeatureSet unguarded(const Function& f) const {
    return f.exclusive ? f.features & ~lse_ : f.features;
  }

  // The first use of a feature in a function.
  Use find(const Function& f, unsigned bit) const {
    for (std::uint64_t v = f.start; v < f.end;) {
      const std::uint64_t offset = f.offset + (v - f.start);
      const Insn i = decoder_->decode(offset, v, f.end - v);
      if ((i.features >> bit & 1u) != 0) return use_at(f, offset, v);
      v += i.flow == Flow::broken ? decoder_->step() : i.length;
    }
    return {f.offset, f.name, {}};
  }

  void judge_calls() {
    std::size_t vector = 0, legacy = 0, sse4 = 0;
    std::map<unsigned, std::size_t> users;
    const FeatureSet sse4_bit = feature_bit("sse4_1");
    for (const Function& f : functions_) {
      if ((unguarded(f) & lse_) != 0 && !call_.contains(lse_index())) {
        call_.emplace(lse_index(), std::pair(find(f, lse_index()), false));
      }
      if (!f.legacy_vector && !f.wide_vector) continue;
      ++vector;
      legacy += f.legacy_vector ? 1 : 0;
      sse4 += !f.wide_vector && (f.features & sse4_bit) != 0 ? 1 : 0;
      for (FeatureSet set = f.features; set != 0; set &= set - 1) {
        ++users[static_cast<unsigned>(__builtin_ctzll(set))];
      }
    }
    if (vector < kFewFunctions) return;
    const auto share = [&](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(vector);
    };
    if (share(legacy) < kWholeModule) {
      for (const auto& [bit, n] : users) {
        if (share(n) >= kCommon) call_.emplace(bit, std::pair(first_seen_.at(bit), true));
      }
    } else if (share(sse4) >= kSse4Perhaps) {
      const auto bit = static_cast<unsigned>(__builtin_ctzll(sse4_bit));
      call_.emplace(bit, std::pair(first_seen_.at(bit), share(sse4) >= kSse4Sure));
    }
  }

  unsigned lse_index() const { return static_cast<unsigned>(__builtin_ctzll(lse_)); }

  void require(ModuleIsa& out, unsigned bit, const char* when, bool sure, const Use& use) const {
    Where where;
    where.module = path_;
    if (!use.symbol.empty()) where.symbol = use.symbol;
    if (!use.mnemonic.empty()) where.mnemonic = use.mnemonic;
    where.offset = static_cast<std::int64_t>(use.offset);
    out.requirements.push_back({feature_name(bit), when, sure ? "none" : "unknown", where});
  }

  ModuleIsa result() const {
    ModuleIsa out;
    FeatureSet named = 0;
    for (const auto& [bit, use] : load_) {
      require(out, bit, "load", true, use);
      named |= FeatureSet{1} << bit;
    }
    for (const auto& [bit, use] : perhaps_) {
      if ((named >> bit & 1u) != 0) continue;
      require(out, bit, "load", false, use);
      named |= FeatureSet{1} << bit;
    }
    for (const auto& [bit, use] : call_) {
      const bool sure = use.second;
      // A sure need on call says more than an unproven one at load.
      if ((named >> bit & 1u) != 0 && !(sure && perhaps_.contains(bit))) continue;
      require(out, bit, "call", sure, use.first);
      named |= FeatureSet{1} << bit;
    }
    std::set<std::string> dispatched;
    for (const auto& [bit, use] : first_seen_) {
      if ((named >> bit & 1u) == 0) dispatched.insert(feature_name(bit));
    }
    out.dispatched.assign(dispatched.begin(), dispatched.end());
    std::sort(out.requirements.begin(), out.requirements.end(),
              [](const IsaRequirement& a, const IsaRequirement& b) {
                return std::tuple(a.feature, a.when, a.guard) <
                       std::tuple(b.feature, b.when, b.guard);
              });
    return out;
  }

  const ElfFile& elf_;
  std::string path_;
  std::unique_ptr<Decoder> decoder_;
  std::unordered_map<std::uint64_t, std::uint64_t> slots_;
  std::vector<Function> functions_;
  FeatureSet lse_ = feature_bit("atomics");
  FeatureSet first_seen_mask_ = 0, load_mask_ = 0;
  std::map<unsigned, Use> first_seen_, load_, perhaps_;
  std::map<unsigned, std::pair<Use, bool>> call_;  // bool: sure
  std::unordered_set<std::uint64_t> must_;         // addresses on the must-run path
};

}  // namespace

Fact<ModuleIsa> scan_isa(const ElfFile& elf, const std::string& path) {
  if (elf.machine == "x86_64") return Scan(elf, path, make_x86_decoder(elf)).run();
  if (elf.machine == "aarch64" && !elf.big_endian) {
    return Scan(elf, path, make_aarch64_decoder(elf)).run();
  }
  return {};
}

}  // namespace felloe
