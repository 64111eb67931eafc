// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/shipper.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "fleet/shipper_news.h"

namespace memflame {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

struct Shipper::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (std::thread& held_up : threads) held_up.detach();
  }

  std::shared_ptr<Spool> spool;
  std::map<std::string, std::unique_ptr<WindowOutput>> outputs;
  ShipperPace pace;
  std::shared_ptr<const RuleBoard> board;
  Say say_line;
  std::mutex say_mutex;

  mutable std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::map<std::string, OutputState> states;
  std::vector<std::thread> threads;
  size_t running = 0;
  bool ending = false;
  Clock::time_point end;

  void say(const std::string& line) {
    const std::lock_guard lock(say_mutex);
    if (!line.empty() && say_line) say_line(line);
  }

  // False: it ends.
  bool wait_until(Clock::time_point until) {
    std::unique_lock lock(mutex);
    return !changed.wait_until(lock, until, [this] { return ending; });
  }
  bool is_ending() const {
    const std::lock_guard lock(mutex);
    return ending;
  }
  bool is_over() const {
    const std::lock_guard lock(mutex);
    return ending && Clock::now() >= end;
  }

  FleetFigures figures() const {
    FleetFigures figures;
    figures.spool = spool->counts();
    figures.spool_most_bytes = spool->most_bytes();
    if (board) {
      figures.rules = board->read();
      figures.budget_share = board->budget_share();
    }
    const std::lock_guard lock(mutex);
    figures.outputs = states;
    return figures;
  }
};

namespace {

// Doubles after each failure. The jitter keeps a fleet from asking a store that has just come back
// all at once.
class Pause {
 public:
  explicit Pause(const ShipperPace& pace) : pace_(pace) {}
  double next() {
    const double pause = std::min(pace_.longest_pause, next_);
    next_ = std::min(pace_.longest_pause, 2 * next_);
    return pause * std::uniform_real_distribution(0.5, 1.0)(random_);
  }
  void reset() { next_ = pace_.first_pause; }

 private:
  const ShipperPace& pace_;
  double next_ = pace_.first_pause;
  std::minstd_rand random_{std::random_device{}()};
};

// The thread of one output.
class Sender {
 public:
  Sender(Shipper::State& state, const std::string& name)
      : state_(state),
        name_(name),
        output_(*state.outputs.at(name)),
        reader_(state.spool, name),
        news_(name),
        pause_(state.pace) {}

  // When the end has come, it stops at the first failure.
  void run() {
    while (!state_.is_over()) {
      const bool was_ending = state_.is_ending();
      const Step step = try_step();
      if (was_ending && step != Step::sent) return;
      if (step == Step::failed) state_.wait_until(in_seconds(pause_.next()));
      if (step == Step::nothing) state_.wait_until(in_seconds(state_.pace.idle));
    }
  }

 private:
  enum class Step : uint8_t { sent, nothing, failed };

  Step try_step() try {
    const bool could_not_tell = cannot_tell_;
    tell();
    const std::vector<WaitingWindow> batch = reader_.next(output_.batch());
    if (const std::string why = reader_.take_problem(); !why.empty())
      state_.say(news_.damaged(why));
    note_age();
    if (batch.empty()) {
      // Otherwise nothing was tried.
      if (could_not_tell) note_good();
      return Step::nothing;
    }
    send(batch);
    note_good();
    return Step::sent;
  } catch (const std::exception& error) {
    note_failure(error.what());
    return Step::failed;
  }

  void send(std::span<const WaitingWindow> batch) {
    std::vector<Window> windows;
    windows.reserve(batch.size());
    for (const WaitingWindow& waiting : batch) windows.push_back(waiting.window);
    try {
      output_.send(windows);
    } catch (const Refused& refusal) {
      // One of them was the reason.
      if (batch.size() > 1) {
        for (const WaitingWindow& waiting : batch) send({&waiting, 1});
        return;
      }
      reader_.done(batch, SpoolReader::Fate::refused);
      state_.say(news_.refused(refusal.what()));
      return;
    }
    reader_.done(batch, SpoolReader::Fate::sent);
    const std::lock_guard lock(state_.mutex);
    state_.states[name_].last_sent_ns = real_time_ns();
  }

