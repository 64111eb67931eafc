#include "core/folded.h"

#include <algorithm>

#include "render/clean_text.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

std::string quoted(std::string_view text, uint64_t& replaced) {
  std::string out = "\"";
  append_json(out, clean_text(text, replaced));
  return out + "\"";
}

// The names as they may stand between two semicolons, by FrameId::index.
std::vector<std::string> frame_names(const Profile& profile, const CleanStrings& clean) {
  std::vector<std::string> names(profile.frames.size());
  for (uint32_t i = 1; i < names.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    names[i] = clean[frame.function];
    std::replace(names[i].begin(), names[i].end(), ';', ':');
    for (const FoldedSuffix& suffix : folded_suffixes)
      if (suffix.kind == frame.kind) names[i] += suffix.text;
  }
  return names;
}

bool roots_are_processes(const Profile& profile) {
  const auto is_process = [&](StackId stack) {
    while (profile.stacks[stack].caller) stack = profile.stacks[stack].caller;
    return profile.frames[profile.stacks[stack].frame].kind == FrameKind::process;
  };
  const std::span<const StackId> stacks = profile.touched();
  return std::any_of(stacks.begin(), stacks.end(), is_process);
}

// What the stacks alone do not say. Grammar and reader: core/folded.h, collapse/inputs/.
void write_header(std::ostream& out, const Profile& profile, const RenderOptions& options,
                  uint64_t replaced) {
  const Meta& meta = profile.meta;
  const ValueType& type = profile.types[profile.shown];
  // A value's name is one word: ours are, those of a file may not be.
  std::string value = clean_text(type.name, replaced);
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == ' ' || c == '"'; }, '-');
  out << folded_comment << "folded unit=" << name(type.unit)
      << " value=" << (value.empty() ? "value" : value) << " total=" << profile.total(profile.shown)
      << "\n";
  const auto field = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) out << folded_comment << key << "=" << quoted(text, replaced) << "\n";
  };
  field("title", options.title.empty() ? meta.title : options.title);
  field("command", meta.command);
  field("host", meta.host);
  if (meta.seconds > 0) field("seconds", number_text(meta.seconds));
  field("sampling", meta.sampling);
  if (roots_are_processes(profile)) field("roots", "process");
  for (const Reconciliation& row : meta.reconciliation)
    out << folded_comment << "reconciliation captured=" << row.captured << " os=" << row.os
        << " name=" << quoted(row.name, replaced) << "\n";
  for (const std::string& note : meta.notes) field("note", note);
  Losses losses = profile.losses;
  losses.add(Loss::replaced_bytes, replaced);
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    if (count.events != 0 || count.bytes != 0)
      out << folded_comment << "loss events=" << count.events << " bytes=" << count.bytes
          << " name=" << quoted(loss_info[i].name, replaced) << "\n";
  }
}

}  // namespace

// Stacks whose value is 0 are left out: they take nothing from the sum.
void write_folded(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  const CleanStrings clean = clean_strings(profile);
  if (options.header) write_header(out, profile, options, clean.replaced);
  for (StackRow& row : stack_rows(profile, frame_names(profile, clean), ';')) {
    if (row.values[profile.shown] == 0) continue;
    // A line that begins with "# " would be a comment.
    if (row.path == "#" || row.path.starts_with("# ")) row.path[0] = '_';
    out << row.path << ' ' << row.values[profile.shown] << '\n';
  }
}

}  // namespace memflame
