// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/exit_status.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "probes/system/procfs.h"

namespace memflame {
namespace {

// struct pidfd_info, PIDFD_GET_INFO and PIDFD_INFO_EXIT of linux/pidfd.h, in its first size.
struct PidfdInfo {
  uint64_t mask, cgroup;
  uint32_t ids[11];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t pidfd_info_exit = 1U << 3;

std::optional<uint32_t> number_at(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end != text.data() ? std::optional(number) : std::nullopt;
}

// The last field. For processes of other users it is 0 without CAP_SYS_PTRACE.
std::optional<uint32_t> status_of_zombie(pid_t pid) {
  const std::string line = read_file(proc_path(pid, "stat"));
  if (parse_stat(line).state != 'Z') return std::nullopt;
  return number_at(std::string_view(line).substr(line.rfind(' ') + 1));
}

uint64_t kills_in(const std::string& vmstat) {
  constexpr std::string_view name = "\noom_kill ";
  const std::string text = read_file(vmstat);
  const size_t at = text.find(name);
  if (at == std::string::npos) return 0;
  return number_at(std::string_view(text).substr(at + name.size())).value_or(0);
}

}  // namespace

uint32_t exit_status_of(int process, pid_t pid) {
  if (const std::optional<uint32_t> status = status_of_zombie(pid)) return *status;
  PidfdInfo info{};
  info.mask = pidfd_info_exit;
  if (::ioctl(process, pidfd_get_info, &info) != 0 || (info.mask & pidfd_info_exit) == 0) return 0;
  return static_cast<uint32_t>(info.exit_code);
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return "signal " + std::to_string(signal) +
         (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
}

OomKills::OomKills(std::string vmstat)
    : vmstat_(std::move(vmstat)), explained_(kills_in(vmstat_)) {}

bool OomKills::explain() {
  if (kills_in(vmstat_) <= explained_) return false;
  ++explained_;
  return true;
}

}  // namespace memflame
