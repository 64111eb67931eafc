// SPDX-License-Identifier: BSD-2-Clause
// The operating system's information on a process.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memflame {

// In bytes.
struct OsMemory {
  int64_t vm_size = 0;
  int64_t heap = 0;  // the [heap] mapping
  int64_t rss_anon = 0, rss_file = 0, rss_shmem = 0;
  int64_t swap = 0;
  int64_t stack = 0;  // VmStk
  int64_t rss() const { return rss_anon + rss_file + rss_shmem; }

  OsMemory& operator+=(const OsMemory& other);
  friend OsMemory operator-(const OsMemory& a, const OsMemory& b);
};

// One line of /proc/PID/maps.
struct MapsLine {
  uint64_t generation = 0;  // of the inode; 0 = not known, as in /proc
  uint64_t start = 0, end = 0, offset = 0;
  bool readable = false, writable = false, executable = false, shared = false;
  uint64_t device = 0, inode = 0;
  std::string path;  // with " (deleted)", "" if anonymous
};

std::string proc_path(pid_t pid, const std::string& file);  // /proc/PID/FILE
bool has_our_root(pid_t pid);                               // sees the same / as memflame

// What follows "NAME:" in /proc/PID/status; "" if it is not there.
std::string status_field(const std::string& status, const std::string& name);

// From /proc/PID/stat; fields that the line does not have are 0.
struct ProcessStat {
  char state = 0;  // 'R', 'S', 'Z', …
  uint64_t minor_faults = 0;
  uint64_t user_ticks = 0, system_ticks = 0;
  uint64_t children_ticks = 0;  // both, of children that were waited for
  uint64_t start_ticks = 0;     // when it began, since boot
};
ProcessStat parse_stat(const std::string& line);
// User and system time that a process has used; 0 if it is gone.
double cpu_seconds(pid_t pid, bool with_children);
// Since it began, or was forked; 0 if it is gone.
double age_seconds(pid_t pid);
// When it began, in ticks since boot: tells it from others of the same id. 0 if it is gone.
uint64_t start_ticks_of(pid_t pid);

// Bytes that are resident, by the text of /proc/PID/statm; 0 if the process is gone.
int64_t parse_resident(const std::string& statm);
// Percent of the last ten seconds in which some task waited, by the text of /proc/pressure/memory
// or a control group's memory.pressure; none if there is no such text.
std::optional<double> parse_pressure(const std::string& text);

// Bytes of PSS, by the text of /proc/PID/smaps_rollup; none if the text does not say.
std::optional<int64_t> parse_pss(const std::string& rollup);

std::vector<MapsLine> parse_maps(std::string_view text);
std::optional<std::vector<MapsLine>> read_maps(pid_t pid);

// Empty for a process that is gone, a zombie, or a kernel thread.
std::optional<OsMemory> read_memory(pid_t pid);

// The same, with resident figures from a walk over the page tables (smaps_rollup). Before 6.2 the
// kernel's counters lack what tasks hold back; this includes it, and takes longer.
std::optional<OsMemory> read_memory_by_walk(pid_t pid);

std::string read_comm(pid_t pid);  // "" if it is gone
// The path of its executable, as it sees it; "" if it is gone or that cannot be told.
std::string read_program(pid_t pid);
int64_t resident_of(pid_t pid);  // bytes; 0 if it is gone
// A thread of a process, by its id in the process's own PID namespace. tid: as memflame sees it; 0
// if it is gone and the two may differ.
struct ThreadSeen {
  pid_t tid = 0;
  std::string name;  // "" if it is gone
};
ThreadSeen find_thread(pid_t process, uint32_t own_tid);
std::string read_file(const std::string& path);   // "" if it cannot be read
std::optional<uid_t> user_of_process(pid_t pid);  // the user it acts as; none if it is gone
std::vector<pid_t> all_pids();
// The living children of a process, as the kernel lists them; empty without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> children_of_thread(pid_t pid, pid_t tid);
// The processes that are working: runnable, or with more CPU time or page faults than some
// milliseconds ago. Waits that long.
std::vector<pid_t> working_processes(const std::vector<pid_t>& pids);
bool is_alive(pid_t pid);  // not gone and not a zombie
// Has an address space: neither gone, nor a zombie, nor a kernel thread.
bool has_address_space(pid_t pid);

}  // namespace memflame