  void tell() {
    if (!cannot_tell_ && Clock::now() < next_tell_) return;
    next_tell_ = in_seconds(state_.pace.tell);
    cannot_tell_ = true;
    output_.tell(state_.figures());
    cannot_tell_ = false;
  }

  void note_age() {
    const std::optional<int64_t> oldest = reader_.oldest_ns();
    const std::lock_guard lock(state_.mutex);
    state_.states[name_].oldest_seconds =
        oldest ? std::max(0.0, static_cast<double>(real_time_ns() - *oldest) / 1e9) : 0;
  }

  void note_good() {
    pause_.reset();
    {
      const std::lock_guard lock(state_.mutex);
      state_.states[name_].last_error.clear();
    }
    note_age();
    state_.say(news_.good());
  }

  void note_failure(const std::string& why) {
    {
      const std::lock_guard lock(state_.mutex);
      OutputState& mine = state_.states[name_];
      ++mine.failed_tries;
      mine.last_error = why;
    }
    state_.say(news_.failed(why));
  }

  Shipper::State& state_;
  const std::string name_;
  WindowOutput& output_;
  SpoolReader reader_;
  OutputNews news_;
  Pause pause_;
  Clock::time_point next_tell_ = Clock::now();
  bool cannot_tell_ = false;  // the last time it threw
};

// The thread that looks after the spool.
void watch_spool(Shipper::State& state) {
  SpoolNews news;
  Clock::time_point next_recount = in_seconds(state.pace.recount);
  do {
    try {
      if (Clock::now() >= next_recount) {
        next_recount = in_seconds(state.pace.recount);
        state.spool->recount();
      }
      const FleetFigures figures = state.figures();
      for (const std::string& line : news.of(figures)) state.say(line);
    } catch (const std::exception& error) {
      state.say(news.failed(error.what()));
    }
  } while (state.wait_until(in_seconds(state.pace.tell)));
}

// The threads outlive the shipper if a store holds one of them up; then they need the state.
template <class Work>
void start_thread(const std::shared_ptr<Shipper::State>& state, const Work& work) {
  const std::lock_guard lock(state->mutex);
  ++state->running;
  state->threads.emplace_back([state, work] {
    work(*state);
    const std::lock_guard lock(state->mutex);
    --state->running;
    state->changed.notify_all();
  });
}

}  // namespace

Shipper::Shipper(std::shared_ptr<Spool> spool,
                 std::map<std::string, std::unique_ptr<WindowOutput>> outputs, Say say,
                 ShipperPace pace, std::shared_ptr<const RuleBoard> board)
    : state_(std::make_shared<State>()) {
  state_->board = std::move(board);
  state_->spool = std::move(spool);
  state_->outputs = std::move(outputs);
  state_->say_line = std::move(say);
  state_->pace = pace;
  for (const auto& [name, output] : state_->outputs) {
    if (!is_output_name(name)) throw Error("'" + name + "' is not a name for an output");
    state_->states[name];
  }
  for (const auto& [name, output] : state_->outputs)
    start_thread(state_, [name = name](State& state) { Sender(state, name).run(); });
  start_thread(state_, [](State& state) { watch_spool(state); });
}

Shipper::~Shipper() {
  finish(0);
  // A thread that still waits for a store must not call what may be gone by then.
  const std::lock_guard lock(state_->say_mutex);
  state_->say_line = nullptr;
}

bool Shipper::finish(double seconds) {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->end = in_seconds(seconds);
  state_->changed.notify_all();
  // A moment longer, for those that just put their work down.
  if (!state_->changed.wait_until(lock, state_->end + std::chrono::milliseconds(200),
                                  [this] { return state_->running == 0; }))
    return false;
  std::vector<std::thread> done;
  done.swap(state_->threads);
  lock.unlock();
  // What libraries keep for each thread is given back after its work, and must be before the
  // process ends: OpenSSL crashed otherwise.
  for (std::thread& thread : done) thread.join();
  return true;
}

FleetFigures Shipper::figures() const { return state_->figures(); }

}  // namespace memflame
