// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/units.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"
#include "probes/unique_fd.h"

namespace memflame::inside {
namespace {

constexpr uint64_t look_interval_ns = 250'000'000;
constexpr size_t most_named = 4;
constexpr size_t most_found = 4096;

// The processes that descend from one, without it.
std::vector<pid_t> descendants(pid_t of) {
  std::vector<pid_t> found{of};
  for (size_t i = 0; i < found.size() && i < most_found; ++i)
    for (const pid_t child : children_of(found[i])) found.push_back(child);
  found.erase(found.begin());
  return found;
}

}  // namespace

// A forked child that has not allocated yet has its parent's agent, which is still silent.
bool Uncovered::has_agent(pid_t pid) const {
  return read_file(proc_path(pid, "maps")).find(agent_) != std::string::npos;
}

void Uncovered::look(const std::function<bool(pid_t)>& knows) {
  const uint64_t now = monotonic_ns();
  if (now < next_ns_) return;
  next_ns_ = now + look_interval_ns;
  std::set<pid_t> suspects;
  for (const pid_t pid : descendants(command_)) {
    if (knows(pid) || found_.contains(pid) || !has_address_space(pid) || has_agent(pid)) continue;
    suspects.insert(pid);
    if (suspects_.contains(pid) && found_.size() < most_found) found_[pid] = read_comm(pid);
  }
  suspects_ = std::move(suspects);
}

std::string Uncovered::note() const {
  if (found_.empty()) return "";
  std::string names;
  size_t named = 0;
  for (const auto& [pid, name] : found_)
    if (++named <= most_named)
      names += (names.empty() ? "" : ", ") + name + " " + std::to_string(pid);
  if (named > most_named) names += ", …";
  return with_commas(static_cast<int64_t>(found_.size())) +
         (found_.size() == 1 ? " child was" : " children were") + " not seen (" + names +
         "): static programs, and those started without LD_PRELOAD, cannot be watched from inside; "
         "without --inside, as root, the kernel collects";
}

std::string reason_in(const std::string& program) {
  const UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return "";
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) return "it gains another user's rights";
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
    if (segment.p_type == PT_INTERP) return "";
  }
  return "it is linked statically";
}

}  // namespace memflame::inside
