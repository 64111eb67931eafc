// SPDX-License-Identifier: BSD-2-Clause
// When a session looks at the memory of which processes: for --reachable, and for what blocks
// waste.
#include <deque>

#include "probes/reach/exit_watch.h"
#include "probes/reach/scan.h"
#include "probes/run/run_loop.h"
#include "probes/run/session.h"

namespace memflame {
// From its first instruction on, with nothing lost and nothing left out.
bool Session::knows_all_blocks(const bpf::process& process) const {
  return process.from_exec != 0 && losses().lost_events() == 0 && filters().empty();
}

std::optional<bpf::process> Session::watched(pid_t pid) const {
  bpf::process process{};
  const auto tgid = static_cast<uint32_t>(processes_.pids().initial(pid));
  if (!first().loaded.object.lookup("processes", tgid, process)) return std::nullopt;
  return process;
}

std::map<SpaceId, std::vector<KnownBlock>> Session::blocks_of(
    std::span<const SpaceId> spaces) const {
  std::map<SpaceId, std::vector<KnownBlock>> blocks;
  for (const SpaceId space : spaces) blocks[space];
  first().loaded.object.for_each<bpf::block_key, bpf::block>(
      "blocks", [&blocks](const bpf::block_key& key, const bpf::block& block) {
        const auto known = blocks.find(SpaceId{key.space});
        if (known != blocks.end()) known->second.push_back({key.address, block.size});
      });
  return blocks;
}

void Session::scan_ending(ExitWatch& watch, pid_t pid) {
  const std::optional<HeldProcess> ending = watch.held();
  if (!ending) return;
  poll(0);
  if (const std::optional<bpf::process> process = watched(pid); process && process->space != 0) {
    const SpaceId space{process->space};
    if (options_.waste && ending->why_not.empty() && runs_in(space, pid)) {
      const std::pair<SpaceId, pid_t> command{space, pid};
      ended_waste_[space] = std::move(waste_of_run(*this, {&command, 1}, [&](auto...) {
                                        return knows_all_blocks(*process);
                                      }).front());
    }
    if (!options_.reachable) return watch.let_go();
    auto blocks = blocks_of({&space, 1});
    // A second thread may be in realloc(), which takes a block out of the table for a moment.
    scan(space, pid, *ending, std::move(blocks[space]),
         ending->threads.size() == 1 && knows_all_blocks(*process));
    scans_[space].facts.stopped_s = seconds_since(ending->since_ns);
  }
  watch.let_go();
}

void Session::scan(SpaceId space, pid_t pid, const HeldProcess& held,
                   std::vector<KnownBlock> blocks, bool all_blocks_known) {
  std::string why_not = held.why_not;
  if (why_not.empty() && !runs_in(space, pid)) why_not = "the process had just called exec";
  if (why_not.empty() && first().accounting->is_sampled())
    why_not = "the program samples its blocks, so most are not known";
  if (why_not.empty())
    scans_[space] = scan_process(pid, held.threads, std::move(blocks), all_blocks_known);
  else
    scans_[space].facts = {.pid = pid, .why_not = why_not};
}

bool Session::runs_in(SpaceId space, pid_t pid) const {
  const std::optional<bpf::process> process = watched(pid);
  return process && process->space == space.index && process->borrows == 0;
}

void Session::scan_living() {
  poll(0);
  processes_.pids().look();
  std::vector<std::pair<SpaceId, pid_t>> living = processes_.os().living_spaces();
  // The end of a command that was scanned may not be known yet.
  std::erase_if(living, [this](const auto& process) { return scans_.contains(process.first); });
  std::deque<StoppedProcess> stopped;
  std::vector<SpaceId> spaces;
  for (const auto& [space, pid] : living) {
    stopped.emplace_back(pid);
    spaces.push_back(space);
  }
  for (StoppedProcess& process : stopped) process.held();
  first().loaded.object.arm(false);
  auto blocks = blocks_of(spaces);
  for (const auto& [space, pid] : living) {
    StoppedProcess& process = stopped.front();
    scan(space, pid, process.held(), std::move(blocks[space]), false);
    const uint64_t since_ns = process.held().since_ns;
    process.let_go();
    scans_[space].facts.stopped_s = seconds_since(since_ns);
    stopped.pop_front();
  }
  are_scans_complete_ = true;
}

}  // namespace memflame
