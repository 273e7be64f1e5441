// Warnings to the user: what is allowed and probably not meant. The Python module shows them as
// UserWarning; where there is none nobody is told.
#pragma once
#include <atomic>
#include <string>

#pragma GCC visibility push(default)
namespace treadle {

// May throw: Python's filters can make an error of a warning.
void warn(const std::string& text);

// A place that warns once in the life of the process: `static WarnOnce once; once("...")`.
class WarnOnce {
 public:
  void operator()(const std::string& text) {
    if (!done_.exchange(true, std::memory_order_relaxed)) warn(text);
  }

 private:
  std::atomic<bool> done_{false};
};

// Who shows warnings, from any thread; null for nobody.
void set_warner(void (*show)(const std::string& text));

}  // namespace treadle
#pragma GCC visibility pop
