// SPDX-License-Identifier: BSD-2-Clause
// What a session has seen: figures, looks, losses, and what it says at the end.
#include <algorithm>

#include "core/units.h"
#include "probes/run/event_feed.h"
#include "probes/run/losses.h"
#include "probes/run/run.h"
#include "probes/run/run_notes.h"
#include "probes/run/session.h"
#include "probes/run/side_by_side.h"

namespace memflame {
bool Session::is_on_functions() const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [](const auto& probe) { return probe->probe.on_functions; });
}

bpf::counters Session::counters() const {
  bpf::counters sum = first().loaded.object.counters();
  const uint64_t amount = sum.amount;
  for (size_t i = 1; i < probes_.size(); ++i) add(sum, probes_[i]->loaded.object.counters());
  sum.amount = amount;
  return sum;
}

uint64_t Session::map_memory() const {
  uint64_t bytes = 0;
  for (const auto& probe : probes_) bytes += probe->loaded.object.map_memory();
  return bytes;
}

void Session::add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) {
  probes_[probe]->accounting->add_figures(probes_[probe]->loaded, types, rows);
}

void Session::for_each_block(const VisitBlock& visit) {
  first().loaded.object.for_each<bpf::block_key, bpf::block>("blocks", visit);
}

void Session::for_each_sum(const VisitSum& visit) {
  for (const char* map : {"sums", "notes"})
    first().loaded.object.for_each<uint64_t, bpf::sum>(
        map, [&](const uint64_t& key, const bpf::sum& sum) { visit(key, sum.value); });
  catch_up();  // the figures of copied stacks come as records
  stacks_.log.for_each_amount(
      first().loaded.number,
      [&](uint64_t key, const StackLog::Values& values) { visit(key, values.data()); });
}

std::optional<std::map<SpaceId, PageFaults>> Session::page_faults(std::span<const SpaceId> spaces) {
  if (!options_.first_touch) return std::nullopt;
  FaultsBySpace faults(spaces,
                       [this](SpaceId space) { return processes_.spaces().copied_from(space); });
  first().loaded.object.for_each<bpf::block_key, bpf::page_faults>(
      "page_faults", [&faults](const bpf::block_key& page, const bpf::page_faults& seen) {
        faults.add(page, seen);
      });
  catch_up();  // the stacks come as records
  return faults.take();
}

bool Session::place(uint64_t key, RawStack& stack, std::string& group) {
  return first().accounting->place(first().loaded, stacks_.log, key, stack, group);
}

std::string Session::sampling_in_words() const { return first().accounting->sampling_in_words(); }

Looks& Session::looks(History& history) {
  if (!looks_) {
    std::vector<ProbeTypes> types;
    for (const auto& probe : probes_)
      types.push_back({probe->probe.name, probe->probe.has_blocks, probe->types()});
    history.recording.types = side_by_side(types);
    history.recording.shown = first().shown();
    history.gauges = os_gauges();
    looks_.emplace(std::move(types), armed_ns_);
  }
  return *looks_;
}

EventBatch Session::take_events(History& history) {
  EventFeed* const feed = first().accounting->events();
  if (feed == nullptr) return {};
  EventBatch batch = feed->take(first().loaded, stacks_.log, [this] { poll(0); });
  event_stacks_.resize(feed->stack_numbers());
  place_stacks(batch, [&](RawStackId stack) {
    RawStackId& id = event_stacks_[stack.index];
    if (!id) id = looks(history).stack(stacks_.log, feed->stack_key(stack.index), history);
    return id;
  });
  feed->log().add_threads_to(history.threads);
  processes_.spaces().copy_to(history.recording, false);
  return batch;
}

size_t Session::waiting_events() const {
  EventFeed* const feed = first().accounting->events();
  return feed == nullptr ? 0 : feed->log().size();
}

Look Session::look(History& history, bool survey) {
  Look look = looks(history).take(*this, history, survey && first().probe.has_blocks);
  processes_.spaces().copy_to(history.recording, false);
  return look;
}

