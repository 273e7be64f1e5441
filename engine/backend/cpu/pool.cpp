#include "engine/backend/cpu/pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "engine/backend/cpu/cpu_limit.h"
#include "engine/core/error.h"

namespace treadle {
namespace {

constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMaxPieces = 1024;

// True while this thread runs a piece: nested parallel work stays on it.
thread_local bool inside = false;

struct Job {
  RangeFn fn;
  const void* context;
  std::int64_t begin, end, piece;
  std::atomic<std::int64_t> next;  // start of the first piece nobody has taken
  std::mutex error_mutex;
  std::int64_t error_at = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error;

  void work() {
    inside = true;
    for (;;) {
      const std::int64_t b = next.fetch_add(piece, std::memory_order_relaxed);
      if (b >= end) break;
      try {
        fn(context, b, std::min(end, b + piece));
      } catch (...) {
        next.store(end, std::memory_order_relaxed);
        const std::lock_guard lock(error_mutex);
        if (b < error_at) error_at = b, error = std::current_exception();
      }
    }
    inside = false;
  }
};

// One job at a time. Workers join and leave it under the mutex, so a job outlives its last worker.
class Pool {
 public:
  // False if another thread's job is running: the caller then works alone.
  bool try_run(Job& job, int helpers) {
    const std::unique_lock running(run_mutex_, std::try_to_lock);
    if (!running.owns_lock()) return false;
    {
      const std::lock_guard lock(mutex_);
      start_workers(helpers);
      job_ = &job;
      places_ = std::min(helpers, workers_);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    places_ = 0;
    done_.wait(lock, [&] { return busy_ == 0; });
    return true;
  }

 private:
  void start_workers(int wanted) {
    // Signals go to the program's own threads (Python expects Ctrl-C on its main one).
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // No more threads to be had: those that run will do.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::uint64_t seen = 0;
    for (;;) {
      // Work often comes in quick succession: look for some microseconds before sleeping.
      for (int i = 0; i < kSpins && generation_.load(std::memory_order_acquire) == seen; ++i) {
        if (i % 64 == 63) std::this_thread::yield();
      }
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      seen = generation_.load(std::memory_order_relaxed);
      if (job_ == nullptr || places_ == 0) continue;
      --places_;
      ++busy_;
      Job& job = *job_;
      lock.unlock();
      job.work();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  static constexpr int kSpins = 2048;
  std::mutex run_mutex_;  // held for the length of a job
  std::mutex mutex_;      // everything below
  std::condition_variable wake_, done_;
  std::atomic<std::uint64_t> generation_{0};
  Job* job_ = nullptr;
  int places_ = 0;   // workers that may still join
  int busy_ = 0;     // workers inside the job
  int workers_ = 0;  // threads started
};

// Never freed: workers use it until the process ends. After a fork the child drops the parent's
// (its threads don't exist there and its mutexes may be held for ever) and makes its own when
// needed.
constinit std::atomic<Pool*> the_pool{nullptr};
constinit std::atomic<int> the_threads{0};  // 0: not decided yet

void forget_pool_in_child() { the_pool.store(nullptr, std::memory_order_relaxed); }

Pool& pool() {
  Pool* now = the_pool.load(std::memory_order_acquire);
  if (now != nullptr) return *now;
  static constinit std::once_flag registered;
  std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, forget_pool_in_child); });
  Pool* made = new Pool;
  if (the_pool.compare_exchange_strong(now, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *now;
}

int threads_from_environment() {
  const char* text = std::getenv("TREADLE_NUM_THREADS");
  if (text == nullptr || *text == 0) return std::min(kMaxThreads, usable_cpus());
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != 0 || value < 1 || value > kMaxThreads) {
    fail(ErrorKind::value, "TREADLE_NUM_THREADS is '" + std::string(text) +
                               "', expected a whole number from 1 to " +
                               std::to_string(kMaxThreads));
  }
  return static_cast<int>(value);
}

}  // namespace

int get_num_threads() {
  int now = the_threads.load(std::memory_order_relaxed);
  if (now != 0) return now;
  const int wanted = threads_from_environment();
  return the_threads.compare_exchange_strong(now, wanted) ? wanted : now;
}

void set_num_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    fail(ErrorKind::value, "set_num_threads: expected 1 to " + std::to_string(kMaxThreads) +
                               " threads, got " + std::to_string(threads));
  }
  the_threads.store(threads, std::memory_order_relaxed);
}

void parallel_range(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeFn fn,
                    const void* context) {
  const std::int64_t count = end - begin;
  if (count <= 0) return;
  const std::int64_t piece =
      std::max({std::int64_t{1}, grain, (count + kMaxPieces - 1) / kMaxPieces});
  const std::int64_t pieces = (count + piece - 1) / piece;
  if (pieces == 1) return fn(context, begin, end);
  Job job{.fn = fn,
          .context = context,
          .begin = begin,
          .end = end,
          .piece = piece,
          .next = begin,
          .error_mutex = {},
          .error = {}};
  const bool nested = inside;
  const int helpers =
      nested ? 0 : static_cast<int>(std::min<std::int64_t>(get_num_threads(), pieces)) - 1;
  if (helpers == 0 || !pool().try_run(job, helpers)) job.work();
  inside = nested;
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace treadle
