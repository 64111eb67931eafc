// SPDX-License-Identifier: BSD-2-Clause
// Whom a session watches: its targets, and the programs that they are about to execute.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "probes/processes/program_files.h"
#include "probes/run/session.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t most_expected = 4096;

// "" if it is not known.
std::string path_of(int fd) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
}

}  // namespace

bpf::space space_with(const OsMemory& now, bpf::space space) {
  space.rss[0] = now.rss_file / page_bytes;
  space.rss[1] = now.rss_anon / page_bytes;
  space.rss[3] = now.rss_shmem / page_bytes;
  return space;
}

// A probe whose stacks belong to no process need not follow all processes of the system.
std::vector<pid_t> Session::targets_now() const {
  if (options_.target.whole_system() && !first().probe.user_stacks) return {};
  return processes_.present();
}

void Session::add_target(pid_t pid, bool waits_for_exec) {
  if (waits_for_exec || options_.target.one_by_one) processes_.pids().look();  // it is new
  const auto tgid = static_cast<uint32_t>(processes_.pids().initial(pid));
  if (tgid == 0) return;  // it has ended
  BpfObject& object = first().loaded.object;
  bpf::process process{};
  process.waits_for_exec = waits_for_exec;
  if (!waits_for_exec) {
    bpf::process known{};
    if (object.lookup("processes", tgid, known)) return;  // followed since its fork
    process.space = object.new_space();
    const SpaceId space{process.space};
    process.code = stacks_.unwinder.claim(space);
    const std::optional<OsMemory> now = armed_ ? read_memory(pid) : std::nullopt;
    object.update("spaces", process.space, now ? space_with(*now) : bpf::space{});
    processes_.adopt(space, pid);
    for (const auto& probe : probes_) probe->accounting->begin(space, pid, false);
  }
  object.update("processes", tgid, process);
  for (const auto& probe : probes_) probe->accounting->on_target(pid);
}

void Session::drop_target(pid_t pid) {
  first().loaded.object.erase("processes", static_cast<uint32_t>(processes_.pids().initial(pid)));
  bpf::space_record gone{};
  gone.reason = bpf::space_end;
  gone.by = bpf::by_nobody;
  gone.tgid = static_cast<uint32_t>(pid);
  gone.time = monotonic_ns();
  for (const auto& probe : probes_) probe->accounting->on_process(gone);
}

void Session::expect_program(pid_t pid, const std::string& file) {
  attach_file(file, open_file(file));
  if (!expected_.insert(file).second) return;
  // A loader reads what another user wrote, with memflame's rights: only its own user's. It may not
  // go where /proc leads.
  struct stat process {};
  const bool may_ask = ::stat(proc_path(pid, "").c_str(), &process) == 0 &&
                       process.st_uid == ::geteuid() && has_usual_loader(file);
  if (!may_ask) return;
  for (const std::string& path : libraries_of(path_of(open_file(file).get()))) {
    UniqueFd there = open_file(proc_path(pid, "root") + path);
    attach_file(path, there ? std::move(there) : open_file(path));
  }
  if (expected_.size() >= most_expected) expected_.clear();
}

void Session::attach_file(const std::string& path, UniqueFd file) {
  if (!file) return;
  Module module;
  module.path = path;
  module.file = SharedFd(file.release());
  for (const auto& probe : probes_) probe->accounting->attach_module(probe->loaded, module);
}

bool Session::is_attached() const {
  return std::ranges::all_of(probes_,
                             [](const auto& probe) { return probe->accounting->is_attached(); });
}

void Session::add_present_targets() {
  processes_.pids().look();
  const std::vector<pid_t> pids = targets_now();
  for (const pid_t pid : pids) add_target(pid, false);
  const Target& target = options_.target;
  if (target.follow_children && !target.pids.empty() && !target.is_selection()) add_children(pids);
}

// The programs tell of what a process forks from when it became a target. A child that it had
// forked by then, while memflame began, is looked for, and so are that one's children.
void Session::add_children(std::vector<pid_t> watched) {
  for (size_t known = 0; known != watched.size();) {
    known = watched.size();
    for (size_t i = 0; i < watched.size(); ++i)
      for (const pid_t child : older_children_.newer_of(watched[i])) {
        if (std::ranges::find(watched, child) != watched.end()) continue;
        add_target(child, false);
        watched.push_back(child);
      }
  }
  for (const pid_t pid : watched) older_children_.leave_out(pid);
}

}  // namespace memflame
