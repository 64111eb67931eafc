#include "probes/alloc/alloc_run.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "probes/run.h"
#include "probes/session.h"

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

// Allocators whose blocks have sizes that are known from outside: by the word before a block, by
// size classes, or (musl 1.2.1 and later) because a block is as large as was asked for.
bool tells_usable_sizes(const std::string& allocator) {
  return allocator == "glibc" || allocator == "jemalloc" || allocator == "musl";
}

}  // namespace

AllocRun::AllocRun(const ProbeOptions& options)
    : options_(options),
      custom_(read_custom(options.alloc_specs, options.free_specs, options.presets)) {}

uint16_t AllocRun::number_of(const ProbedFunction& function) {
  const auto same = std::find_if(functions_.begin(), functions_.end(), [&](const auto& known) {
    return known.name == function.name && known.file == function.file;
  });
  if (same != functions_.end()) return static_cast<uint16_t>(same - functions_.begin());
  if (functions_.size() > UINT16_MAX) return UINT16_MAX;
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

void AllocRun::armed() {
  custom_fds_.clear();
  candidates_of_custom_.clear();
}

void AllocRun::on_call(const bpf::call_record& record) {
  if (options_.on_call) {
    const size_t number = record.function;
    options_.on_call(record, number < functions_.size() ? functions_[number].name : "?");
  }
}

void AllocRun::on_candidate(const bpf::candidate_record& record) {
  Seen& seen =
      candidates_[{record.kind, record.families, record.freeing, record.allocating, record.freed}];
  ++seen.events;
  seen.bytes += record.size;
}

void AllocRun::on_poll(Session& session) {
  if (governor_) governor_->poll(session);
}

void AllocRun::say_unknown_sizes(Recording& recording) const {
  std::set<std::string> names;
  for (const ProbedFunction& function : functions_)
    if (function.gives && !tells_usable_sizes(function.allocator)) names.insert(function.allocator);
  std::string unknown;
  for (const std::string& name : names) unknown += (unknown.empty() ? "" : ", ") + name;
  if (!unknown.empty())
    recording.meta.notes.push_back("sizes are as requested, not as given, for blocks of " +
                                   unknown + ": it cannot be told from outside what they give");
}

void AllocRun::finish(Session& session, Recording& recording) {
  Accounting::finish(session, recording);
  if (governor_ && !session.is_armed()) governor_->finish(session);
  recording.shared_names = shared_names();
  if (options_.usable_size) say_unknown_sizes(recording);
  const auto row = [&](uint64_t key) {
    return key == 0 ? RawStackId{} : session.row_of(recording, key);
  };
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

void AllocRun::describe(RunInfo& info) const {
  if (governor_) info.overhead = governor_->overhead();
}

}  // namespace memflame
