// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>

#include "core/unique_fd.h"
#include "core/units.h"

namespace memflame {
namespace {

// "RssAnon:     123 kB" -> bytes
int64_t status_bytes(const std::string& status, const std::string& name) {
  return std::strtoll(status_field(status, name).c_str(), nullptr, 10) * 1024;
}

// Numbers in hex, e.g. "7f00-7f10"; returns what follows.
std::string_view take_hex(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) value = 0;
  return text.substr(static_cast<size_t>(end - text.data()));
}

// Whether a process can run, and what it has done; zeros if it is gone.
struct Work {
  bool runnable = false;
  uint64_t done = 0;  // page faults and clock ticks
};

Work work_of(pid_t pid) {
  const ProcessStat stat = parse_stat(read_file(proc_path(pid, "stat")));
  return {stat.state == 'R', stat.minor_faults + stat.user_ticks + stat.system_ticks};
}

}  // namespace

std::string proc_path(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string status_field(const std::string& status, const std::string& name) {
  const size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return {};
  const size_t start = status.find_first_not_of(" \t", at + name.size() + 2);
  return start == std::string::npos ? "" : status.substr(start, status.find('\n', start) - start);
}

ProcessStat parse_stat(const std::string& line) {
  ProcessStat stat;
  // Behind the name, which may hold anything: fields 3 and on (proc(5)).
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return stat;
  std::istringstream fields(line.substr(name_end + 2));
  fields >> stat.state;
  int64_t value = 0;
  for (int field = 4; field <= 22 && fields >> value; ++field) {
    const auto number = static_cast<uint64_t>(value);
    if (field == 10) stat.minor_faults = number;
    if (field == 14) stat.user_ticks = number;
    if (field == 15) stat.system_ticks = number;
    if (field == 16 || field == 17) stat.children_ticks += number;
    if (field == 22) stat.start_ticks = number;
  }
  return stat;
}

int64_t parse_resident(const std::string& statm) {
  std::istringstream fields(statm);
  int64_t size = 0;
  int64_t resident = 0;
  return fields >> size >> resident ? resident * page_bytes : 0;
}

std::optional<double> parse_pressure(const std::string& text) {
  constexpr std::string_view before = "some avg10=";
  if (!text.starts_with(before)) return std::nullopt;
  std::istringstream number(text.substr(before.size()));
  double percent = 0;
  if (!(number >> percent)) return std::nullopt;
  return percent;
}

std::optional<int64_t> parse_pss(const std::string& rollup) {
  const std::string field = status_field(rollup, "Pss");
  const char* last = field.data() + field.size();
  int64_t kib = 0;
  const auto [end, error] = std::from_chars(field.data(), last, kib);
  if (error != std::errc() || std::string_view(end, last) != " kB" || kib < 0 ||
      kib > INT64_MAX / 1024)
    return std::nullopt;
  return kib * 1024;
}

bool has_our_root(pid_t pid) {
  struct stat own {};
  struct stat theirs {};
  return ::stat("/", &own) == 0 && ::stat(proc_path(pid, "root").c_str(), &theirs) == 0 &&
         own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

OsMemory& OsMemory::operator+=(const OsMemory& other) {
  vm_size += other.vm_size;
  heap += other.heap;
  rss_anon += other.rss_anon;
  rss_file += other.rss_file;
  rss_shmem += other.rss_shmem;
  swap += other.swap;
  stack += other.stack;
  return *this;
}

OsMemory operator-(const OsMemory& a, const OsMemory& b) {
  return {.vm_size = a.vm_size - b.vm_size,
          .heap = a.heap - b.heap,
          .rss_anon = a.rss_anon - b.rss_anon,
          .rss_file = a.rss_file - b.rss_file,
          .rss_shmem = a.rss_shmem - b.rss_shmem,
          .swap = a.swap - b.swap,
          .stack = a.stack - b.stack};
}

std::string read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  // Large reads: one read of a maps file is one consistent walk over that part of the address
  // space.
  std::string buffer(256 << 10, '\0');
  for (ssize_t n = 0; (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer, 0, static_cast<size_t>(n));
  return text;
}

std::vector<MapsLine> parse_maps(std::string_view text) {
  std::vector<MapsLine> lines;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    MapsLine entry;
    line = take_hex(line, entry.start);
    if (line.empty() || line[0] != '-') continue;
    line = take_hex(line.substr(1), entry.end);
    if (line.size() < 6) continue;
    entry.readable = line[1] == 'r';
    entry.writable = line[2] == 'w';
    entry.executable = line[3] == 'x';
    entry.shared = line[4] == 's';
    line = take_hex(line.substr(6), entry.offset);
    uint64_t major = 0;
    uint64_t minor = 0;
    if (line.empty()) continue;
    line = take_hex(line.substr(1), major);
    if (line.empty()) continue;
    line = take_hex(line.substr(1), minor);
    entry.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    if (line.empty()) continue;
    const char* digits = line.data() + 1;
    const auto [end, error] = std::from_chars(digits, line.data() + line.size(), entry.inode);
    if (error != std::errc()) continue;
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    const size_t name = line.find_first_not_of(' ');
    if (name != std::string_view::npos) entry.path = line.substr(name);
    lines.push_back(std::move(entry));
  }
  return lines;
}

std::optional<std::vector<MapsLine>> read_maps(pid_t pid) {
  const std::string text = read_file(proc_path(pid, "maps"));
  if (text.empty()) return std::nullopt;
  return parse_maps(text);
}

std::optional<OsMemory> read_memory(pid_t pid) {
  const std::string status = read_file(proc_path(pid, "status"));
  if (status.find("\nVmSize:") == std::string::npos) return std::nullopt;
  OsMemory memory{.vm_size = status_bytes(status, "VmSize"),
                  .rss_anon = status_bytes(status, "RssAnon"),
                  .rss_file = status_bytes(status, "RssFile"),
                  .rss_shmem = status_bytes(status, "RssShmem"),
                  .swap = status_bytes(status, "VmSwap"),
                  .stack = status_bytes(status, "VmStk")};
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid);
  if (!maps) return std::nullopt;
  for (const MapsLine& line : *maps)
    if (line.path == "[heap]") memory.heap += static_cast<int64_t>(line.end - line.start);
  return memory;
}

