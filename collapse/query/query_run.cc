// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/query_run.h"

#include <algorithm>
#include <limits>

#include "collapse/fold/fold.h"
#include "collapse/history/stack_labels.h"
#include "core/error.h"
#include "core/secrets.h"

namespace memflame {
namespace {

NamedStacks named_stacks(const Recording& recording) {
  std::vector<Aggregate> sums;
  for (uint32_t i = 1; i < recording.stacks.size(); ++i)
    sums.push_back({.stack = RawStackId{i},
                    .group = {},
                    .values = std::vector<int64_t>(recording.types.size())});
  NamedStacks named;
  std::vector<StackId> stacks;
  named.profile = fold(recording, sums, {.lines = true}, &stacks);
  named.stacks.emplace_back();
  named.stacks.insert(named.stacks.end(), stacks.begin(), stacks.end());
  return named;
}

}  // namespace

const NamedStacks& QueryRun::named() {
  if (!named_) named_ = named_stacks(recording());
  return *named_;
}

const std::string& QueryRun::frame_name(FrameId frame) {
  const Profile& profile = named().profile;
  if (frame_names_.empty()) {
    frame_names_.resize(profile.frames.size());
    for (uint32_t i = 1; i < frame_names_.size(); ++i) {
      std::string name = clean_(profile.strings[profile.frames[FrameId{i}].function]);
      std::replace(name.begin(), name.end(), ';', ':');
      frame_names_[i] = std::move(name);
    }
  }
  return frame_names_[frame.index];
}

std::vector<FrameId> QueryRun::path(RawStackId stack) {
  const NamedStacks& all = named();
  if (!stack || stack.index >= all.stacks.size()) return {};
  return all.profile.path(all.stacks[stack.index]);
}

std::string QueryRun::text(RawStackId stack) {
  std::string text;
  for (const FrameId frame : path(stack)) {
    if (!text.empty()) text += ';';
    text += frame_name(frame);
  }
  return text;
}

const std::string& QueryRun::label(RawStackId stack) {
  const NamedStacks& all = named();
  if (labels_.empty()) {
    labels_.resize(all.stacks.size());
    for (size_t i = 1; i < labels_.size(); ++i)
      labels_[i] = clean_(stack_label(all.profile, all.stacks[i]));
  }
  return labels_.at(stack.index);
}

const std::vector<QueryRun::Fact>& QueryRun::facts() {
  if (!facts_.empty()) return facts_;
  const Recording& recording = history_.recording;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts_.push_back({name, clean_(text)});
  };
  add("title", recording.meta.title);
  add("command", without_secrets(recording.meta.command));
  add("host", recording.meta.host);
  add("sampling", recording.meta.sampling);
  facts_.push_back({"seconds", recording.meta.seconds});
  facts_.push_back({"complete", int64_t{history_.is_complete ? 1 : 0}});
  for (const std::string& note : recording.meta.notes) add("note", note);
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& lost = recording.losses[static_cast<Loss>(i)];
    if (lost.events != 0)
      facts_.push_back({"lost: " + std::string(loss_info[i].name), query_integer(lost.events)});
  }
  return facts_;
}

int64_t query_integer(uint64_t number) {
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    throw Error("the recording is damaged: it has a number that does not fit in 63 bits");
  return static_cast<int64_t>(number);
}

}  // namespace memflame
