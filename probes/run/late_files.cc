// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/late_files.h"

#include <algorithm>

#include "core/units.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t most_said = 16;

std::string time_in_words(const FileUser& user, uint64_t probed_ns, int64_t resident) {
  const bool to_its_end = user.until_ns <= probed_ns;
  const uint64_t end = std::min(user.until_ns, probed_ns);
  const uint64_t ms = end > user.from_ns ? (end - user.from_ns) / 1'000'000 : 0;
  const std::string time = with_commas(static_cast<int64_t>(ms)) + " ms";
  if (to_its_end) return "ran to its end without them, for " + time;
  return "ran without them for " + time + " and then had " + iec_bytes(resident) + " resident";
}

}  // namespace

void LateFiles::add(const Spaces& spaces, ModuleId file) {
  ++count_;
  if (late_.size() >= most_said) return;
  const uint64_t now = monotonic_ns();
  const std::optional<FileUser> user = spaces.user_of(file, now);
  late_.push_back({file, now, user ? resident_of(user->pid) : 0});
}

std::string LateFiles::in_words(const Spaces& spaces, const Late& late) {
  std::string text = spaces.module(late.file).path + " got its probes late";
  if (const std::optional<FileUser> user = spaces.user_of(late.file, late.probed_ns))
    text += ": " + user->comm + " (" + std::to_string(user->pid) + ") " +
            time_in_words(*user, late.probed_ns, late.resident);
  return text +
         "; what was allocated in it until then is missing: start the program itself with "
         "memflame, without a program before it";
}

std::vector<std::string> LateFiles::notes(const Spaces& spaces) const {
  std::vector<std::string> notes;
  for (const Late& late : late_) notes.push_back(in_words(spaces, late));
  if (count_ > late_.size())
    notes.push_back(with_commas(static_cast<int64_t>(count_ - late_.size())) +
                    " more files got their probes late");
  return notes;
}

}  // namespace memflame
