// SPDX-License-Identifier: BSD-2-Clause
// What an InsideSession has seen: figures, losses, notes.
#include <algorithm>

#include "core/units.h"
#include "probes/inside/columns.h"
#include "probes/inside/inside_session.h"
#include "probes/languages/interpreters/interpreters.h"
#include "probes/languages/python/versions.h"
#include "probes/loading/kernel_features.h"
#include "probes/options/advice.h"
#include "probes/run/joined.h"
#include "probes/run/losses.h"
#include "probes/run/run_notes.h"
#include "probes/run/side_by_side.h"
#include "probes/stacks/rows.h"

namespace memflame::inside {
void InsideSession::add_figures(size_t, std::span<const ValueType> types, Rows& rows) {
  const std::vector<BlockSums>& sums = blocks_.sums();
  std::array<int64_t, bpf::columns> columns{};
  for (uint32_t stack = 1; stack < sums.size(); ++stack) {
    breathe();
    const BlockSums sum = sums[stack];
    if (sum.total_count == 0) continue;
    fill(columns.data(), sum);
    rows.add(key_of(stack), "", {columns.begin(), columns.begin() + types.size()}, sum.total_count);
  }
  for (uint32_t space = 1; space < blocks_.unfollowed().size(); ++space) {
    const Unfollowed& lost = blocks_.unfollowed()[space];
    if (lost.count == 0) continue;
    fill(columns.data(), in_columns(lost));
    rows.add(key_of_lost(space), "", {columns.begin(), columns.begin() + types.size()}, 0);
  }
  log_.for_each_amount(0, [&](uint64_t key, const StackLog::Values& sum) {
    if (std::ranges::count(sum, 0) != bpf::columns)
      rows.add(key, "", {sum.begin(), sum.begin() + types.size()}, sum[3]);
  });
}

void InsideSession::for_each_block(const VisitBlock& visit) {
  std::vector<LiveEntry> entries;  // a copy: the table changes meanwhile
  entries.reserve(blocks_.table().size());
  blocks_.table().for_each([&](const LiveEntry& entry) { entries.push_back(entry); });
  for (const LiveEntry& entry : entries) {
    breathe();
    const bpf::block_key key{.address = entry.address, .space = entry.space, .pad = 0};
    bpf::block block{};
    block.hash = key_of(entry.stack);
    const Estimate estimate = blocks_.estimate(entry);
    block.size = entry.size;
    block.weight = estimate.bytes;
    block.count = estimate.blocks;
    block.time_ns = ticks_.ns(entry.ticks);
    visit(key, block);
  }
}

void InsideSession::for_each_sum(const VisitSum& visit) {
  const std::vector<BlockSums>& sums = blocks_.sums();
  for (uint32_t stack = 1; stack < sums.size(); ++stack) {
    breathe();
    bpf::sum sum{};
    fill(sum.value, sums[stack]);
    if (sums[stack].total_count != 0) visit(key_of(stack), sum.value);
  }
  for (uint32_t space = 1; space < blocks_.unfollowed().size(); ++space) {
    bpf::sum sum{};
    fill(sum.value, in_columns(blocks_.unfollowed()[space]));
    if (sum.value[1] != 0) visit(key_of_lost(space), sum.value);
  }
  log_.for_each_amount(0,
                       [&](uint64_t key, const StackLog::Values& sum) { visit(key, sum.data()); });
}

Snapshot InsideSession::snapshot(const SnapshotOptions& options) {
  Snapshot snapshot = take_snapshot(*this, options);
  snapshot.losses = losses();
  return snapshot;
}

Recording InsideSession::recording_of(std::span<const LiveStack* const> stacks, bool by_count) {
  Recording recording;
  show_live(recording, stacks, by_count, is_sampled());
  recording.meta.sampling = sampling_in_words();
  recording.losses = losses();
  processes_.spaces().copy_to(recording);
  return recording;
}

std::string InsideSession::sampling_in_words() const {
  if (governor_ && !counts_) return governor_->budget().kept_in_words();
  return options_.own ? options_.own->sampling_in_words() : "";
}

Losses InsideSession::own_losses() const {
  Losses losses = losses_of(blocks_.counters());
  const AgentCounts counts = guests_.counts();
  losses.add(Loss::agent_ring_full, counts.lost, counts.lost_bytes);
  losses.add(Loss::agent_no_ring, counts.ringless, counts.ringless_bytes);
  losses.add(Loss::agent_no_ring, counts.ringless_frees);
  losses.add(Loss::agent_gave_up, given_up_ns_ != 0 ? 1 : 0);
  losses.add(Loss::ended_early, uint64_t{wants_end()});
  losses.add(Loss::agent_reentered, counts.reentered);
  losses.add(Loss::scripts_unread, counts.scripts_unread + processes_.spaces().scripts().unread());
  losses.add(Loss::agent_ring_damaged,
             reader_.statistics().damaged + counts.damaged + uint64_t{is_written_over_});
  losses.add(Loss::process_uncovered, uncovered_.count() + guests_.unknown_claims() +
                                          (selection_ ? selection_->count() : 0));
  losses.add(Loss::namespace_unseen, counts.namespaces);
  losses.add(Loss::late_process, uncovered_.late());
  losses.add(Loss::agent_late, selection_ ? selection_->came_late() : 0);
  losses.add(Loss::process_table_full, guests_.no_entry());
  losses.add(Loss::unwind_table_full, code_.statistics().no_room);
  losses.add(Loss::code_list_full, code_.refused());
  return losses;
}

std::string InsideSession::tables_in_words() const {
  const uint64_t missing = code_.statistics().no_room;
  if (missing == 0) return "";
  return "; there was no room for " + with_commas(static_cast<int64_t>(missing)) +
         " unwind tables: more memory (--memory, --max-table) holds them";
}

std::vector<pid_t> InsideSession::living() const {
  std::vector<pid_t> pids = processes_.os().living();
  if (takeover_)
    for (const pid_t pid : takeover_->living()) pids.push_back(pid);
  return pids;
}

std::vector<ProcessWaste> InsideSession::waste_now() {
  const bool all_known = losses().lost_events() == 0;
  return waste_of_run(*this, processes_.os().living_spaces(),
                      [&](SpaceId, pid_t pid) { return all_known && pid == command_; });
}

Recording InsideSession::sums() {
  name_stacks();
  Recording recording;
  recording.types = probe_.types(options_, is_sampled());
  recording.shown = value_named(probe_, options_.value).column;
  RecordingRows rows(recording, log_);
  add_figures(0, recording.types, rows);
  if (options_.waste) add_waste(waste_now(), rows);
  recording.losses.add(own_losses());
  recording.meta.sampling = sampling_in_words();
  return recording;
}

void InsideSession::add_notes(Recording& recording) const {
  std::vector<std::string>& notes = recording.meta.notes;
  processes_.os().compare({.name = "VmRSS growth",
                           .captured = processes_.os().captured(recording, 0),
                           .os = processes_.os().growth().value_or(OsMemory{}).rss(),
                           .captured_is = "allocated and not freed"},
                          recording);
  notes.push_back(allocations_in_words(blocks_.counters(), is_sampled()));
  if (governor_) notes.push_back(governor_->budget().in_words());
  if (const size_t count = processes_.os().approximate(); count != 0)
    notes.push_back("figures of " + std::to_string(count) +
                    " ended process(es) are from up to 0.2 s before the end");
  if (const uint64_t ms = guests_.counts().waited_us / 1000; ms != 0)
    notes.push_back("the program waited " + with_commas(static_cast<int64_t>(ms)) +
                    " ms, in all its threads, for memflame: for room to record, and for the "
                    "unwind tables of its files");
  if (const AgentCounts counts = guests_.counts(); counts.ringless_frees != 0)
    notes.push_back("live figures are too high by at most the blocks of " +
                    with_commas(static_cast<int64_t>(counts.ringless_frees)) +
                    " frees, in threads that could not record");
  if (const AgentCounts counts = guests_.counts(); options_.max_wait_ms != 0 && counts.lost != 0)
    notes.push_back(
        "allocations that found no room within --max-wait are missing from all figures; "
        "frees waited, so no block seems live that was freed");
  if (given_up_ns_ != 0)
    notes.push_back("nothing was recorded after " +
                    std::to_string((given_up_ns_ - armed_ns_) / 1'000'000'000) +
                    " s: the program took memflame for gone, as it had not read for " +
                    std::to_string(patience_ms / 1000) + " s; blocks may have been freed since");
  if (const uint64_t count = blocks_.reordered(); count != 0)
    notes.push_back(
        "put in order with allocations of other threads, from which their times "
        "differed by 2 µs at most: frees " +
        with_commas(static_cast<int64_t>(count)));
  if (const AgentCounts counts = guests_.counts(); counts.checked != 0)
    notes.push_back("stacks walked twice: " + std::to_string(counts.checked) +
                    ", differing: " + std::to_string(counts.differing));
  if (options_.python_heap) add_python_notes(notes);
  for (std::string& note : filters_in_words(options_)) notes.push_back(std::move(note));
  for (std::string& note : processes_.deaths().notes()) notes.push_back(std::move(note));
  if (selection_)
    for (std::string& note : selection_->notes()) notes.push_back(std::move(note));
  if (std::string note = processes_.pss_note(); !note.empty()) notes.push_back(std::move(note));
  for (std::string& note : uncovered_.notes()) notes.push_back(std::move(note));
}

void InsideSession::add_python_notes(std::vector<std::string>& notes) const {
  const auto& found = guests_.counts().python;
  const auto say = [&](PythonState state, const std::string& what) {
    if (found.at(state) != 0)
      notes.push_back(what + (": " + with_commas(static_cast<int64_t>(found.at(state)))));
  };
  say(python_hooked, "processes in which the blocks of Python's allocator were counted");
  say(python_changed,
      "processes that changed Python's allocator meanwhile (tracemalloc, -X dev): blocks of Python "
      "may be missing since, or seem live though they were freed; hooks below that stay in, and "
      "only call on");
  say(python_unfit, "processes with another Python than " + std::string(python_versions_read) +
                        " with a global lock, whose blocks are not counted");
  say(python_not_found, "processes in which the tables of Python's allocator were not found");
}

bool InsideSession::has_python() const {
  const auto& found = guests_.counts().python;
  return found.at(python_hooked) + found.at(python_changed) != 0;
}

Recording InsideSession::so_far() {
  round();
  Recording recording = sums();
  recording.meta.notes = filters_in_words(options_);
  processes_.spaces().copy_to(recording);
  if (takeover_)
    if (std::optional<Recording> others = takeover_->so_far())
      join_recording(recording, std::move(*others));
  return recording;
}

Recording InsideSession::finish() {
  Recording recording = sums();
  add_notes(recording);
  processes_.spaces().finish(recording);
  if (options_.languages && !options_.python_heap &&
      std::ranges::any_of(recording.modules, has_interpreter))
    recording.meta.notes.push_back("functions of " + language_list("and") +
                                   " are not in stacks that are taken inside the program: " +
                                   as_root("--collect kernel has them"));
  if (takeover_) add_taken_over(recording);
  return recording;
}

void InsideSession::add_taken_over(Recording& recording) {
  std::optional<Recording> others = takeover_->finish();
  if (!others) return;
  join_recording(recording, std::move(*others));
  const auto number = [](size_t count) { return with_commas(static_cast<int64_t>(count)); };
  recording.meta.notes.push_back(
      "processes counted by agents inside: " + number(processes_.os().pids().size()) +
      ", by the kernel's probes: " + number(takeover_->count()));
}

void InsideSession::describe(RunInfo& info) const {
  const RingReader::Statistics& read = reader_.statistics();
  info.counters = blocks_.counters();
  if (governor_) info.overhead = governor_->budget().overhead();
  info.features = features_without_bpf();
  info.mode = Stacks::dwarf;
  info.stacks.captured = read.stacks;
  info.stacks.frames = read.frames;
  info.stacks.stops = read.stops;
  info.counters.stacks = read.stacks;
  info.counters.frames = read.frames;
  info.tables = code_.statistics();
  info.cache_problem = code_.cache_problem();
  info.map_bytes = exchange_.bytes();
  info.pids = processes_.os().pids();
  info.os_growth = processes_.os().growth();
  info.without_end = processes_.os().without_figures();
  if (takeover_) takeover_->describe(info);
}

}  // namespace memflame::inside
