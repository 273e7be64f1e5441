#include "engine/core/warn.h"

namespace treadle {
namespace {

constinit std::atomic<void (*)(const std::string&)> shown_by{nullptr};

}  // namespace

void warn(const std::string& text) {
  if (const auto show = shown_by.load(std::memory_order_acquire)) show(text);
}

void set_warner(void (*show)(const std::string& text)) {
  shown_by.store(show, std::memory_order_release);
}

}  // namespace treadle
