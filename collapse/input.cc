// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/input.h"

#include <algorithm>
#include <array>

#include "collapse/format_names.h"
#include "collapse/inputs/folded/folded_head.h"
#include "collapse/text/issues.h"
#include "collapse/tidy/depth.h"
#include "collapse/unread_formats.h"
#include "core/error.h"
#include "core/folded.h"
#include "core/sums.h"

namespace memflame {
namespace {

constexpr std::array table{
#define INPUT(id, name, help) Input{name, help, is_##id, read_##id},
#include "collapse/inputs/inputs.def"
#undef INPUT
};

const Input* recognised(std::string_view head) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const Input& input) { return input.matches(head); });
  return found != table.end() ? found : nullptr;
}

const Input* input_named(std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const Input& input) { return input.name == name; });
  return found != table.end() ? found : nullptr;
}

// The format of that name; for a family, the one that the input looks like.
const Input& named(const Source& source, std::string_view name) {
  if (const Input* input = input_named(name); input != nullptr) return *input;
  const auto& families = format_families();
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const FormatFamily& each) { return each.name == name; });
  if (family == families.end()) {
    const std::string meant(closest_format(name));
    throw Error("there is no format '" + std::string(name) + "'; " +
                    (meant.empty() ? "" : "did you mean '" + meant + "'? ") +
                    "see 'memflame collapse --help'",
                ExitCode::usage);
  }
  std::string list;
  for (const std::string_view format : family->formats) {
    const Input* input = input_named(format);
    if (family->formats.size() == 1 || input->matches(source.head())) return *input;
    (list += list.empty() ? "" : ", ") += format;
  }
  source.fail("--from " + std::string(name) + " stands for " + list +
              ", and it looks like none of them; give one of these names to read it as that");
}

std::string folded_hint(std::string_view head) {
  const LineCounts lines = count_lines(head);
  if (lines.numbered == 0 || lines.numbered * 4 < lines.all) return "";
  return ". " + std::to_string(lines.numbered) + " of its first " + std::to_string(lines.all) +
         " lines end in a number, as in folded text; if it is that, use --from folded";
}

// Refuses a profile that lost all its stacks during reading: only names of programs and notes are
// left, and the parts that were not understood are at least as many.
void require_stacks(const Profile& profile, const Source& source) {
  const uint64_t dropped = profile.losses[Loss::input_line].events;
  if (dropped < std::max<uint64_t>(profile.touched().size(), 1)) return;
  const auto& notes = profile.meta.notes;
  const auto issue = std::find_if(notes.begin(), notes.end(), tells_of_issue);
  const std::string why = issue == notes.end() ? "" : ": " + *issue;
  if (profile.touched().empty()) source.fail("nothing in it could be used" + why);
  const auto has_frames = [&](StackId stack) {
    for (; stack; stack = profile.stacks[stack].caller) {
      const FrameKind kind = profile.frames[profile.stacks[stack].frame].kind;
      if (kind != FrameKind::note && kind != FrameKind::process) return true;
    }
    return false;
  };
  if (std::none_of(profile.touched().begin(), profile.touched().end(), has_frames))
    source.fail("none of its figures has a stack" + why);
}

}  // namespace

std::span<const Input> inputs() { return table; }

const Input& input_for(const Source& source, std::string_view from) {
  const std::string_view head = source.head();
  // None of these is text, so --from cannot help.
  if (const std::string what = unread_binary(head); !what.empty()) source.fail("it is " + what);
  if (!from.empty()) return named(source, from);
  const Input* found = recognised(head);
  if (found != nullptr && found->read != read_folded) return *found;
  std::string what = unread_text(head);
  if (what.empty() && !head.starts_with(folded_comment)) what = unread_kind(head);
  if (!what.empty()) source.fail("it is " + what);
  if (found != nullptr) return *found;
  source.fail(head.empty() ? "it is empty"
                           : "its format is not recognised; name it with --from (see 'memflame "
                             "collapse --help')" +
                                 folded_hint(head));
}

std::string likely_format(std::string_view head) {
  std::string what = unread_text(head);
  if (!what.empty()) return what;
  const Input* found = recognised(head);
  if (found != nullptr && found->read != read_folded) return std::string(found->name);
  return unread_kind(head);
}

Profile read_as(const Input& input, Source& source, const ReadOptions& options) {
  if (!options.refuse_truncated) source.accept_cut();
  ReadOptions asks = options;
  asks.likely = likely_format;
  Profile profile = limit_frames(input.read(source, asks), options.max_frames);
  require_stacks(profile, source);
  if (const std::string missing = source.missing(); !missing.empty())
    profile.meta.notes.push_back(source.name() + ": " + missing);
  try {
    require_sums(profile);
  } catch (const Error& error) {
    source.fail(error.what());
  }
  return profile;
}

Profile read_profile(Source& source, std::string_view from, const ReadOptions& options) {
  return read_as(input_for(source, from), source, options);
}

}  // namespace memflame
