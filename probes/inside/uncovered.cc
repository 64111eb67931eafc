// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/elf/valgrind.h"
#include "probes/inside/exchange/agentless.h"
#include "probes/processes/heirs.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

constexpr size_t most_found = 4096, most_heard = 65536;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

// As it sees itself; 0 if it is gone.
pid_t own_id(pid_t pid) {
  const std::string ids = status_field(read_file(proc_path(pid, "status")), "NSpid");
  return std::atoi(ids.substr(ids.find_last_of(" \t") + 1).c_str());
}

// Differs from one execve() to the next: where the program and its stack lie, which is random, and
// how large it is. Takes 20 µs. "" if the process is gone.
std::string program_mark(pid_t pid) {
  constexpr int first = 23, count = 3;  // start_code, end_code, start_stack, behind the name
  const std::string line = read_file(proc_path(pid, "stat"));
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return "";
  size_t from = name_end + 2;
  for (int i = 0; i < first && from != 0; ++i) from = line.find(' ', from) + 1;
  size_t to = from;
  for (int i = 0; i < count && to != 0; ++i) to = line.find(' ', to) + 1;
  return from == 0 || to == 0 ? "" : line.substr(from, to - from);
}

}  // namespace

// A forked child that has not allocated yet has its parent's agent, which is still silent: it runs
// a program in which an agent spoke. In any other program an agent speaks when it starts, so
// silence means that it could not, also if one spoke in the program before. If the mappings cannot
// be read, what counts is whether it has.
bool Uncovered::is_covered(pid_t pid, bool has_spoken, const std::string& mark) const {
  const std::string maps = read_file(proc_path(pid, "maps"));
  if (maps.empty()) return has_spoken;
  if (maps.find(agent_) == std::string::npos || brings_malloc(proc_path(pid, "exe"))) return false;
  return heard_.contains(mark) || (has_spoken && has_forgotten_);
}

std::vector<pid_t> Uncovered::of_run() const {
  std::vector<pid_t> roots = first_;
  if (!attached_)
    for (const pid_t orphan : orphans()) roots.push_back(orphan);
  return with_descendants(roots);
}

bool Uncovered::is_of_run(pid_t pid) const {
  std::vector<pid_t> ancestors = first_;
  if (!attached_) ancestors.push_back(::getpid());
  return descends_from(pid, ancestors);
}

void Uncovered::add(pid_t pid) {
  forget(pid);
  left_out_.erase(pid);
  first_.push_back(pid);
  executions_.settle(pid);
  hear(pid);
}

void Uncovered::hear(pid_t pid) {
  if (heard_.size() >= most_heard) {
    heard_.clear();
    has_forgotten_ = true;
  }
  heard_.insert(program_mark(pid));
  if (witness_ != nullptr) witness_->forget(pid);
  if (takeover_ == nullptr && witness_ == nullptr) return;
  if (heard_ns_.size() >= most_heard) heard_ns_.clear();
  heard_ns_[pid] = monotonic_ns();
}

void Uncovered::take_left() {
  if (takeover_ != nullptr)
    for (const Takeover::Left& left : takeover_->take_left()) follow(left);
  if (witness_ != nullptr)
    for (const Takeover::Left& left : witness_->take()) follow(left);
}

// An agent may have spoken by now, or be about to.
void Uncovered::follow(const Takeover::Left& left) {
  const auto heard = heard_ns_.find(left.pid);
  if (heard != heard_ns_.end() && heard->second > left.time_ns) return;
  const bool runs = has_address_space(left.pid) && read_comm(left.pid) == left.name;
  if (runs && read_file(proc_path(left.pid, "environ")).find(agent_) == std::string::npos)
    return find(left.pid);
  executions_.begin(left.name, runs ? reason_in(proc_path(left.pid, "exe"))
                                    : "executed by a process without an agent");
}

