// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/executions.h"

#include <atomic>

#include "core/error.h"
#include "probes/inside/agent_counts.h"
#include "probes/inside/exchange/agentless.h"
#include "probes/processes/program_files.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

constexpr size_t most_programs = 4096, most_named = 4;
// A process may be killed while it tells.
constexpr uint64_t telling_ns = 100'000'000;

// The kernel names a process by the file that was executed.
std::string process_name(const std::string& path) {
  constexpr size_t most_letters = 15;
  return path.substr(path.rfind('/') + 1).substr(0, most_letters);
}

// Other processes write it: each letter is taken once.
std::string path_of(const Execution& told) {
  std::string path;
  for (const char& letter : told.path) {
    const char taken = taken_once(letter);
    if (taken == 0) break;
    path += taken;
  }
  return path;
}

std::string reason_for(const std::string& path, const Executor& by) {
  return reason_in(program_at(path), true, by);
}

}  // namespace

void Executions::take(Exchange& exchange, Holding* holding) {
  const uint32_t told = taken_once(exchange.control().executions);
  if (const uint32_t waiting = told - taken_; waiting > most_executions) {
    unnamed_ += waiting - most_executions;
    open_ += waiting - most_executions;
    taken_ = told - most_executions;
    if (open_ > most_begun(monotonic_ns() - began_ns_)) distrust();
  }
  for (; taken_ != told; ++taken_) {
    Execution& next = exchange.execution(taken_ % most_executions);
    const uint32_t state = taken_once(next.state);
    if (state == execution_begins) {
      begin(next, holding);
    } else if (state == execution_failed) {
      const bool is_spawned = taken_once(next.is_spawned) != 0;
      const auto pid = is_spawned ? 0 : static_cast<pid_t>(taken_once(next.holder));
      if (holding == nullptr || pid == 0 || !holding->let_go(pid)) undo(path_of(next));
    } else {
      if (waits_ns_ == 0) waits_ns_ = monotonic_ns();
      if (monotonic_ns() - waits_ns_ < telling_ns) return;
      // A process that was killed while it told leaves one such place. A program that writes over
      // the count makes it look like many.
      if (++untold_ == 1)
        begin("");
      else if (untold_ == 2)
        settle_unnamed();
    }
    waits_ns_ = 0;
    publish(next.state, uint32_t{execution_untold});
  }
}

// Who waits is still let go.
void Executions::distrust() {
  is_damaged_ = true;
  programs_.clear();
  open_ = unnamed_ = gone_ = 0;
}

void Executions::begin(Execution& told, Holding* holding) {
  const std::string path = path_of(told);
  const uint32_t holder = taken_once(told.holder);
  const bool has_agent = taken_once(told.has_no_agent) == 0;
  const auto go_on = [&told, holder] {
    uint32_t waits = holder;
    return std::atomic_ref(told.holder).compare_exchange_strong(waits, 0);
  };
  const std::string why = has_agent ? "" : without_preload;
  if (holder == 0) return begin(path, why);
  if (holding != nullptr && has_agent)
    publish(told.bars_agent, uint32_t{holding->bars_agent(static_cast<pid_t>(holder), path)});
  if (holding != nullptr && taken_once(told.is_spawned) == 0 &&
      holding->holds(static_cast<pid_t>(holder), path, has_agent, go_on))
    return;
  go_on();
  begin(path, why);
}

void Executions::begin(const std::string& path, const std::string& why) {
  if (is_damaged_) return;
  ++open_;
  const std::string name = process_name(path);
  if (name.empty() || (!programs_.contains(name) && programs_.size() >= most_programs)) {
    ++unnamed_;
    return;
  }
  Program& program = programs_[name];
  ++program.open;
  program.path = path;
  program.why = why;
}

bool Executions::settle_one(const std::string& name) {
  if (const auto known = programs_.find(name); known != programs_.end()) {
    if (--known->second.open == 0) programs_.erase(known);
  } else {
    return settle_unnamed();
  }
  --open_;
  return true;
}

bool Executions::settle_unnamed() {
  if (unnamed_ == 0) return false;
  --unnamed_;
  --open_;
  return true;
}

void Executions::undo(const std::string& path) { settle_one(process_name(path)); }

void Executions::settle(pid_t pid) {
  if (open_ == 0) return;
  const std::string name = read_comm(pid);
  if (name.empty())
    ++gone_;
  else
    settle_one(name);
}

std::vector<std::string> Executions::names() const {
  std::vector<std::string> names;
  for (const auto& [name, program] : programs_) {
    if (names.size() == most_named) break;
    std::string line = name;
    if (program.open > 1) line += " (" + std::to_string(program.open) + " times)";
    // What is true of the program itself comes first. Who executed it is not known by now.
    std::string reason = reason_for(program.path, ourselves());
    if (reason.empty()) reason = program.why;
    if (reason.empty()) reason = reason_for(program.path, Executor{});
    names.push_back(line + ": " + (reason.empty() ? "no agent spoke in it" : reason));
  }
  return names;
}

}  // namespace memflame::inside
