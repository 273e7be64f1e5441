// Who holds the GIL, said with thread-local state: letting it go around long work, and knowing that
// this thread has it where a reference to an object of Python's is counted.
#pragma once
#include <atomic>
#include <utility>

#include <nanobind/nanobind.h>  // Python.h, as nanobind wants it
#include "engine/core/export.h"

namespace treadle::bind {

// In a scope with GilHeld this thread has the GIL and runs nothing but the engine's C++, so that
// counting a reference needn't ask CPython for the GIL (which costs as much as a small op).
// Whatever may run other code inside such a scope (an object's end, a buffer's release) closes it
// for that time with GilHeld(false): other code may let the GIL go and call the engine without it.
class GilHeld {
 public:
  explicit GilHeld(bool held = true) : before_(std::exchange(held_, held)) {}
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;
  ~GilHeld() { held_ = before_; }
  static bool here() { return held_; }

 private:
  TREADLE_FAST_TLS static inline thread_local constinit bool held_ = false;
  bool before_;
};

// Releases the GIL while work runs that calls no Python.
class WithoutGil {
 public:
  WithoutGil() {
    threads_.fetch_add(1, std::memory_order_relaxed);  // before others can take the GIL
    state_ = PyEval_SaveThread();
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    PyEval_RestoreThread(state_);
    threads_.fetch_sub(1, std::memory_order_relaxed);
  }
  // How many threads are doing so. Ask with the GIL.
  static int threads() { return threads_.load(std::memory_order_relaxed); }

 private:
  static inline std::atomic<int> threads_{0};
  const GilHeld not_{false};
  PyThreadState* state_;
};

}  // namespace treadle::bind
