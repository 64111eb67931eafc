// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/alloc_run.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "core/elf/valgrind.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/alloc/attaching/unseen.h"
#include "probes/alloc/finding/go_code.h"
#include "probes/loading/bpf_object.h"
#include "probes/loading/loaded_probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/run/run.h"
#include "probes/stacks/rows.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

std::string_view family_name(uint32_t family) {
  switch (family) {
    case bpf::family_malloc:
      return "malloc";
    case bpf::family_new:
      return "new";
    case bpf::family_new_array:
      return "new[]";
    default:
      return "another allocator";
  }
}

std::string freed_by(uint32_t family) {
  switch (family) {
    case bpf::family_malloc:
      return "free";
    case bpf::family_new:
      return "delete";
    case bpf::family_new_array:
      return "delete[]";
    default:
      return "another function";
  }
}

std::string candidate_kind(uint32_t kind) {
  switch (kind) {
    case bpf::candidate_double_free:
      return "double free";
    case bpf::candidate_never_allocated:
      return "free of an address never allocated";
    default:
      return "mismatched free";
  }
}

// Whether the usable sizes of an allocator's blocks are known from outside: by the word before a
// block (glibc), by size classes (jemalloc), or because a block's usable size is the requested one
// (musl 1.2.1 and later).
bool tells_usable_sizes(const std::string& allocator) {
  return allocator == "glibc" || allocator == "jemalloc" || allocator == "musl";
}

}  // namespace

AllocRun::AllocRun(const ProbeOptions& options)
    : options_(options),
      own_(own_options<AllocOptions>(options_)),
      table_(options_),
      custom_(read_custom(own_.alloc_specs, own_.free_specs, own_.presets)) {}

uint16_t AllocRun::number_of(const ProbedFunction& function) {
  const auto same = std::find_if(functions_.begin(), functions_.end(), [&](const auto& known) {
    return known.name == function.name && known.file == function.file;
  });
  if (same != functions_.end()) return static_cast<uint16_t>(same - functions_.begin());
  if (functions_.size() >= bpf::function_of_program) return UINT16_MAX;
  functions_.push_back(function);
  return static_cast<uint16_t>(functions_.size() - 1);
}

std::vector<std::string> AllocRun::shared_names() const {
  std::map<std::string, size_t> files;
  for (const ProbedFunction& function : functions_) ++files[function.name];
  std::vector<std::string> names;
  for (const auto& [name, count] : files)
    if (count > 1) names.push_back(name);
  return names;
}

AllocRun::File& AllocRun::file(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return files_[{0, 0}];
  return files_[{status.st_dev, status.st_ino}];
}

void AllocRun::found_custom(int fd, const std::string& path, CustomFile file) {
  UniqueFd& copy = custom_fds_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  candidates_of_custom_.push_back({copy.get(), path});
  custom_files_.push_back(std::move(file));
}

void AllocRun::require_custom() const {
  memflame::require_custom(custom_, custom_files_, candidates_of_custom_);
}

void AllocRun::on_target(pid_t pid) {
  if (!counting_ && std::ranges::count(options_.target.pids, pid) != 0 &&
      is_valgrind_tool(UniqueFd(::open(proc_path(pid, "exe").c_str(), O_RDONLY | O_CLOEXEC)).get()))
    throw Error("process " + std::to_string(pid) + " cannot be watched: " + seen_by_nobody,
                ExitCode::failure);
  if (options_.own_links) process_links_.add(pid);
}

void AllocRun::on_process(const bpf::space_record& record) {
  if (options_.own_links) process_links_.take(record);
}

void AllocRun::add_losses(const bpf::counters& counters, Losses& losses) const {
  losses.add(Loss::out_pointer_unread, counters.own[bpf::alloc_out_pointer_unread]);
  losses.add(Loss::calls_abandoned, counters.own[bpf::alloc_abandoned]);
  losses.add(Loss::pools_cut, counters.own[bpf::alloc_pools_cut]);
  losses.add(Loss::page_table_full, counters.own[bpf::alloc_faults_lost]);
  const LateProcesses late = process_links_.so_far();
  losses.add(Loss::late_process, late.probed + late.never + late.failed + late.headless);
  losses.add(Loss::ended_early, uint64_t{wants_end()});
}

void AllocRun::say_late_processes(const LateProcesses& late, Recording& recording) {
  const auto ms = [](uint64_t ns) { return with_commas(static_cast<int64_t>(ns / 1'000'000)); };
  const auto say = [&](uint64_t count, const std::string& what) {
    if (count != 0)
      recording.meta.notes.push_back(with_commas(static_cast<int64_t>(count)) +
                                     (count == 1 ? " process " : " processes ") + what);
  };
  say(late.probed + late.never,
      "ran before the probes came, " + with_commas(static_cast<int64_t>(late.never)) +
          " of them to the end: " + ms(late.ns) + " ms in all, at most " + ms(late.longest_ns) +
          " ms; what was allocated then is missing (--children exact)");
  say(late.failed, "could not be probed: " + late.failure);
  say(late.headless,
      "went on after the first thread had ended: what was allocated then is missing on this "
      "kernel (--children exact)");
}

