// SPDX-License-Identifier: BSD-2-Clause
// What is said of the processes that no agent sees.
#include <algorithm>

#include "core/units.h"
#include "probes/inside/uncovered.h"
#include "probes/options/advice.h"

namespace memflame::inside {
namespace {

constexpr size_t most_named = 4;

}  // namespace

std::vector<const Uncovered::Found*> Uncovered::all_found(Takeover::Cover cover) const {
  std::vector<const Found*> all;
  for (const Found& found : earlier_)
    if (found.cover == cover) all.push_back(&found);
  for (const auto& [pid, found] : found_)
    if (cover_of(found) == cover) all.push_back(&found);
  return all;
}

size_t Uncovered::count() const {
  return all_found(Takeover::Cover::none).size() + beyond_ + executions_.open();
}

size_t Uncovered::late() const { return all_found(Takeover::Cover::late).size(); }

std::vector<std::string> Uncovered::names(Takeover::Cover cover) const {
  std::vector<std::string> names;
  for (const Found* process : all_found(cover)) {
    if (names.size() == most_named) break;
    names.push_back(process->name + " " + std::to_string(process->pid) + ": " + process->why +
                    ", resident " + iec_bytes(process->last) +
                    (process->last > process->first
                         ? ", " + iec_bytes(process->last - process->first) + " more than at first"
                         : ""));
  }
  return names;
}

std::vector<std::string> Uncovered::notes() const {
  std::vector<std::string> notes;
  const auto say = [&notes](size_t count, std::string what, std::vector<std::string> names,
                            const std::string& why) {
    if (count == 0) return;
    names.resize(std::min(names.size(), most_named));
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : "; ") + name;
    if (!list.empty()) list = " (" + list + (count > names.size() ? "; …" : "") + ")";
    notes.push_back(with_commas(static_cast<int64_t>(count)) +
                    (count == 1 ? " process was " : " processes were ") + std::move(what) + list +
                    ": " + why);
  };
  std::vector<std::string> unseen = names(Takeover::Cover::none);
  for (const std::string& name : executions_.names())
    unseen.push_back(name + ", and it ended before its memory was read");
  say(count(), "not seen", std::move(unseen), why_unseen());
  say(late(), "counted by the kernel's probes from a moment after the start",
      names(Takeover::Cover::late), "what was allocated by then is missing");
  return notes;
}

std::string Uncovered::why_unseen() const {
  if (takeover_ != nullptr && !takeover_->failure().empty())
    return "the kernel's probes could not be used: " + takeover_->failure();
  if (attached_)
    return "memflame's agent is in the processes that it came into and in their forked children, "
           "but not in programs that they execute; " +
           as_root("the kernel's collector follows them");
  const bool knows_all = takeover_ != nullptr || (witness_ != nullptr && witness_->lost() == 0);
  return std::string(knows_all ? "" : "what they executed is not known if it ended soon; ") +
         "static programs, those that contain their allocator, and those started without "
         "LD_PRELOAD cannot be watched from inside; " +
         as_root("--collect kernel needs no agent");
}

}  // namespace memflame::inside
