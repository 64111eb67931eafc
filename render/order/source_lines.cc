// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/source_lines.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "render/order/plain_frames.h"

namespace memflame {
namespace {

// One of the frames that a merged stack stands for, with its share of the shown value.
struct Share {
  uint32_t stack = 0;
  FrameId frame;
  double size = 0;
};

// For each stack, the frame with the most of the shown value; among equals the first by file and
// line.
std::vector<FrameId> main_frames(const Profile& profile, std::vector<Share> shares, size_t stacks) {
  const auto place = [&](const Share& share) {
    const Frame& frame = profile.frames[share.frame];
    return std::tuple(share.stack, profile.strings[frame.file], frame.line);
  };
  std::sort(shares.begin(), shares.end(),
            [&](const Share& a, const Share& b) { return place(a) < place(b); });
  std::vector<FrameId> frames(stacks);
  std::vector<double> most(stacks, -1);
  for (size_t i = 0; i < shares.size();) {
    Share sum = shares[i];
    while (++i < shares.size() && place(shares[i]) == place(sum)) sum.size += shares[i].size;
    if (std::fabs(sum.size) <= most[sum.stack]) continue;
    most[sum.stack] = std::fabs(sum.size);
    frames[sum.stack] = sum.frame;
  }
  return frames;
}

}  // namespace

bool has_lines(const Profile& profile) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i)
    if (profile.frames[FrameId{i}].file) return true;
  return false;
}

Profile by_function(const Profile& profile) {
  const PlainFrames plain = plain_frames(profile);
  if (plain.distinct) return profile;
  const std::vector<int64_t> sums = profile.inclusive(profile.shown);
  std::vector<StackId> place(profile.stacks.size());
  std::vector<Share> shares;
  shares.reserve(place.size());
  StackTable merged;
  for (uint32_t i = 1; i < place.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    place[i] = merged.push(place[node.caller.index], FrameId{plain.rank[node.frame.index]});
    shares.push_back({place[i].index, node.frame, static_cast<double>(sums[i])});
  }
  const std::vector<FrameId> frames = main_frames(profile, std::move(shares), merged.size());
  Profile out = without_stacks(profile);
  // Merged callees of one caller differ in more than lines, so the ids are those of `merged`.
  for (uint32_t i = 1; i < merged.size(); ++i)
    out.stacks.push(merged[StackId{i}].caller, frames[i]);
  for (size_t i = 0; i < profile.rows(); ++i)
    out.add(place[profile.row(i).stack.index], profile.row(i).values);
  move_stacks(out.findings, [&](StackId stack) { return place[stack.index]; });
  out.marks = moved_marks(profile.marks, [&](StackId stack) { return place[stack.index]; });
  return out;
}

std::string short_place(std::string_view file, uint32_t line) {
  std::string text(file.substr(file.rfind('/') + 1));
  if (line != 0) text += ':' + std::to_string(line);
  return text;
}

Profile with_lines_in_names(const Profile& profile) {
  Profile out = profile;
  FrameTable frames;
  for (uint32_t i = 1; i < out.frames.size(); ++i) {
    Frame frame = out.frames[FrameId{i}];
    const std::string place =
        frame.file ? short_place(out.strings[frame.file], frame.line) : std::string();
    std::string name(out.strings[frame.function]);
    // Functions of interpreted languages have it always.
    if (!place.empty() && !name.ends_with(" (" + place + ")"))
      frame.function = out.strings.intern(name + ' ' + place);
    frames.intern(frame);  // no two become equal: their files and lines still differ
  }
  out.frames = std::move(frames);
  return out;
}

}  // namespace memflame
