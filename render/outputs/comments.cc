// SPDX-License-Identifier: BSD-2-Clause
#include "render/outputs/comments.h"

#include "core/folded.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

std::string quoted(std::string_view text, uint64_t& replaced) {
  std::string out = "\"";
  append_json(out, clean_text(text, replaced));
  return out + "\"";
}

bool roots_are_processes(const Profile& profile) {
  for (uint32_t i = 1; i < profile.stacks.size(); ++i) {
    const StackNode& stack = profile.stacks[StackId{i}];
    if (!stack.caller && profile.frames[stack.frame].kind == FrameKind::process) return true;
  }
  return false;
}

}  // namespace

void write_comments(std::ostream& out, const Profile& profile, const RenderOptions& options,
                    uint64_t replaced) {
  const Meta& meta = profile.meta;
  const auto field = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) out << folded_comment << key << "=" << quoted(text, replaced) << "\n";
  };
  field("title", options.title.empty() ? meta.title : options.title);
  field("command", meta.command);
  field("host", meta.host);
  if (meta.seconds > 0) field("seconds", number_text(meta.seconds));
  field("sampling", meta.sampling);
  if (roots_are_processes(profile)) field("roots", "process");
  for (const Reconciliation& row : meta.reconciliation) {
    if (!row.os) continue;
    out << folded_comment << "reconciliation captured=" << row.captured << " os=" << *row.os
        << " name=" << quoted(row.name, replaced);
    if (!row.captured_is.empty()) out << " captured_is=" << quoted(row.captured_is, replaced);
    out << "\n";
  }
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

}  // namespace memflame
