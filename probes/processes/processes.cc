// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/processes.h"

#include <pwd.h>
#include <unistd.h>

#include <charconv>

#include "core/error.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

std::optional<uid_t> uid_named(const std::string& owner) {
  if (owner.empty()) return std::nullopt;
  uid_t uid = 0;
  const auto [end, error] = std::from_chars(owner.data(), owner.data() + owner.size(), uid);
  if (error == std::errc{} && end == owner.data() + owner.size()) return uid;
  const passwd* const user = ::getpwnam(owner.c_str());
  if (user == nullptr) throw Error("--owner " + owner + ": there is no such user");
  return user->pw_uid;
}

// A name without folders is one in any folder.
bool is_program(std::string_view path, const std::string& wanted) {
  if (wanted.find('/') == std::string::npos) path.remove_prefix(path.rfind('/') + 1);
  return path == wanted;
}

}  // namespace

Processes::Processes(const Target& target, bool exact_counters, Log log)
    : target_(target), owner_(uid_named(target.owner)), os_(exact_counters) {
  if (log == Log::kernel) sideband_.emplace();
  spaces_.set_log([this] { read_log(); });
  if (!target.cgroups.empty()) cgroups_.emplace(target.cgroups);
}

std::vector<pid_t> Processes::present() const {
  if (!target_.whole_system() && !target_.is_selection()) return target_.pids;
  std::vector<pid_t> pids;
  for (const pid_t pid : cgroups_ ? cgroups_->pids() : all_pids())
    if (pid != ::getpid() && is_wanted(pid) && has_address_space(pid)) pids.push_back(pid);
  return pids;
}

// The cheapest questions first: there may be thousands of processes.
bool Processes::is_wanted(pid_t pid) const {
  if (!target_.comm.empty() && read_comm(pid) != target_.comm) return false;
  if (!target_.program.empty() && !is_program(read_program(pid), target_.program)) return false;
  if (owner_ && user_of_process(pid) != owner_) return false;
  return target_.above == 0 || resident_of(pid) >= target_.above;
}

std::vector<uint64_t> Processes::cgroup_ids() const {
  return cgroups_ ? cgroups_->ids() : std::vector<uint64_t>{};
}

void Processes::adopt(SpaceId space, pid_t pid) {
  spaces_.adopt(space, pid, monotonic_ns());
  if (cgroups_) place(space, cgroups_->id_of(pid));
  os_.adopt(space, pid);
}

void Processes::begin(const bpf::space_record& record) {
  read_log();
  spaces_.begin(record);
}

void Processes::take(const bpf::space_record& record) {
  const SpaceId id{record.space};
  os_.take(record);
  deaths_.take(record);
  if (record.reason == bpf::space_ending) return;
  if (record.reason == bpf::space_end) return spaces_.end(id, record.time);
  if (cgroups_) place(id, record.cgroup);
}

void Processes::place(SpaceId space, uint64_t cgroup) {
  if (cgroup != 0) spaces_.place(space, cgroups_->name(cgroup));
}

void Processes::read_log() {
  if (sideband_) sideband_->drain([this](const SidebandRecord& record) { spaces_.take(record); });
}

std::optional<double> Processes::memory_pressure() const {
  if (!cgroups_) return parse_pressure(read_file("/proc/pressure/memory"));
  std::optional<double> most;
  for (const std::string& folder : cgroups_->folders()) {
    const std::optional<double> here = parse_pressure(read_file(folder + "/memory.pressure"));
    if (here && here > most) most = here;
  }
  return most;
}

std::optional<int64_t> Processes::cgroup_bytes() const {
  if (!cgroups_) return std::nullopt;
  int64_t sum = 0;
  for (const std::string& folder : cgroups_->folders()) {
    const std::string text = read_file(folder + "/memory.current");
    int64_t bytes = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc{})
      return std::nullopt;
    sum += bytes;
  }
  return sum;
}

void Processes::poll_os() {
  if (!target_.whole_system()) reading_.look([this] { os_.poll(); });
}

void Processes::read_pss() {
  if (target_.whole_system() || !pss_.is_due()) return;
  pss_.read(os_.living_spaces(), os_.resident_bytes());
}

}  // namespace memflame