// What ended processes left goes to estates.
Estates::Taken Session::take_over_ended() {
  if (options_.forgets_ended || !has_spaces() ||
      !std::ranges::all_of(probes_,
                           [](const auto& probe) { return probe->accounting->can_move(); }))
    return {};
  const std::vector<SpaceId> ended = estates_.due(processes_.spaces());
  if (ended.empty()) return {};
  Estates::Taken taken = estates_.take_over(ended, stacks_.log, processes_, [this] {
    return SpaceId{first().loaded.object.new_space()};
  });
  for (const auto& probe : probes_)
    probe->accounting->move(probe->loaded, taken.moves, stacks_.log);
  stacks_.log.move(taken.moves, first().probe.has_blocks,
                   [this](uint32_t probe, StackLog::Values& values) {
                     probes_[probe]->accounting->add_event(values);
                   });
  processes_.spaces().give_back(taken.given_back);
  return taken;
}

std::vector<TrackId> Session::forget(const Look& look, History& history) {
  if (!options_.forgets_ended) {
    const std::vector<SpaceId> ended = take_over_ended().given_back;
    if (ended.empty()) return {};
    return looks(history).forget(one_of(ended), history);
  }
  if (!has_spaces() || first().accounting->events() != nullptr) return {};
  const auto [is_gone, newly] = processes_.forget(armed_ns_ + look.time_ns);
  if (newly.empty()) return {};
  const std::vector<uint64_t> keys = stacks_.log.forget(is_gone);
  for (const auto& probe : probes_) probe->accounting->forget(probe->loaded, keys, newly);
  return looks(history).forget(is_gone, history);
}

Leaving Session::hand_over(History& history) {
  const Estates::Taken taken = take_over_ended();
  if (taken.given_back.empty() || !looks_) return {};
  processes_.spaces().add_estates_to(history.recording);
  return looks_->leave(one_of(taken.given_back), taken.moves, stacks_.log, history);
}

void Session::let_go(const Leaving& leaving, History& history) {
  looks(history).let_go(leaving, history);
  const std::vector<uint32_t> numbers = forget_stacks(event_stacks_, leaving);
  if (EventFeed* const feed = first().accounting->events()) feed->forget(numbers);
}

TrackId Session::track_of(uint64_t key) const {
  return looks_ ? looks_->track_of(stacks_.log, key) : TrackId{};
}

Snapshot Session::snapshot(const SnapshotOptions& options) {
  Snapshot snapshot = take_snapshot(*this, options);
  snapshot.losses = losses();
  return snapshot;
}

Recording Session::recording_of(std::span<const LiveStack* const> stacks, bool by_count) {
  Recording recording;
  show_live(recording, stacks, by_count, first().accounting->is_sampled());
  recording.meta.sampling = first().accounting->sampling_in_words();
  recording.losses = losses();
  processes_.spaces().copy_to(recording);
  return recording;
}

// What belongs to no probe.
Losses Session::shared_losses() const {
  Losses losses;
  losses.add(Loss::mapping_records_lost, processes_.log_records_lost());
  losses.add(Loss::late_attach, late_files_.count());
  losses.add(Loss::process_uncovered, older_children_.count());
  losses.add(Loss::unwind_table_full, stacks_.unwinder.tables().no_room);
  losses.add(Loss::code_list_full, stacks_.unwinder.refused());
  const Scripts& scripts = processes_.spaces().scripts();
  losses.add(Loss::scripts_unread,
             stacks_.unwinder.scripts_unread() + scripts.unread() + scripts.calls_unread());
  return losses;
}

Losses Session::losses() const {
  Losses losses = shared_losses();
  for (const auto& probe : probes_) losses.add(probe->losses());
  return losses;
}