// `why`: what kept its agent out, if that is known.
void Uncovered::find(pid_t pid, const std::string& why, Takeover::GoOn go_on) {
  if (has_found(pid)) return keep(pid);
  retire(pid);
  if (found_.size() >= most_found) {
    ++beyond_;
    if (go_on) go_on(false);
    return;
  }
  Found& found = found_[pid];
  found.pid = pid;
  found.name = read_comm(pid);
  found.program = program_mark(pid);
  found.why = why.empty() ? reason_in(proc_path(pid, "exe")) : why;
  found.first = resident_of(pid);
  if (takeover_ != nullptr && found.why != seen_by_nobody)
    takeover_->take(pid, std::move(go_on));
  else if (go_on)
    go_on(false);
  if (found.why.empty()) found.why = why_silent(pid);
  if (witness_ != nullptr) witness_->watch(pid, false);
  keep(pid);
}

// Why there is no agent in a program that could have one.
std::string Uncovered::why_silent(pid_t pid) const {
  const auto has_agent = [&](const char* file) {
    return read_file(proc_path(pid, file)).find(agent_) != std::string::npos;
  };
  if (has_agent("maps")) return "its agent could not speak to memflame (a filter of system calls?)";
  if (!has_agent("environ")) return without_preload;
  const std::string why = reason_in(proc_path(pid, "exe"), true, Executor{});
  return why.empty() ? "the dynamic linker left out LD_PRELOAD" : why;
}

// How much is resident shows what is missing at the most.
void Uncovered::keep(pid_t pid) {
  Found& found = found_[pid];
  found.last = std::max(found.last, resident_of(pid));
  found.cover = cover_of(found);
}

Takeover::Cover Uncovered::cover_of(const Found& found) const {
  return takeover_ == nullptr ? found.cover : std::max(found.cover, takeover_->cover(found.pid));
}

bool Uncovered::has_found(pid_t pid) const {
  const auto known = found_.find(pid);
  return known != found_.end() && known->second.program == program_mark(pid);
}

void Uncovered::retire(pid_t pid) {
  const auto known = found_.find(pid);
  if (known == found_.end()) return;
  known->second.cover = cover_of(known->second);
  if (earlier_.size() < most_found)
    earlier_.push_back(std::move(known->second));
  else
    ++beyond_;
  found_.erase(known);
}

// Whether the agent's file is not there in what the process takes for the root folder.
bool Uncovered::lacks_agent(pid_t pid) const {
  return ::access((proc_path(pid, "root") + agent_).c_str(), F_OK) != 0 && errno == ENOENT;
}

bool Uncovered::bars_agent(pid_t own, const std::string& path) {
  const pid_t pid = process_of(own);
  if (pid == 0) return is_barred(program_at(path));
  return lacks_agent(pid) || is_barred(executed_file(pid, path));
}

// The process of the run that sees itself as `own`, in whichever PID namespace; 0 if there is none,
// or several. Looks at all of them.
pid_t Uncovered::process_called(pid_t own) const {
  std::vector<pid_t> all = of_run();
  if (!contains(all, own) && is_of_run(own)) all.push_back(own);  // it lost its parent meanwhile
  std::erase_if(all, [own](pid_t pid) { return own_id(pid) != own; });
  return all.size() == 1 ? all[0] : 0;
}

// Only a process of the run: what it says might be untrue.
pid_t Uncovered::process_of(pid_t own) const {
  return own_id(own) == own && is_of_run(own) ? own : process_called(own);
}

bool Uncovered::holds(pid_t own, const std::string& path, bool has_agent,
                      std::function<bool()> go_on) {
  const pid_t pid = process_of(own);
  const std::string program = executed_file(pid, path);
  const std::string reason = program.empty() ? "" : reason_in(program, true, executor_in(pid));
  if (program.empty() || reason == seen_by_nobody ||
      (has_agent && reason.empty() && !lacks_agent(pid)))
    return false;
  if (process_called(own) != pid) return false;
  if (takeover_ == nullptr) {
    if (witness_ != nullptr) witness_->watch(pid, true);
    return false;
  }
  takeover_->hold(pid, program, [this, path, reason, go_on = std::move(go_on)](bool is_counted) {
    const bool has_waited = go_on();
    if (!is_counted || !has_waited)
      executions_.begin(path, reason.empty() ? without_preload : reason);
    return has_waited;
  });
  return true;
}

