// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/process_links.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

size_t thread_count_of(pid_t pid) {
  std::error_code error;
  size_t threads = 0;
  std::filesystem::directory_iterator task(proc_path(pid, "task"), error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) ++threads;
  return threads;
}

}  // namespace

ProcessLinks::~ProcessLinks() { stop(); }

void ProcessLinks::add(FilePuts file) {
  if (running_) return post({.kind = Job::file, .puts = std::move(file)});
  files_.push_back(std::move(file));
  for (auto& [pid, links] : links_) try {
      put(files_.back(), pid, links);
    } catch (const Error&) {
      if (is_alive(pid)) throw;
    }
}

void ProcessLinks::add(pid_t pid) {
  told_.insert(pid);
  // It was not watched before, so nothing of it is missing.
  if (running_) return post({.kind = Job::begin, .pid = pid, .since = UINT64_MAX, .puts = {}});
  if (first_ == 0) first_ = pid;
  for (const FilePuts& file : files_) try {
      put(file, pid, links_[pid]);
    } catch (const Error&) {
      if (is_alive(pid)) throw;
    }
  links_[pid];
}

void ProcessLinks::post(Job job) {
  ++open_;
  jobs_.put(std::move(job));
}

void ProcessLinks::start() {
  running_ = true;
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  closer_ = std::jthread([this](const std::stop_token& stop) { close(stop); });
}

void ProcessLinks::take(const bpf::space_record& record) {
  const auto pid = static_cast<pid_t>(record.tgid);
  switch (record.reason) {
    case bpf::space_fork:
    case bpf::space_borrow:
    case bpf::space_found:
      told_.insert(pid);
      return post({.kind = Job::begin, .pid = pid, .since = record.time, .puts = {}});
    case bpf::space_exec: {
      // A link belongs to the process's first thread. If another thread calls exec, it takes the
      // place of the first one, and the process needs new links.
      const bool first_word = told_.insert(pid).second;
      const Job::Kind kind = record.by == bpf::by_another ? Job::renew : Job::again;
      return post(
          {.kind = first_word ? Job::begin : kind, .pid = pid, .since = record.time, .puts = {}});
    }
    case bpf::space_end:
      if (record.by != bpf::by_nobody) return;  // exec: the process goes on as another program
      break;
    case bpf::space_return:
    case bpf::space_left:
      break;
    default:
      return;
  }
  told_.erase(pid);
  const auto waits = [pid](const Job& job) {
    return job.pid == pid && (job.kind == Job::begin || job.kind == Job::again);
  };
  // A process counts as never probed only if its `begin` was still waiting.
  while (const std::optional<Job> waiting = jobs_.withdraw(waits)) {
    --open_;
    if (waiting->kind == Job::begin) count(waiting->since, record.time, late_.never);
  }
  post({.kind = Job::end, .pid = pid, .since = 0, .puts = {}});
}

void ProcessLinks::work(const std::stop_token& stop) {
  while (std::optional<Job> job = jobs_.take(stop)) {
    handle(std::move(*job));
    --open_;
  }
}

void ProcessLinks::close(const std::stop_token& stop) {
  while (std::optional<Links> links = closing_.take(stop)) {
    for (Links& more : closing_.take_all()) links->adopt(more);
    links->detach();
  }
}

void ProcessLinks::handle(Job job) {
  switch (job.kind) {
    case Job::begin:
    case Job::again:
      if (links_.count(job.pid) == 0) attach(job.pid, job.since);
      return;
    case Job::renew:
      // Detach now and not in the closer, or the old links would run beside the new ones.
      if (const auto it = links_.find(job.pid); it != links_.end()) it->second.detach();
      return attach(job.pid, job.since);
    case Job::end:
      return detach(job.pid);
    case Job::file:
      files_.push_back(std::move(job.puts));
      for (auto& [pid, links] : links_) try {
          put(files_.back(), pid, links);
        } catch (const Error& error) {
          fail(pid, error.what(), monotonic_ns());
        }
  }
}

void ProcessLinks::attach(pid_t pid, uint64_t since) {
  if (first_ == 0) first_ = pid;
  Links& links = links_[pid];
  try {
    for (const FilePuts& file : files_) put(file, pid, links);
    count(since, monotonic_ns(), late_.probed);
  } catch (const Error& error) {
    fail(pid, error.what(), since);
    detach(pid);
  }
}

void ProcessLinks::detach(pid_t pid) {
  const auto it = links_.find(pid);
  if (it == links_.end()) return;
  closing_.put(std::move(it->second));
  links_.erase(it);
  if (first_ == pid) first_ = 0;
}

void ProcessLinks::put(const FilePuts& file, pid_t pid, Links& links) const {
  const std::string path = "/proc/self/fd/" + std::to_string(file.file.get());
  for (const Put& each : file.puts) {
    if (each.sites.empty()) continue;
    if (each.whom == PutFor::each || (each.whom == PutFor::first) == (pid == first_))
      links.uprobes(each.program(), path, each.sites, each.kind, pid);
  }
}

uint64_t ProcessLinks::unprobed_ns(uint64_t since, uint64_t until) const {
  const uint64_t armed = armed_ns_;
  since = std::max(since, armed);
  return armed == 0 || until < since ? 0 : until - since;
}

void ProcessLinks::count(uint64_t since, uint64_t until, uint64_t& processes) {
  const uint64_t ns = unprobed_ns(since, until);
  const std::lock_guard lock(late_mutex_);
  if (ns == 0) return;
  ++processes;
  late_.ns += ns;
  late_.longest_ns = std::max(late_.longest_ns, ns);
}

// A process that has ended needs no probes; the record of its end will come.
void ProcessLinks::fail(pid_t pid, const std::string& why, uint64_t since) {
  if (!is_alive(pid)) return count(since, monotonic_ns(), late_.never);
  const std::lock_guard lock(late_mutex_);
  ++late_.failed;
  late_.failure = why;
}

// A perf event's filter compares the memory of the task that it was opened for, and a thread that
// has ended has none.
uint64_t ProcessLinks::count_headless() const {
  const bool by_event = std::any_of(files_.begin(), files_.end(), [](const FilePuts& file) {
    return std::any_of(file.puts.begin(), file.puts.end(),
                       [](const Put& each) { return each.kind == UprobeKind::entry; });
  });
  if (!by_event) return 0;
  return static_cast<uint64_t>(std::count_if(links_.begin(), links_.end(), [](const auto& each) {
    return !is_alive(each.first) && thread_count_of(each.first) > 1;
  }));
}

LateProcesses ProcessLinks::so_far() const {
  const std::lock_guard lock(late_mutex_);
  return late_;
}

LateProcesses ProcessLinks::stop() {
  if (worker_.joinable()) {
    worker_.request_stop();
    worker_.join();
    closer_.request_stop();
    closer_.join();
  }
  for (const Job& job : jobs_.take_all())
    if (job.kind == Job::begin && links_.count(job.pid) == 0)
      count(job.since, monotonic_ns(), late_.never);
  if (!links_.empty()) late_.headless = count_headless();
  Links all;
  for (auto& [pid, links] : links_) all.adopt(links);
  for (Links& links : closing_.take_all()) all.adopt(links);
  links_.clear();
  all.detach();
  return late_;
}

}  // namespace memflame