void AllocRun::armed(uint64_t since_ns) {
  if (options_.events) events_ = std::make_unique<AllocEvents>(since_ns);
  counting_ = true;
  if (options_.own_links) {
    process_links_.armed(monotonic_ns());
    process_links_.start();
  }
  custom_fds_.clear();
  candidates_of_custom_.clear();
}

std::string AllocRun::function_of(const bpf::call_record& record) const {
  return record.function < functions_.size() ? functions_[record.function].name : "?";
}

void AllocRun::probed(uint16_t number) {
  if (number >= functions_.size() || functions_[number].since != 0) return;
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  functions_[number].since =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Whether the function was probed before the event that the candidate refers to. The allocator of a
// program that has just begun may get its probes a moment after its first calls.
bool AllocRun::saw_enough(const bpf::candidate_record& record) const {
  const auto probed_by = [&](uint64_t number, uint64_t time) {
    return number < functions_.size() && functions_[number].since != 0 &&
           functions_[number].since <= time;
  };
  switch (record.kind) {
    case bpf::candidate_never_allocated:
      return probed_by(record.freed_by, record.since);
    case bpf::candidate_mismatched:
      return record.marked_by == 0 || probed_by(record.marked_by - 1, record.since);
    default:
      return probed_by(record.freed_by, record.since);
  }
}

// Files whose allocator also allocates blocks in functions without probes, as in browsers. They are
// recognised by the number of freed addresses that no probe saw: as many real errors would have
// ended the program.
std::set<std::string> AllocRun::files_with_unseen_doors(const bpf::counters& counters) const {
  const auto share_of_frees = [&](uint64_t percent, uint64_t least) {
    return std::max(least, counters.freed / 100 * percent);
  };
  std::map<std::string, uint64_t> never_given;  // by file
  std::map<std::string, uint64_t> unsure;       // blocks may be older than the probes: needs more
  for (const auto& [key, seen] : candidates_)
    if (std::get<0>(key) == bpf::candidate_never_allocated && seen.freed_by < functions_.size())
      never_given[functions_[seen.freed_by].file] += seen.events;
  for (const auto& [function, events] : unsure_of_)
    if (function < functions_.size()) unsure[functions_[function].file] += events;
  std::set<std::string> files;
  for (const auto& [file, events] : never_given)
    if (events > share_of_frees(1, 100)) files.insert(file);
  for (const auto& [file, events] : unsure)
    if (events > share_of_frees(2, 1000)) files.insert(file);
  return files;
}

// Leaves out candidates that unseen calls may explain: an address without a known allocation may be
// valid, and an address that was freed twice may have been allocated again in between.
void AllocRun::leave_out_unsure(const bpf::counters& counters, Recording& recording) {
  const std::set<std::string> doors = files_with_unseen_doors(counters);
  const bool missed = counters.live_full_events + counters.no_state_events +
                          counters.own[bpf::alloc_out_pointer_unread] +
                          counters.own[bpf::alloc_abandoned] !=
                      0;
  std::erase_if(candidates_, [&](const auto& each) {
    const uint32_t kind = std::get<0>(each.first);
    const uint32_t function = each.second.freed_by;
    const bool out = (missed && kind == bpf::candidate_never_allocated) ||
                     (kind != bpf::candidate_mismatched && function < functions_.size() &&
                      doors.contains(functions_[function].file));
    if (out) unsure_ += each.second.events;
    return out;
  });
  if (unsure_ != 0)
    recording.meta.notes.push_back(with_commas(static_cast<int64_t>(unsure_)) +
                                   " frees may be wrong, but are not reported as candidates: not "
                                   "everything before them was seen");
  for (const std::string& file : doors)
    recording.meta.notes.push_back(
        file + " allocates blocks in functions that are not probed: --check can only report " +
        "mismatched frees there, and it has more blocks than are shown");
}

// The ring has aligned it.
void AllocRun::on_own_record(std::span<const std::byte> bytes) {
  const uint32_t type = *reinterpret_cast<const uint32_t*>(bytes.data()) % bpf::record_types;
  if (type == bpf::record_candidate) return on_candidate(bytes);
  if (!events_) return;
  if (type == bpf::record_end && bytes.size() >= bpf::plain_end_bytes)
    events_->end(*reinterpret_cast<const bpf::end_record*>(bytes.data()),
                 bytes.size() < sizeof(bpf::end_record));
  else if (type == bpf::record_begin && bytes.size() >= bpf::plain_begin_bytes)
    events_->begin(*reinterpret_cast<const bpf::begin_record*>(bytes.data()),
                   bytes.size() < sizeof(bpf::begin_record));
}

void AllocRun::on_candidate(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(bpf::candidate_record)) return;
  const auto& record = *reinterpret_cast<const bpf::candidate_record*>(bytes.data());
  if (!saw_enough(record)) {
    ++unsure_;
    if (record.kind == bpf::candidate_never_allocated) ++unsure_of_[record.freed_by];
    return;
  }
  Seen& seen =
      candidates_[{record.kind, record.families, record.freeing, record.allocating, record.freed}];
  ++seen.events;
  seen.bytes += record.size;
  seen.freed_by = record.freed_by;
}

