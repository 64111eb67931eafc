// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/unseen.h"

#include <algorithm>

#include "core/elf/valgrind.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr size_t most_named = 4;

std::string list(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most_named; ++i)
    text += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > most_named)
    text += " and " + with_commas(static_cast<int64_t>(items.size() - most_named)) + " more";
  return text;
}

void add(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// A dynamic program that has mapped only itself and its loader has not loaded its libraries yet, so
// it has not allocated anything.
bool is_starting(const Recording& recording, const Space& space) {
  std::vector<std::string> files;
  for (const Mapping& mapping : space.mappings) {
    const Module& module = recording.modules.at(mapping.module.index);
    if (module.kind == ModuleKind::file) add(files, module.path);
  }
  return files.size() <= 2 && std::any_of(files.begin(), files.end(), [](const std::string& file) {
           return file.find("/ld-linux") != std::string::npos;
         });
}

constexpr const char* what_helps =
    "name its functions with --alloc and --free, or use 'memflame fault' or 'memflame brk', which "
    "need none";

}  // namespace

Unseen find_unseen(const Recording& recording, const FileFacts& facts) {
  std::vector<bool> known(recording.modules.size()), is_go(recording.modules.size()),
      is_valgrind(recording.modules.size());
  for (size_t i = 1; i < known.size(); ++i) {
    known[i] = facts.allocates(recording.modules[i]);
    is_go[i] = facts.is_go(recording.modules[i]);
    is_valgrind[i] = facts.is_valgrind(recording.modules[i]);
  }
  // A child has its parent's files until it runs another program.
  std::vector<bool> is_seen(recording.spaces.size()), runs_copies(recording.spaces.size());
  Unseen unseen;
  for (size_t i = 1; i < recording.spaces.size(); ++i) {
    const Space& space = recording.spaces[i];
    if (space.pid == 0) continue;
    const auto& mappings = space.mappings;
    is_seen[i] = std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
      return known.at(mapping.module.index);
    });
    const std::string name = space.comm + " (" + std::to_string(space.pid) + ")";
    runs_copies[i] = (space.forked_from.index < i && runs_copies[space.forked_from.index]) ||
                     std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
                       return is_valgrind.at(mapping.module.index);
                     });
    if (runs_copies[i]) {
      // Its launcher seems to have the tool's mappings, too: the log has them before the exec.
      const std::string pid = " (" + std::to_string(space.pid) + ")";
      std::erase_if(unseen.valgrind, [&](const std::string& each) { return each.ends_with(pid); });
      unseen.valgrind.push_back(name);
      continue;
    }
    if (std::any_of(mappings.begin(), mappings.end(),
                    [&](const Mapping& mapping) { return is_go.at(mapping.module.index); }))
      add(unseen.go, name);
    if (space.forked_from.index < i && is_seen[space.forked_from.index]) is_seen[i] = true;
    if (is_seen[i]) {
      ++unseen.seen;
      continue;
    }
    if (mappings.empty() || is_starting(recording, space)) continue;
    add(unseen.processes, name);
    for (const Mapping& mapping : mappings) {
      const Module& module = recording.modules.at(mapping.module.index);
      if (module.kind == ModuleKind::file) add(unseen.files, module.path);
    }
  }
  return unseen;
}

size_t count_of(const Unseen& unseen) {
  std::vector<std::string> names = unseen.processes;
  for (const std::string& name : unseen.go) add(names, name);
  for (const std::string& name : unseen.valgrind) add(names, name);
  return names.size();
}

std::string unseen_in_words(const Unseen& unseen, const AllocOptions& options, bool is_command) {
  std::string go, helps = what_helps;
  if (!unseen.go.empty()) {
    const std::string heap = "for Go's heap use 'memflame heap -p PID'";
    go = "the allocator of Go, in " + list(unseen.go) + ", is not probed";
    if (unseen.processes.empty()) return go + ": " + heap;
    helps = heap + "; " + helps;
  }
  if (unseen.processes.empty()) return "";
  const std::string where = unseen.files.empty() ? "" : " in " + list(unseen.files);
  if (unseen.seen == 0 && !options.object.empty())
    throw Error("--obj " + options.object + ": no process that was watched, " +
                list(unseen.processes) + ", maps such a file with an allocator (searched" + where +
                ")");
  if (unseen.seen == 0) {
    std::string nothing = "nothing could be seen of " + list(unseen.processes) +
                          ": malloc and free were looked for" + where + " and not found" +
                          (go.empty() ? "" : "; " + go) + ": " + helps;
    if (is_command) return nothing;
    throw Error(nothing);
  }
  return "not seen: what " + list(unseen.processes) +
         " allocated, as malloc and free were not found" + where + (go.empty() ? "" : "; " + go) +
         ": " + helps;
}

std::string valgrind_in_words(const Unseen& unseen) {
  if (unseen.valgrind.empty()) return "";
  return "not seen: what " + list(unseen.valgrind) + " allocated: " + seen_by_nobody +
         ". Its tools that leave malloc alone (callgrind, cachegrind) even end a program that "
         "meets a probe, by SIGTRAP";
}

}  // namespace memflame