Recording Session::sums() {
  Recording recording;
  if (!processes_.pids().is_initial() && options_.target.whole_system())
    recording.meta.notes.emplace_back(
        "only the processes of memflame's own PID namespace were watched: others cannot be seen "
        "from there");
  RecordingRows rows(recording, stacks_.log);
  SideBySide columns(recording);
  for (const auto& probe : probes_) {
    recording.types = probe->types();
    recording.shown = probe->shown();
    probe->accounting->finish(probe->loaded, rows);
    if (probe->options.waste) add_waste(waste_now(), rows);
    probe->accounting->reconcile(probe->loaded, processes_.os(), recording);
    if (probes_.size() == 1) break;
    if (const std::string lost = lost_in_words(probe->losses()); !lost.empty())
      recording.meta.notes.push_back(lost);
    columns.take(probe->probe.name, probe->probe.has_blocks);
  }
  if (probes_.size() > 1) columns.finish();
  recording.losses.add(losses());
  return recording;
}

std::vector<ProcessWaste> Session::waste_now() {
  std::vector<std::pair<SpaceId, pid_t>> living = processes_.os().living_spaces();
  std::erase_if(living,
                [this](const auto& process) { return ended_waste_.contains(process.first); });
  std::vector<ProcessWaste> processes =
      waste_of_run(*this, living, [this](SpaceId space, pid_t pid) {
        const std::optional<bpf::process> process = watched(pid);
        return process && process->space == space.index && knows_all_blocks(*process);
      });
  for (const auto& [space, waste] : ended_waste_) processes.push_back(waste);
  return processes;
}

std::vector<std::string> Session::filters() const {
  std::vector<std::string> notes;
  for (const auto& probe : probes_)
    for (std::string& note : filters_in_words(probe->options)) notes.push_back(std::move(note));
  return notes;
}

Recording Session::so_far() {
  poll(0);
  Recording recording = sums();
  recording.meta.reconciliation.clear();
  recording.meta.notes = filters();
  processes_.spaces().copy_to(recording);
  return recording;
}

Recording Session::finish() {
  poll(0);
  processes_.spaces().settle();
  Recording recording = sums();
  std::vector<std::string>& notes = recording.meta.notes;
  if (const size_t count = processes_.os().approximate(); count != 0)
    notes.push_back("figures of " + std::to_string(count) +
                    " killed process(es) are from up to 0.2 s before the end");
  for (std::string& note : late_files_.notes(processes_.spaces())) notes.push_back(std::move(note));
  if (std::string note = older_children_.note(); !note.empty()) notes.push_back(std::move(note));
  for (const auto& probe : probes_) probe->loaded.links.detach();
  processes_.spaces().finish(recording);
  for (std::string& note : filters()) notes.push_back(std::move(note));
  for (std::string& note : stacks_.unwinder.language_notes()) notes.push_back(std::move(note));
  for (std::string& note : processes_.deaths().notes()) notes.push_back(std::move(note));
  if (std::string note = processes_.pss_note(); !note.empty()) notes.push_back(std::move(note));
  for (const auto& probe : probes_) probe->accounting->judge(recording);
  return recording;
}

std::optional<Overhead> Session::overhead() const {
  RunInfo info;
  first().accounting->describe(info);
  return info.overhead;
}

void Session::describe(RunInfo& info) const {
  info.counters = counters();
  info.features = features();
  info.map_bytes = map_memory();
  info.mode = options_.stacks;
  info.stacks = stacks_.unwinder.statistics(info.counters);
  info.tables = stacks_.unwinder.tables();
  info.cache_problem = stacks_.unwinder.cache_problem();
  info.pids = processes_.os().pids();
  info.os_growth = processes_.os().growth();
  info.without_end = processes_.os().without_figures();
  for (const auto& probe : probes_) {
    probe->accounting->describe(info);
    if (probes_.size() > 1)
      info.probes.push_back({std::string(probe->probe.name), probe->loaded.object.counters().events,
                             probe->losses()});
  }
}

}  // namespace memflame
