#include "ci/executor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ci/state.h"
#include "matrix/base/fs.h"
#include "matrix/base/stop.h"

namespace felloe {
namespace {

bool may_pass_next_time(const Error& error) {
  return error.kind() == ErrorKind::child || error.kind() == ErrorKind::environment;
}

// Empties the log in place, so that a `tail -f` on it goes on with the next attempt.
void clear_log(const fs::path& log) {
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail_write(log, errno);
  ::close(fd);
}

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        options_(options),
        store_(options.work / "state"),
        slots_(plan.steps().size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Step& step = plan.steps()[i];
      slots_[i].report.id = step.id;
      slots_[i].report.kind = step.kind;
      slots_[i].report.title = step.title;
      slots_[i].report.log = options.work / "logs" / (file_name_of(step.id) + ".log");
      index_[step.id] = i;
    }
  }

  std::vector<StepReport> run() {
    make_dirs(options_.work / "logs");
    make_dirs(options_.work / "state");
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < std::max(1, options_.jobs); ++i) threads.emplace_back([this] { work(); });
    }
    std::vector<StepReport> out;
    out.reserve(slots_.size());
    for (Slot& slot : slots_) out.push_back(std::move(slot.report));
    return out;
  }

 private:
  struct Slot {
    enum class Phase { waiting, running, ended } phase = Phase::waiting;
    StepReport report;
    std::string digest;
  };

  // The next step whose deps have all ended, if any. Called under the lock.
  std::optional<std::size_t> ready() const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].phase != Slot::Phase::waiting) continue;
      bool all = true;
      for (const std::string& dep : plan_.steps()[i].deps) {
        all = all && slots_[index_.at(dep)].phase == Slot::Phase::ended;
      }
      if (all) return i;
    }
    return std::nullopt;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (stop_requested() == 0) {
      // Deps stand before their dependents, so with nothing ready either something runs or all
      // ended.
      const auto next = ready();
      if (!next) {
        if (ended_ + running_ == slots_.size()) return;
        changed_.wait(lock);
        continue;
      }
      Slot& slot = slots_[*next];
      slot.phase = Slot::Phase::running;
      ++running_;
      run_step(plan_.steps()[*next], slot, lock);
      slot.phase = Slot::Phase::ended;
      --running_;
      ++ended_;
      tell(Progress::Event::ended, plan_.steps()[*next], slot.report);
      changed_.notify_all();
    }
  }

  void tell(Progress::Event event, const Step& step, const StepReport& report) const {
    if (options_.progress) options_.progress({event, step, report, ended_, slots_.size()});
  }

  void run_step(const Step& step, Slot& slot, std::unique_lock<std::mutex>& lock) {
    std::map<std::string, Json> results;
    std::map<std::string, std::string> digests;
    for (const std::string& dep : step.deps) {
      const Slot& from = slots_[index_.at(dep)];
      const bool good =
          from.report.state == StepState::done || from.report.state == StepState::cached;
      if (good) {
        results[dep] = from.report.data;
        digests[dep] = from.digest;
        continue;
      }
      if (!step.runs_after_failure) {
        slot.report.because = from.report.because.empty() ? dep : from.report.because;
        return;  // skipped
      }
      // The failure itself is then an input.
      digests[dep] = from.report.error ? from.report.error->message() : "skipped";
    }
    const std::string key = step_key(step, digests);
    lock.unlock();
    perform(step, slot, key, results, lock);
    lock.lock();
  }

  // Without the lock; only this thread touches the slot's report until it has ended.
  void perform(const Step& step, Slot& slot, const std::string& key,
               const std::map<std::string, Json>& results, std::unique_lock<std::mutex>& lock) {
    if (!options_.force) {
      if (auto record = store_.find(step.id, key)) {
        slot.report.state = StepState::cached;
        slot.report.seconds = record->seconds;
        slot.report.attempts = record->attempts;
        slot.report.data = std::move(record->data);
        slot.digest = std::move(record->digest);
        return;
      }
    }
    const auto told = [&](Progress::Event event) {
      lock.lock();
      tell(event, step, slot.report);
      lock.unlock();
    };
    for (int attempt = 1;; ++attempt) {
      slot.report.attempts = attempt;
      told(attempt == 1 ? Progress::Event::started : Progress::Event::retrying);
      const auto start = std::chrono::steady_clock::now();
      const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      };
      try {
        clear_log(slot.report.log);
        StepContext context{results, slot.report.log, attempt};
        const StepOutput output = step.action(context);
        StepRecord record = store_.store(step.id, key, output, seconds(), attempt);
        slot.report.state = StepState::done;
        slot.report.seconds = record.seconds;
        slot.report.data = std::move(record.data);
        slot.report.error.reset();
        slot.digest = std::move(record.digest);
        return;
      } catch (const Error& error) {
        slot.report.error = error;
      } catch (const std::exception& error) {
        slot.report.error = Error(ErrorKind::internal, step.id, error.what());
      }
      slot.report.state = StepState::failed;
      slot.report.seconds = seconds();
      if (attempt >= step.attempts || !may_pass_next_time(*slot.report.error)) return;
      const std::chrono::duration<double> pause(std::ldexp(options_.retry_pause, attempt - 1));
      sleep_unless_stopped(std::chrono::duration_cast<std::chrono::milliseconds>(pause));
      if (stop_requested() != 0) return;
    }
  }

  const Plan& plan_;
  const RunOptions& options_;
  StateStore store_;
  std::vector<Slot> slots_;
  std::map<std::string, std::size_t> index_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0, ended_ = 0;
};

}  // namespace

const char* step_state_name(StepState state) {
  switch (state) {
    case StepState::done:
      return "done";
    case StepState::cached:
      return "cached";
    case StepState::failed:
      return "failed";
    case StepState::skipped:
      return "skipped";
  }
  return "skipped";
}

std::vector<StepReport> run_plan(const Plan& plan, const RunOptions& options) {
  return Runner(plan, options).run();
}

Json to_json(const StepReport& report, const std::filesystem::path& relative_to) {
  Json out{{"id", report.id},
           {"kind", report.kind},
           {"title", report.title},
           {"state", step_state_name(report.state)},
           {"seconds", report.seconds},
           {"attempts", report.attempts},
           {"log", report.log.lexically_proximate(relative_to).generic_string()}};
  if (report.error) {
    out["error"] = {{"kind", error_kind_name(report.error->kind())},
                    {"where", report.error->where()},
                    {"message", report.error->message()},
                    {"hint", report.error->hint()}};
  }
  if (!report.because.empty()) out["because"] = report.because;
  return out;
}

}  // namespace felloe
