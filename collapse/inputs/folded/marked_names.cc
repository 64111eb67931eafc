// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/marked_names.h"

#include <algorithm>
#include <array>

#include "core/folded.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 9> notes{
    "[lost",  "[truncated", "[exec:",      "[by another task", "[anon]",
    "[file]", "[shared]",   "[PROT_NONE]", "[no stack]"};

}  // namespace

FrameKind bracketed_kind(std::string_view name) {
  if (!name.starts_with('[') || !name.ends_with(']')) return FrameKind::user;
  const bool is_note = std::any_of(notes.begin(), notes.end(),
                                   [&](std::string_view note) { return name.starts_with(note); });
  return is_note ? FrameKind::note : FrameKind::unknown;
}

FrameKind take_mark(std::string_view& name) {
  for (const FoldedSuffix& suffix : folded_suffixes) {
    if (!name.ends_with(suffix.text)) continue;
    name.remove_suffix(suffix.text.size());
    return suffix.kind;
  }
  return bracketed_kind(name);
}

}  // namespace memflame