bool Uncovered::let_go(pid_t own) {
  return takeover_ != nullptr && takeover_->let_go(process_called(own));
}

void Uncovered::forget(pid_t pid) {
  std::erase(first_, pid);
  found_.erase(pid);
  if (left_out_.size() < most_found) left_out_.insert(pid);
}

// An agent of an earlier run may be in any process.
bool Uncovered::has_silent_agent(pid_t pid) const {
  return is_covered(pid, false, program_mark(pid)) && is_of_run(pid);
}

void Uncovered::miss(pid_t pid, const std::string& why, Takeover::GoOn go_on) {
  heard_.erase(program_mark(pid));
  find(pid, why, std::move(go_on));
}

void Uncovered::meet(pid_t pid) {
  executions_.settle(pid);
  hear(pid);
  // Under valgrind, the agent speaks also in a program whose allocator valgrind has replaced.
  const std::string reason = reason_in(proc_path(pid, "exe"), false);
  if (reason == own_allocator || (reason == seen_by_nobody && has_valgrind_malloc(pid)))
    return find(pid);
  // A program that took long to start was taken for one without an agent.
  if (!has_found(pid)) return;
  found_.erase(pid);
  if (takeover_ != nullptr) takeover_->let_go(pid);
}

// Whether a process runs a program whose calls no agent sees; looks at each program once.
bool Uncovered::is_uncovered(pid_t pid, bool has_spoken) {
  const std::string mark = program_mark(pid);
  std::string& covered = covered_[pid];
  if (covered == mark) return false;
  if (!is_covered(pid, has_spoken, mark)) return true;
  // One that is silent may become one that could not speak.
  if (heard_.contains(mark)) covered = mark;
  return false;
}

// Until it executes its program, it is a copy of memflame.
void Uncovered::look_at_silent(pid_t pid) {
  if (program_mark(pid) != program_mark(::getpid()))
    silent_bytes_ = std::max(silent_bytes_, resident_of(pid));
}

void Uncovered::look_at_all(const std::function<bool(pid_t)>& knows,
                            const std::function<void(pid_t)>& lose) {
  // A run may go on for weeks, and get more of them. A command is missed in the end.
  if (attached_) std::erase_if(first_, [](pid_t pid) { return read_comm(pid).empty(); });
  const std::vector<pid_t> all = of_run();
  std::set<pid_t> suspects;
  for (const pid_t pid : all) {
    if (left_out_.contains(pid) || !has_address_space(pid)) continue;
    if (has_found(pid)) {
      keep(pid);
      continue;
    }
    // A command in which no agent ever speaks is an error in the end.
    const bool has_spoken = knows(pid);
    const bool is_silent = contains(first_, pid) && !has_spoken;
    if (is_silent) look_at_silent(pid);
    if (is_silent || !is_uncovered(pid, has_spoken)) continue;
    suspects.insert(pid);
    if (!suspects_.contains(pid)) continue;
    executions_.settle(pid);
    find(pid);
    if (has_spoken) lose(pid);
  }
  suspects_ = std::move(suspects);
  std::erase_if(covered_, [&all](const auto& known) { return !contains(all, known.first); });
}

std::vector<pid_t> Uncovered::starting(const std::function<bool(pid_t)>& knows) const {
  std::vector<pid_t> pids = of_run();
  std::erase_if(pids, [&](pid_t pid) {
    return knows(pid) || has_found(pid) || left_out_.contains(pid) || !has_address_space(pid);
  });
  return pids;
}

bool Uncovered::settle(const std::function<bool(pid_t)>& knows,
                       const std::function<void(pid_t)>& lose) {
  if (executions_.open() == 0) return true;
  look_at_all(knows, lose);
  return executions_.open() == 0 || starting(knows).empty();
}

void Uncovered::excuse_starting(const std::function<bool(pid_t)>& knows) {
  if (executions_.open() == 0) return;
  for (const pid_t pid : starting(knows)) executions_.settle(pid);
}

}  // namespace memflame::inside