void AllocRun::on_poll(LoadedProbe& probe, const OsLedger& os) {
  if (options_.forgets_ended) table_.forget_ended(probe.object, os);
  if (governor_) governor_->poll(probe, os, [&] { return table_.size(probe.object); });
  if (events_) events_->poll(probe);
}

void AllocRun::say_unknown_sizes(Recording& recording) const {
  std::set<std::string> names;
  for (const ProbedFunction& function : functions_)
    if (function.gives && !tells_usable_sizes(function.allocator)) names.insert(function.allocator);
  std::string unknown;
  for (const std::string& name : names) unknown += (unknown.empty() ? "" : ", ") + name;
  if (!unknown.empty())
    recording.meta.notes.push_back("sizes are as requested, not as given, for blocks of " +
                                   unknown + ": what they allot is not known from outside");
}

// For files that were loaded during the run; at its start the same problem is an error.
void AllocRun::say_inlined(Recording& recording) const {
  std::set<std::string> known;
  for (const CustomFile& file : custom_files_)
    for (const CustomHit& hit : file.hits)
      if (hit.copies != 0 && known.insert(file.path + ":" + hit.name).second)
        recording.meta.notes.push_back("not probed: " + hit.name + " in " + file.path + " " +
                                       hit.problem);
}

// Lists the calls of each declared function: one that was never called explains an empty picture.
void AllocRun::say_calls(const BpfObject& object, Recording& recording) const {
  constexpr size_t most_listed = 64;
  std::string text;
  size_t declared = 0;
  for (uint32_t number = 0; number < functions_.size(); ++number) {
    if (!functions_[number].declared || ++declared > most_listed) continue;
    text += (text.empty() ? "" : ", ") + functions_[number].name + " " +
            (number < most_counted_functions
                 ? with_commas(static_cast<int64_t>(object.sum_of("function_calls", number)))
                 : "not counted");
  }
  if (declared > most_listed) text += " and " + std::to_string(declared - most_listed) + " more";
  recording.meta.notes.push_back(text.empty() ? "no declared function was found in any file"
                                              : "calls of declared functions: " + text);
}

void AllocRun::finish(const LoadedProbe& probe, RecordingRows& rows) {
  Recording& recording = rows.recording();
  say_late_processes(counting_ ? process_links_.so_far() : process_links_.stop(), recording);
  Accounting::finish(probe, rows);
  const bpf::counters counters = probe.object.counters();
  saw_calls_ = counters.events + counters.passed_over + counters.freed + counters.free_misses != 0;
  recording.shared_names = shared_names();
  if (own_.usable_size) say_unknown_sizes(recording);
  leave_out_unsure(counters, recording);
  if (!custom_.empty()) {
    say_inlined(recording);
    say_calls(probe.object, recording);
  }
  const auto row = [&](uint64_t key) { return key == 0 ? RawStackId{} : rows.stack(key); };
  for (const auto& [key, seen] : candidates_) {
    const auto& [kind, families, freeing, allocating, freed] = key;
    Candidate& candidate = recording.candidates.emplace_back();
    candidate.kind = candidate_kind(kind);
    if (kind == bpf::candidate_mismatched)
      candidate.detail =
          std::string(family_name(families >> 8)) + " against " + freed_by(families & 0xff);
    candidate.events = seen.events;
    candidate.bytes = static_cast<int64_t>(seen.bytes);
    candidate.freeing = row(freeing);
    candidate.allocating = row(allocating);
    candidate.first_freeing = row(freed);
  }
}

void AllocRun::judge(Recording& recording) {
  const auto allocates = [&](const Module& module) {
    return module.file.get() >= 0 && file(module.file.get()).allocates;
  };
  const auto is_go = [](const Module& module) {
    const ImageBytes image(module.file.get());
    const std::optional<ElfImage> elf = ElfImage::open(image);
    return elf && has_go_code(image, *elf);
  };
  // If the user has declared functions, they may be Go's, and those are probed.
  Unseen unseen = find_unseen(
      recording,
      {.allocates = allocates,
       .is_go = custom_.empty() ? FileFact(is_go) : FileFact([](const Module&) { return false; }),
       .is_valgrind = [](const Module& module) { return is_valgrind_tool(module.file.get()); }});
  if (unseen.seen == 0 && saw_calls_) unseen.seen = 1;  // in a file that is no longer known
  recording.losses.add(Loss::process_uncovered, count_of(unseen));
  const Target& target = options_.target;
  const bool may_be_nothing = !target.command.empty() || target.one_by_one;
  for (std::string note :
       {unseen_in_words(unseen, own_, may_be_nothing), valgrind_in_words(unseen)})
    if (!note.empty()) recording.meta.notes.push_back(std::move(note));
}

void AllocRun::describe(RunInfo& info) const {
  if (governor_) info.overhead = governor_->budget().overhead();
}

}  // namespace memflame