std::optional<OsMemory> read_memory_by_walk(pid_t pid) {
  std::optional<OsMemory> memory = read_memory(pid);
  const std::string rollup = read_file(proc_path(pid, "smaps_rollup"));
  if (!memory || rollup.find("\nRss:") == std::string::npos) return memory;
  memory->rss_anon = status_bytes(rollup, "Anonymous");
  memory->rss_file = status_bytes(rollup, "Rss") - memory->rss_anon - memory->rss_shmem;
  return memory;
}

std::string read_comm(pid_t pid) {
  std::string comm = read_file(proc_path(pid, "comm"));
  while (!comm.empty() && comm.back() == '\n') comm.pop_back();
  return comm;
}

std::string read_program(pid_t pid) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink(proc_path(pid, "exe").c_str(), path.data(), path.size());
  std::string program(path.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
  constexpr std::string_view gone = " (deleted)";  // replaced by a newer one
  if (program.ends_with(gone)) program.resize(program.size() - gone.size());
  return program;
}

int64_t resident_of(pid_t pid) { return parse_resident(read_file(proc_path(pid, "statm"))); }

std::optional<uid_t> user_of_process(pid_t pid) {
  const std::string status = read_file(proc_path(pid, "status"));
  const size_t at = status.find("\nUid:");
  unsigned real = 0;
  unsigned effective = 0;
  if (at == std::string::npos ||
      std::sscanf(status.c_str() + at, " Uid: %u %u", &real, &effective) != 2)
    return std::nullopt;
  return effective;
}

namespace {

// The names in a folder that are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> pids;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

}  // namespace

std::vector<pid_t> all_pids() { return numbers_in("/proc"); }

std::vector<pid_t> children_of_thread(pid_t pid, pid_t tid) {
  std::vector<pid_t> found;
  std::istringstream children(
      read_file(proc_path(pid, "task/" + std::to_string(tid) + "/children")));
  for (pid_t child = 0; children >> child;) found.push_back(child);
  return found;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  for (const pid_t tid : numbers_in(proc_path(pid, "task")))
    for (const pid_t child : children_of_thread(pid, tid)) found.push_back(child);
  return found;
}

ThreadSeen find_thread(pid_t process, uint32_t own_tid) {
  const auto text = [&](pid_t tid, const char* file) {
    return read_file(proc_path(process, "task/" + std::to_string(tid) + "/" + file));
  };
  // Ids from memflame's PID namespace inwards.
  const auto own_id = [&](pid_t tid) {
    const std::string ids = status_field(text(tid, "status"), "NSpid");
    return ids.substr(ids.find_last_of(" \t") + 1);
  };
  const std::string own = std::to_string(own_tid);
  auto tid = static_cast<pid_t>(own_tid);
  if (own_id(tid) != own) {
    tid = 0;
    for (const pid_t other : numbers_in(proc_path(process, "task")))
      if (own_id(other) == own) tid = other;
    if (tid == 0 && own_id(process) == std::to_string(process)) tid = static_cast<pid_t>(own_tid);
  }
  std::string name = text(tid, "comm");
  if (name.ends_with('\n')) name.pop_back();
  return {tid, std::move(name)};
}

std::vector<pid_t> working_processes(const std::vector<pid_t>& pids) {
  constexpr auto a_while = std::chrono::milliseconds(50);  // some clock ticks
  std::vector<Work> before;
  before.reserve(pids.size());
  for (const pid_t pid : pids) before.push_back(work_of(pid));
  std::this_thread::sleep_for(a_while);
  std::vector<pid_t> found;
  for (size_t i = 0; i < pids.size(); ++i) {
    const Work now = work_of(pids[i]);
    if (now.runnable || before[i].runnable || now.done != before[i].done) found.push_back(pids[i]);
  }
  return found;
}

double cpu_seconds(pid_t pid, bool with_children) {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const ProcessStat stat = parse_stat(read_file(proc_path(pid, "stat")));
  return tick * static_cast<double>(stat.user_ticks + stat.system_ticks +
                                    (with_children ? stat.children_ticks : 0));
}

double age_seconds(pid_t pid) {
  const ProcessStat stat = parse_stat(read_file(proc_path(pid, "stat")));
  timespec now{};
  if (stat.state == 0 || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const double began =
      static_cast<double>(stat.start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  // Parts of a second count: a process that was there before a point of time is older than that.
  return std::max(0.0,
                  static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 - began);
}

uint64_t start_ticks_of(pid_t pid) {
  return parse_stat(read_file(proc_path(pid, "stat"))).start_ticks;
}

bool is_alive(pid_t pid) {
  const char state = parse_stat(read_file(proc_path(pid, "stat"))).state;
  return state != 0 && state != 'Z' && state != 'X';
}

bool has_address_space(pid_t pid) {
  return !status_field(read_file(proc_path(pid, "status")), "VmSize").empty();
}

}  // namespace memflame
