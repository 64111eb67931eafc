// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/elf/symbols.h"
#include "core/elf/valgrind.h"
#include "core/unique_fd.h"
#include "core/units.h"
#include "probes/advice.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {
namespace {

constexpr size_t most_named = 4;
constexpr const char* own_allocator = "its allocator is part of the program";
constexpr size_t most_found = 4096, most_heard = 65536;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

// Processes and those that descend from them.
std::vector<pid_t> with_descendants(const std::vector<pid_t>& of) {
  std::vector<pid_t> found = of;
  for (size_t i = 0; i < found.size() && i < most_found; ++i)
    for (const pid_t child : children_of(found[i]))
      if (!contains(of, child)) found.push_back(child);
  return found;
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

// Whether a program brings malloc() itself: all calls go there, whatever is loaded before
// libraries.
bool brings_malloc(const std::string& program) {
  const UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  const ImageBytes image(file.get());
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return false;
  bool found = false;
  for (const Elf64_Shdr& section : elf->sections()) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const SymbolSection symbols(image, *elf, section);
    for (size_t i = 0; i < symbols.size() && !found; ++i) {
      const Elf64_Sym symbol = symbols.symbol(i);
      found = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
              symbols.name(symbol) == "malloc";
    }
    break;
  }
  return found;
}

}  // namespace

// A forked child that has not allocated yet has its parent's agent, which is still silent: it runs
// a program in which an agent spoke. In any other program, silence beside a heap means that the
// agent could not speak, also if one spoke in the program before. If the mappings cannot be read,
// what counts is whether it has.
bool Uncovered::is_covered(pid_t pid, bool has_spoken, const std::string& mark) const {
  const std::string maps = read_file(proc_path(pid, "maps"));
  if (maps.empty()) return has_spoken;
  if (maps.find(agent_) == std::string::npos || brings_malloc(proc_path(pid, "exe"))) return false;
  return heard_.contains(mark) || (has_spoken && has_forgotten_) ||
         (maps.find("[heap]") == std::string::npos &&
          reason_in(proc_path(pid, "exe")) != seen_by_nobody);
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
}

// How much is resident shows what is missing at the most.
void Uncovered::keep(pid_t pid) {
  if (!found_.contains(pid) && found_.size() >= most_found) return;
  Found& found = found_[pid];
  const int64_t resident = resident_of(pid);
  if (found.name.empty()) {
    found.name = read_comm(pid);
    found.program = program_mark(pid);
    found.why = reason_in(proc_path(pid, "exe"));
    found.first = resident;
    if (found.why.empty())
      found.why = read_file(proc_path(pid, "maps")).find(agent_) == std::string::npos
                      ? "it came without LD_PRELOAD"
                      : "its agent could not speak to memflame (a filter of system calls?)";
  }
  found.last = std::max(found.last, resident);
}

void Uncovered::forget(pid_t pid) {
  std::erase(first_, pid);
  found_.erase(pid);
  if (left_out_.size() < most_found) left_out_.insert(pid);
}

// An agent of an earlier run may be in any process.
bool Uncovered::has_silent_agent(pid_t pid) const {
  return is_covered(pid, false, program_mark(pid)) && contains(with_descendants(first_), pid);
}

void Uncovered::meet(pid_t pid) {
  executions_.settle(pid);
  hear(pid);
  // Under valgrind, the agent speaks in a program whose allocator valgrind has replaced.
  const std::string reason = reason_in(proc_path(pid, "exe"), false);
  if (reason == own_allocator || reason == seen_by_nobody) return keep(pid);
  // A program that took long to start was taken for one without an agent.
  if (const auto found = found_.find(pid);
      found != found_.end() && found->second.program == program_mark(pid))
    found_.erase(found);
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

void Uncovered::look_at_all(const std::function<bool(pid_t)>& knows,
                            const std::function<void(pid_t)>& lose) {
  // A run may go on for weeks, and get more of them. A command is missed in the end.
  if (attached_) std::erase_if(first_, [](pid_t pid) { return read_comm(pid).empty(); });
  const std::vector<pid_t> all = with_descendants(first_);
  std::set<pid_t> suspects;
  for (const pid_t pid : all) {
    if (left_out_.contains(pid) || !has_address_space(pid)) continue;
    if (found_.contains(pid)) {
      keep(pid);
      continue;
    }
    // A command in which no agent ever speaks is an error in the end.
    const bool has_spoken = knows(pid);
    if ((contains(first_, pid) && !has_spoken) || !is_uncovered(pid, has_spoken)) continue;
    suspects.insert(pid);
    if (!suspects_.contains(pid)) continue;
    executions_.settle(pid);
    keep(pid);
    if (has_spoken) lose(pid);
  }
  suspects_ = std::move(suspects);
  std::erase_if(covered_, [&all](const auto& known) { return !contains(all, known.first); });
}

std::vector<pid_t> Uncovered::starting(const std::function<bool(pid_t)>& knows) const {
  std::vector<pid_t> pids = with_descendants(first_);
  std::erase_if(pids, [&](pid_t pid) {
    return knows(pid) || found_.contains(pid) || left_out_.contains(pid) || !has_address_space(pid);
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

std::string Uncovered::names() const {
  std::vector<std::string> names;
  for (const auto& [pid, process] : found_) {
    if (names.size() == most_named) break;
    names.push_back(process.name + " " + std::to_string(pid) + ": " + process.why + ", resident " +
                    iec_bytes(process.last) +
                    (process.last > process.first
                         ? ", " + iec_bytes(process.last - process.first) + " more than at first"
                         : ""));
  }
  if (executions_.open() != 0)
    for (const std::string& name : executions_.names())
      names.push_back(name + ", and it ended before its memory was read");
  std::string text;
  for (size_t i = 0; i < names.size() && i < most_named; ++i)
    text += (text.empty() ? "" : "; ") + names[i];
  return count() > most_named ? text + "; …" : text;
}

std::string Uncovered::note() const {
  if (count() == 0) return "";
  const std::string count = with_commas(static_cast<int64_t>(this->count())) +
                            (this->count() == 1 ? " process was" : " processes were") +
                            " not seen (" + names() + "): ";
  if (attached_)
    return count +
           "memflame's agent is in the processes that it came into and in their forked children, "
           "but not in programs that they execute; " +
           as_root("the kernel's collector follows them");
  return count +
         "static programs, those that contain their allocator, and those started without "
         "LD_PRELOAD cannot be watched from inside; " +
         as_root("--collect kernel needs no agent");
}

std::string reason_in(const std::string& program, bool preloaded) {
  const UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return "";
  if (preloaded && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "it gains another user's rights";
  // Root has them anyway.
  if (preloaded && ::geteuid() != 0 &&
      ::fgetxattr(file.get(), "security.capability", nullptr, 0) > 0)
    return "it gains capabilities";
  Elf64_Ehdr header{};
  if (::pread(file.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is a 32-bit program";
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
    if (::pread(file.get(), &segment, sizeof(segment), at) != static_cast<ssize_t>(sizeof(segment)))
      return "";
    if (segment.p_type == PT_INTERP) return brings_malloc(program) ? own_allocator : "";
  }
  return is_valgrind_tool(file.get()) ? seen_by_nobody : "it is linked statically";
}

}  // namespace memflame::inside
