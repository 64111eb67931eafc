// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/inside_session.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "core/units.h"
#include "probes/languages/interpreters.h"
#include "probes/loading/kernel_features.h"
#include "probes/run/losses.h"
#include "probes/run/rows.h"
#include "probes/run/run_notes.h"
#include "probes/run/side_by_side.h"

namespace memflame::inside {
namespace {

constexpr uint64_t poll_ns = 10'000'000;
// Between rounds. A busy thread fills its ring in 0.1 ms, and then waits for the next round.
constexpr uint64_t busy_wait_ns = 100'000, most_wait_ns = 1'000'000;
// If blocks are sampled, a ring is rarely full, but memflame may watch for weeks. Threads that meet
// unknown code wait for memflame, and where one has, others soon do.
constexpr uint64_t most_sampled_wait_ns = 8'000'000, asked_lately_ns = 1'000'000'000;
constexpr size_t few_sampled_records = 16;
// A round with as many records as this is followed by the next one at once.
constexpr size_t many_records = 128;
// Without --max-wait, programs wait as long as memflame lives rather than lose records. On a
// machine with ten times as much to do as it can, 100 ms in each second lost one record in six.
constexpr uint32_t no_limit = UINT32_MAX, patience_ms = 2000;

// Without the features of BPF, which need rights to be known.
KernelFeatures features_of_kernel() {
  KernelFeatures features;
  utsname names{};
  if (::uname(&names) == 0) features.release = names.release;
  int major = 0;
  int minor = 0;
  if (std::sscanf(names.release, "%d.%d", &major, &minor) == 2)
    features.exact_rss_stat = major > 6 || (major == 6 && minor >= 2);
  return features;
}

// In the order of the columns; variances are there only if blocks are sampled.
void fill(int64_t* columns, const BlockSums& sum) {
  const int64_t values[bpf::columns] = {
      sum.live,          sum.live_count,          sum.total,          sum.total_count,
      sum.live_variance, sum.live_count_variance, sum.total_variance, sum.total_count_variance};
  std::copy(std::begin(values), std::end(values), columns);
}

BlockSums in_columns(const Unfollowed& blocks) {
  return {.live = blocks.bytes,
          .live_count = blocks.count,
          .live_variance = blocks.bytes_variance,
          .live_count_variance = blocks.count_variance};
}

uint64_t first_mean(const ProbeSettings* own) {
  if (own == nullptr) return 0;
  return own->most_overhead() > 0 ? first_governed_mean : own->sampled_bytes();
}

}  // namespace

InsideSession::InsideSession(const Probe& probe, const ProbeOptions& options, Exchange& exchange,
                             const std::vector<pid_t>& first, const std::string& agent)
    : probe_(probe),
      options_(options),
      sample_bytes_(first_mean(options.own.get())),
      exchange_(exchange),
      command_(options.target.command.empty() || first.size() != 1 ? 0 : first[0]),
      end_(first.size() == 1 && !options_.target.is_selection()
               ? static_cast<int>(::syscall(SYS_pidfd_open, first[0], 0))
               : -1),
      processes_(options_.target, features_of_kernel().exact_rss_stat, Processes::Log::none),
      blocks_(options_.min_size, options_.max_size, options_.max_live, sample_bytes_),
      reader_(exchange_, stacks_, blocks_, ticks_),
      code_(exchange_, processes_.spaces(), [this] { read_rings(); }),
      uncovered_(first, agent),
      guests_({exchange_, reader_, blocks_, code_, processes_, uncovered_}, first,
              options_.target.follow_children) {
  // What was recorded before mappings went is named by them: as they are read, and before those
  // that are gone end.
  processes_.spaces().set_log([this] { read_rings(); });
  reader_.name_functions(processes_.spaces().scripts());
  Control& control = exchange_.control();
  control.ticks_per_ms = ticks_.per_ms();
  control.max_wait_ms = options_.max_wait_ms != 0 ? options_.max_wait_ms : no_limit;
  control.sample_bytes = sample_bytes_;
  control.patience_ms = patience_ms;
  control.free_stacks = uint32_t{options_.free_stacks};
  if (options_.python_heap)
    control.python = python_blocks | (options_.languages ? python_functions : 0U);
  publish(control.heartbeat, now_ticks());
  if (options_.target.is_selection()) selection_.emplace();
  if (options_.own && options_.own->most_overhead() > 0)
    governor_.emplace(options_.own->most_overhead(), options_.target.follow_children);
}

void InsideSession::leave_out(pid_t pid, const std::string& why) {
  guests_.lose(pid);
  uncovered_.forget(pid);
  if (selection_) selection_->refuse(pid, why);
}

uint32_t InsideSession::expect(pid_t pid) {
  uncovered_.add(pid);
  return guests_.expect(pid);
}

bool InsideSession::is_watched(pid_t pid) const {
  return guests_.living().contains(pid) || uncovered_.has_silent_agent(pid);
}

// What was asked for, but is not watched yet.
void InsideSession::look_for_others() {
  selection_->look({.present = [this] { return processes_.present(); },
                    .is_watched = [this](pid_t pid) { return is_watched(pid); },
                    .enter = counts_ ? enter_ : nullptr});
}

void InsideSession::arm() {
  // Otherwise the kernel makes each wait of this thread up to 50 µs longer, in which rings fill.
  ::prctl(PR_SET_TIMERSLACK, 1);
  armed_ns_ = monotonic_ns();
  counts_ = true;
  if (options_.events) {
    events_.emplace(armed_ns_);
    told_.emplace(blocks_, *events_, ticks_, options_.free_stacks);
    reader_.tell(*told_);
  }
  publish(exchange_.control().heartbeat, now_ticks());
  publish(exchange_.control().reading, exchange_.run());
}

void InsideSession::disarm() {
  see_if_given_up();
  publish(exchange_.control().reading, 0U);
  counts_ = false;
  if (selection_) look_for_others();
  ticks_.refine();
  guests_.poll();
  reader_.read_rest();
  guests_.see_ends();
  processes_.os().read_ends();
  if (governor_) governor_->finish(work(), processes_.os());
}

void InsideSession::see_if_given_up() {
  if (counts_ && given_up_ns_ == 0 && taken_once(exchange_.control().reading) != exchange_.run())
    given_up_ns_ = monotonic_ns();
}

size_t InsideSession::read_rings() {
  round_ticks_ = now_ticks();
  publish(exchange_.control().heartbeat, round_ticks_);
  see_if_given_up();
  return reader_.read();
}

// One round: records, then guests. Whatever a guest that is let in now records is read later.
size_t InsideSession::round() {
  const size_t records = read_rings();
  guests_.poll();
  return records;
}

// Nothing is read, but agents see that memflame lives: so they wait.
void InsideSession::rest() {
  round_ticks_ = now_ticks();
  publish(exchange_.control().heartbeat, round_ticks_);
  see_if_given_up();
  guests_.poll();
}

void InsideSession::breathe() {
  if (counts_ && now_ticks() - round_ticks_ > ticks_.per_ms() / 2) round();
}

// Until a guest comes, the only process ends, or the time is over.
void InsideSession::wait(uint64_t ns) const {
  std::array<pollfd, 2> entries{pollfd{.fd = exchange_.socket(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = end_.get(), .events = POLLIN, .revents = 0}};
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  ::ppoll(entries.data(), entries.size(), &time, nullptr);
}

uint64_t InsideSession::next_wait(size_t records) {
  const bool is_idle = is_sampled() ? records < few_sampled_records : records == 0;
  const bool may_rest = is_sampled() && monotonic_ns() - guests_.asked_ns() > asked_lately_ns;
  const uint64_t most = may_rest ? most_sampled_wait_ns : most_wait_ns;
  idle_ns_ = is_idle ? std::clamp(idle_ns_ * 2, busy_wait_ns, most) : busy_wait_ns;
  return idle_ns_;
}

void InsideSession::poll() {
  const uint64_t until = monotonic_ns() + poll_ns;
  do {
    const bool is_full = events_ && events_->is_full();
    if (is_full) rest();
    const size_t records = is_full ? 0 : round();
    if (records >= many_records) continue;
    wait(next_wait(records));
  } while (monotonic_ns() < until);
  guests_.see_ends();
  processes_.poll_os();
  ticks_.refine();
  if (governor_ && counts_)
    if (const auto mean = governor_->poll([this] { return work(); }, processes_.os()))
      publish(exchange_.control().sample_bytes, *mean);
  if (options_.target.follow_children)
    uncovered_.look([this](pid_t pid) { return guests_.knows(pid); },
                    [this](pid_t pid) { guests_.lose(pid); });
  if (selection_ && selection_->is_time()) look_for_others();
}

AgentWork InsideSession::work() const {
  const RingReader::Statistics& read = reader_.statistics();
  const uint64_t sampled = read.stacks - read.free_stacks;
  // The stack of a free costs what the one of an allocation costs, but only the latter is measured.
  const double stacks_of_each =
      sampled == 0 ? 1 : static_cast<double>(read.stacks) / static_cast<double>(sampled);
  return {.sampled = sampled,
          .stand_for = blocks_.stand_for(),
          .frees = read.records - read.stacks,
          .sampled_seconds = static_cast<double>(guests_.counts().sample_ticks) /
                             static_cast<double>(ticks_.per_ms()) / 1e3 * stacks_of_each,
          .live = blocks_.table().size()};
}

void InsideSession::catch_up() {
  round();
  name_stacks();
}

void InsideSession::name_stacks() {
  for (; named_ < stacks_.size(); ++named_) {
    log_.keep(key_of(named_), stacks_.raw(named_));
    breathe();
  }
}

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

Looks& InsideSession::looks(History& history) {
  if (!looks_) {
    std::vector<ProbeTypes> types{{probe_.name, true, probe_.types(options_, is_sampled())}};
    history.recording.types = side_by_side(types);
    history.recording.shown = value_named(probe_, options_.value).column;
    history.gauges = os_gauges();
    looks_.emplace(std::move(types), armed_ns_);
  }
  return *looks_;
}

Look InsideSession::look(History& history, bool survey) {
  Look look = looks(history).take(*this, history, survey);
  processes_.spaces().copy_to(history.recording, false);
  return look;
}

void InsideSession::wait_no_more() {
  if (events_ && events_->is_full()) events_->open_gap(events_->since_start(monotonic_ns()));
}

EventBatch InsideSession::take_events(History& history) {
  if (!events_) return {};
  const uint64_t now = monotonic_ns();
  std::optional<Checkpoint> checkpoint;
  if (events_->wants_checkpoint(blocks_.table().size(), events_->since_start(now), !counts_))
    checkpoint = told_->checkpoint(now);
  EventBatch batch = events_->take(events_->since_start(now), std::move(checkpoint));
  name_stacks();
  stack_ids_.resize(stacks_.size());
  place_stacks(batch, [&](RawStackId stack) {
    RawStackId& id = stack_ids_[stack.index];
    if (!id) id = looks(history).stack(log_, key_of(stack.index), history);
    return id;
  });
  events_->add_threads_to(history.threads);
  processes_.spaces().copy_to(history.recording, false);
  return batch;
}

TrackId InsideSession::track_of(uint64_t key) const {
  return looks_ ? looks_->track_of(log_, key) : TrackId{};
}

std::string InsideSession::sampling_in_words() const {
  if (governor_ && !counts_) return governor_->budget().kept_in_words();
  return options_.own ? options_.own->sampling_in_words() : "";
}

Losses InsideSession::losses() const {
  Losses losses = losses_of(blocks_.counters());
  const Guests::Counts counts = guests_.counts();
  losses.add(Loss::agent_ring_full, counts.lost, counts.lost_bytes);
  losses.add(Loss::agent_ring_full, counts.lost_frees);
  losses.add(Loss::agent_gave_up, given_up_ns_ != 0 ? 1 : 0);
  losses.add(Loss::ended_early, uint64_t{wants_end()});
  losses.add(Loss::agent_reentered, counts.reentered);
  losses.add(Loss::scripts_unread, counts.scripts_unread + processes_.spaces().scripts().unread());
  losses.add(Loss::agent_ring_damaged, reader_.statistics().damaged);
  losses.add(Loss::process_uncovered, uncovered_.count() + (selection_ ? selection_->count() : 0));
  losses.add(Loss::agent_late, selection_ ? selection_->came_late() : 0);
  losses.add(Loss::process_table_full, guests_.no_entry());
  losses.add(Loss::unwind_table_full, code_.statistics().no_room);
  losses.add(Loss::code_list_full, code_.refused());
  return losses;
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
  recording.losses.add(losses());
  recording.meta.sampling = sampling_in_words();
  return recording;
}

void InsideSession::add_notes(Recording& recording) const {
  std::vector<std::string>& notes = recording.meta.notes;
  recording.meta.reconciliation.push_back({.name = "VmRSS growth",
                                           .captured = processes_.os().captured(recording, 0),
                                           .os = processes_.os().growth().rss(),
                                           .captured_is = "allocated and not freed"});
  notes.push_back(allocations_in_words(blocks_.counters(), is_sampled()));
  if (governor_) notes.push_back(governor_->budget().in_words());
  if (const size_t count = processes_.os().approximate(); count != 0)
    notes.push_back("figures of " + std::to_string(count) +
                    " ended process(es) are from up to 0.2 s before the end");
  if (const uint64_t ms = guests_.counts().waited_us / 1000; ms != 0)
    notes.push_back("the program waited " + with_commas(static_cast<int64_t>(ms)) +
                    " ms, in all its threads, for memflame: for room to record, and for the "
                    "unwind tables of its files");
  if (const Guests::Counts counts = guests_.counts(); counts.lost_frees != 0)
    notes.push_back("live figures are too high by at most the blocks of " +
                    with_commas(static_cast<int64_t>(counts.lost_frees)) +
                    " frees, in threads for which there was no ring: at most " +
                    with_commas(most_rings) + " threads can record at once");
  if (const Guests::Counts counts = guests_.counts(); options_.max_wait_ms != 0 && counts.lost != 0)
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
  if (const Guests::Counts counts = guests_.counts(); counts.checked != 0)
    notes.push_back("stacks walked twice: " + std::to_string(counts.checked) +
                    ", differing: " + std::to_string(counts.differing));
  if (options_.python_heap) add_python_notes(notes);
  for (std::string& note : filters_in_words(options_)) notes.push_back(std::move(note));
  for (std::string& note : processes_.deaths().notes()) notes.push_back(std::move(note));
  if (selection_)
    for (std::string& note : selection_->notes()) notes.push_back(std::move(note));
  for (std::string note : {processes_.pss_note(), uncovered_.note()})
    if (!note.empty()) notes.push_back(std::move(note));
}

void InsideSession::add_python_notes(std::vector<std::string>& notes) const {
  const auto& found = guests_.counts().python;
  const auto say = [&](PythonState state, const char* what) {
    if (found.at(state) != 0)
      notes.push_back(what + (": " + with_commas(static_cast<int64_t>(found.at(state)))));
  };
  say(python_hooked, "processes in which the blocks of Python's allocator were counted");
  say(python_changed,
      "processes that changed Python's allocator meanwhile (tracemalloc, -X dev): blocks of Python "
      "may be missing since, or seem live though they were freed; hooks below that stay in, and "
      "only call on");
  say(python_unfit,
      "processes with another Python than 3.11 to 3.13 with a global lock, whose blocks are not "
      "counted");
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
  return recording;
}

Recording InsideSession::finish() {
  Recording recording = sums();
  add_notes(recording);
  processes_.spaces().finish(recording);
  if (options_.languages && !options_.python_heap &&
      std::ranges::any_of(recording.modules, has_interpreter))
    recording.meta.notes.emplace_back(
        "functions of Python, Ruby, PHP and JavaScript are not in stacks that are taken inside the "
        "program: "
        "--collect kernel has them, as root");
  return recording;
}

void InsideSession::describe(RunInfo& info) const {
  const RingReader::Statistics& read = reader_.statistics();
  info.counters = blocks_.counters();
  if (governor_) info.overhead = governor_->budget().overhead();
  info.features = features_of_kernel();
  info.mode = Stacks::dwarf;
  info.stacks.captured = read.stacks;
  info.stacks.frames = read.frames;
  info.stacks.stops = read.stops;
  info.counters.stacks = read.stacks;
  info.counters.frames = read.frames;
  info.tables = code_.statistics();
  info.cache_problem = code_.cache_problem();
  info.map_bytes = bytes();
  info.pids = processes_.os().pids();
  info.os_growth = processes_.os().growth();
  info.without_end = processes_.os().without_figures();
}

}  // namespace memflame::inside
