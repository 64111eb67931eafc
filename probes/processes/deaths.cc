// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/deaths.h"

#include <sys/wait.h>

#include <cstring>

#include "core/units.h"
#include "probes/processes/exit_status.h"

namespace memflame {
namespace {

constexpr size_t most_deaths_named = 4;

}  // namespace

void Deaths::take(const bpf::space_record& record) {
  const auto status = static_cast<int>(record.exit_status);
  if (record.reason != bpf::space_end || !WIFSIGNALED(status)) return;
  if (first_.size() == most_deaths_named) {
    ++others_;
    return;
  }
  first_.push_back({.pid = record.tgid,
                    .signal = WTERMSIG(status),
                    .out_of_memory = record.out_of_memory != 0,
                    .name = {record.comm, ::strnlen(record.comm, sizeof(record.comm))}});
}

std::vector<std::string> Deaths::notes() const {
  std::vector<std::string> notes;
  for (const Death& death : first_)
    notes.push_back(
        "process " + std::to_string(death.pid) + " (" + death.name + ") was killed " +
        (death.out_of_memory ? "by the kernel, which was out of memory: " : std::string("by ")) +
        signal_text(death.signal));
  if (others_ != 0)
    notes.push_back(with_commas(static_cast<int64_t>(others_)) +
                    " more processes were killed by signals");
  return notes;
}

}  // namespace memflame
