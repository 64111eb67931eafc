// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_data_processes.h"

#include <sys/mman.h>

#include <tuple>

#include "core/error.h"

namespace memflame {
namespace {

// Areas copied for processes that changed theirs after a fork. Real recordings stay far below: most
// processes exec after a fork, which copies nothing.
constexpr size_t max_copied = 50'000'000;

// The kernel's names are not longer; they are copied for each address or sample.
constexpr size_t longest_path = 4096, longest_comm = 255;

bool is_anonymous(std::string_view path) {
  for (const std::string_view name : {"//anon", "[heap]", "[stack", "[anon", "anon_inode:",
                                      "/dev/zero", "/memfd:", "/SYSV", "/anon_hugepage"})
    if (path.starts_with(name)) return true;
  return path.empty();
}

}  // namespace

bool PerfProcesses::take(const PerfRecord& record) {
  PerfBytes bytes(record.body);
  switch (record.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return take_map(record);
    case PERF_RECORD_COMM:
      if (record.body.size() < 9) return false;
      take_comm(bytes, (record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
      return true;
    case PERF_RECORD_FORK:
      if (record.body.size() < 16) return false;
      take_fork(bytes, (record.misc & PERF_RECORD_MISC_FORK_EXEC) == 0);
      return true;
    default:
      return true;
  }
}

bool PerfProcesses::take_map(const PerfRecord& record) {
  PerfBytes bytes(record.body);
  const auto pid = bytes.number<uint32_t>();
  bytes.number<uint32_t>();  // tid
  const auto start = bytes.number<uint64_t>();
  const auto length = bytes.number<uint64_t>();
  Area area;
  bytes.take(area.offset);
  const bool second = record.type == PERF_RECORD_MMAP2;
  const bool has_build_id = second && (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0;
  uint64_t inode = 0;
  uint32_t protection = PROT_EXEC;
  std::string build_id;
  if (second) {
    const std::string_view identity = bytes.bytes(24);
    bytes.take(protection);
    bytes.number<uint32_t>();  // flags
    if (!bytes.good()) return false;
    const auto size = static_cast<unsigned char>(identity[0]);
    if (has_build_id)
      build_id = perf_build_id(identity.substr(4, size <= 20 ? size : 20));
    else
      std::memcpy(&inode, identity.data() + 8, sizeof inode);
  }
  if (!bytes.good()) return false;
  const std::string path(bytes.text().substr(0, longest_path));
  if ((record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
    constexpr std::string_view text = "[kernel.kallsyms]";
    if (path.starts_with(text)) kernel_ = {path.substr(text.size()), area.offset};
    return true;
  }
  if ((record.misc & PERF_RECORD_MISC_MMAP_DATA) != 0 || (protection & PROT_EXEC) == 0) return true;
  if (path == "[vsyscall]") return true;
  area.module = module(path, inode, second && !has_build_id, build_id);
  map(pid, start, length, area);
  return true;
}

// Maps an area in place of whatever was mapped there.
void PerfProcesses::map(uint32_t pid, uint64_t start, uint64_t length, Area area) {
  if (length == 0) return;
  area.end = __builtin_add_overflow(start, length, &area.end) ? UINT64_MAX : area.end;
  Areas& areas = own(pid);
  auto at = areas.lower_bound(start);
  if (at != areas.begin() && std::prev(at)->second.end > start) {
    Area& before = std::prev(at)->second;
    if (before.end > area.end) {
      Area behind = before;
      behind.offset += area.end - std::prev(at)->first;
      areas.emplace_hint(at, area.end, behind);
    }
    before.end = start;
    at = areas.lower_bound(start);
  }
  while (at != areas.end() && at->first < area.end) {
    Area covered = at->second;
    const uint64_t its_start = at->first;
    at = areas.erase(at);
    if (covered.end <= area.end) continue;
    covered.offset += area.end - its_start;
    areas.emplace_hint(at, area.end, covered);
    break;
  }
  areas.emplace(start, area);
}

void PerfProcesses::take_comm(PerfBytes bytes, bool exec) {
  const auto pid = bytes.number<uint32_t>();
  const auto tid = bytes.number<uint32_t>();
  comms_[tid] = bytes.text().substr(0, longest_comm);
  if (exec) processes_[pid] = std::make_shared<Areas>();
}

// The forks that perf writes for existing processes inherit nothing.
void PerfProcesses::take_fork(PerfBytes bytes, bool real) {
  const auto pid = bytes.number<uint32_t>();
  const auto parent = bytes.number<uint32_t>();
  const auto tid = bytes.number<uint32_t>();
  const auto parent_tid = bytes.number<uint32_t>();
  if (const auto comm = comms_.find(parent_tid); comm != comms_.end()) {
    const std::string name = comm->second;
    comms_[tid] = name;
  }
  if (pid == parent) return;
  const auto areas = processes_.find(parent);
  const std::shared_ptr<Areas> shared =
      !real || areas == processes_.end() ? std::make_shared<Areas>() : areas->second;
  processes_[pid] = shared;
}

// Memory areas private to one process.
PerfProcesses::Areas& PerfProcesses::own(uint32_t pid) {
  std::shared_ptr<Areas>& areas = processes_[pid];
  if (!areas) areas = std::make_shared<Areas>();
  if (areas.use_count() > 1) {
    copied_ += areas->size();
    if (copied_ > max_copied) throw Error("its processes have too many mappings");
    areas = std::make_shared<Areas>(*areas);
  }
  return *areas;
}

ModuleId PerfProcesses::module(const std::string& path, uint64_t inode, bool has_inode,
                               const std::string& build_id) {
  const auto [known, added] = modules_.try_emplace({path, inode, build_id});
  if (!added) return known->second;
  known->second = ModuleId{next_index(recording_.modules.size())};
  Module& module = recording_.modules.emplace_back();
  module.path = path;
  module.kind = is_anonymous(path) ? ModuleKind::anonymous : ModuleKind::file;
  module.inode = inode;
  module.build_id = build_id;
  module.any_inode = !has_inode;
  module.unchanged_since_ns = unchanged_since_ns_;
  return known->second;
}

PerfCodePlace PerfProcesses::find(uint32_t pid, uint64_t address) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  const Areas& areas = *process->second;
  const auto after = areas.upper_bound(address);
  if (after == areas.begin()) return {};
  const auto& [start, area] = *std::prev(after);
  if (address >= area.end) return {};
  return {area.module, area.offset + (address - start)};
}

const std::string& PerfProcesses::comm(uint32_t pid, uint32_t tid) {
  for (const uint32_t id : {tid, pid})
    if (const auto known = comms_.find(id); known != comms_.end()) return known->second;
  return comms_[tid] = tid == 0 ? "swapper" : ":" + std::to_string(tid);
}

}  // namespace memflame
