// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/tracefs.h"
#include "probes/options/advice.h"

namespace memflame {
namespace {

UniqueFd perf_event(perf_event_attr& attr, pid_t pid) {
  attr.size = sizeof(attr);
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

UniqueFd link_to(int event, int program, uint64_t cookie) {
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.perf_event.bpf_cookie = cookie;
  return UniqueFd(bpf_link_create(program, event, BPF_PERF_EVENT, &options));
}

[[noreturn]] void refuse(const std::string& what) {
  const bool rights = errno == EPERM || errno == EACCES;
  throw Error("cannot attach to " + what + ": " + std::strerror(errno) +
                  (rights ? "; " + run_as_root_or_with("CAP_BPF and CAP_PERFMON") : ""),
              rights ? ExitCode::requirement : ExitCode::failure);
}

uint64_t sysfs_number(const char* path, const char* prefix, uint64_t otherwise) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text) || !text.starts_with(prefix)) return otherwise;
  return std::strtoull(text.c_str() + std::strlen(prefix), nullptr, 10);
}

}  // namespace

void Links::raw_tracepoint(const bpf_program* program, const char* name) {
  UniqueFd link = open_raw_tracepoint(bpf_program__fd(program), name);
  if (!link) refuse(std::string("the kernel's tracepoint ") + name);
  fds_.push_back(std::move(link));
}

bool Links::tracepoint(const bpf_program* program, const char* category, const char* name) {
  const int id = tracepoint_id(category, name);
  if (id < 0) return false;
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = static_cast<__u64>(id);
  attr.sample_period = 1;
  // A tracepoint's programs run on every CPU, whichever one the event was opened for.
  UniqueFd event = perf_event(attr, -1);
  if (!event) return false;
  UniqueFd link = link_to(event.get(), bpf_program__fd(program), 0);
  if (!link) refuse(std::string("the tracepoint ") + name);
  fds_.push_back(std::move(link));
  fds_.push_back(std::move(event));
  return true;
}

void Links::perf_uprobe(int program, const std::string& path, const UprobeSite& site,
                        bool is_return, pid_t pid) {
  constexpr const char* folder = "/sys/bus/event_source/devices/uprobe/";
  static const uint64_t type = sysfs_number((std::string(folder) + "type").c_str(), "", 0);
  static const uint64_t bit =
      sysfs_number((std::string(folder) + "format/retprobe").c_str(), "config:", 0);
  if (type == 0)
    throw Error("this kernel has no uprobes (CONFIG_UPROBE_EVENTS)", ExitCode::requirement);
  perf_event_attr attr{};
  attr.type = static_cast<uint32_t>(type);
  // The offset of the counter begins at bit 32 (/sys/bus/event_source/devices/uprobe/format).
  attr.config = (is_return ? 1ULL << bit : 0) | site.counter << 32;
  attr.uprobe_path = reinterpret_cast<uintptr_t>(path.c_str());
  attr.probe_offset = site.offset;
  UniqueFd event = perf_event(attr, pid > 0 ? pid : -1);
  if (!event) refuse(path);
  UniqueFd link = link_to(event.get(), program, site.cookie);
  if (!link) refuse(path);
  fds_.push_back(std::move(link));
  fds_.push_back(std::move(event));
}

void Links::uprobes(const bpf_program* program, const std::string& path,
                    const std::vector<UprobeSite>& sites, UprobeKind kind, pid_t pid) {
  uprobes(bpf_program__fd(program), path, sites, kind, pid);
}

void Links::uprobes(int program, const std::string& path, const std::vector<UprobeSite>& sites,
                    UprobeKind kind, pid_t pid) {
  if (sites.empty()) return;
  if (kind == UprobeKind::entry || kind == UprobeKind::returns) {
    for (const UprobeSite& site : sites)
      perf_uprobe(program, path, site, kind == UprobeKind::returns, pid);
    return;
  }
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> cookies;
  std::vector<uint64_t> counters;
  for (const UprobeSite& site : sites) {
    offsets.push_back(site.offset);
    cookies.push_back(site.cookie);
    counters.push_back(site.counter);
  }
  UniqueFd link = link_uprobe_multi(
      program,
      {.path = path,
       .offsets = offsets,
       .cookies = cookies,
       .counters = counters,
       .attach_type = kind == UprobeKind::session ? attach_uprobe_session : attach_uprobe_multi,
       .is_return = kind == UprobeKind::multi_returns,
       .pid = pid});
  if (!link) refuse(path);
  fds_.push_back(std::move(link));
}

void Links::adopt(Links& other) {
  for (UniqueFd& fd : other.fds_) fds_.push_back(std::move(fd));
  other.fds_.clear();
}

void Links::detach() {
  constexpr size_t threads = 16;
  if (fds_.size() <= 4) {
    fds_.clear();
    return;
  }
  std::vector<std::jthread> closers;
  for (size_t t = 0; t < std::min(threads, fds_.size()); ++t)
    closers.emplace_back([this, t] {
      for (size_t i = t; i < fds_.size(); i += threads) fds_[i].reset();
    });
  closers.clear();
  fds_.clear();
}

}  // namespace memflame
