// SPDX-License-Identifier: BSD-2-Clause
// Shows the files that code comes from as frames.
#include <algorithm>

#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"

namespace memflame {
namespace {

constexpr std::string_view kernel_name = "[kernel]", jit_name = "[jit]", unknown_name = "[unknown]";

std::string_view module_file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// As perf and other tools call it; loadable modules have names of their own.
bool is_whole_kernel(std::string_view name) {
  return name.starts_with("[kernel.kallsyms]") || name == "vmlinux" || name == "kernel";
}

// The frame of the module that each frame's code is in, or none if the input does not tell.
std::vector<FrameId> module_frames(Profile& profile, ModuleFrames how) {
  return changed_frames(profile, [how](Profile& in, FrameId id) -> FrameId {
    const Frame frame = in.frames[id];
    if (frame.kind == FrameKind::note || frame.kind == FrameKind::process) return {};
    const bool kernel = frame.kind == FrameKind::kernel, jit = frame.kind == FrameKind::jit;
    std::string name(module_file_name(in.strings[frame.module]));
    const bool is_one = jit || (kernel && (name.empty() || is_whole_kernel(name)));
    if (is_one) name = jit ? jit_name : kernel_name;
    if (name.empty()) return {};
    if (how == ModuleFrames::between && !name.starts_with('[')) name = "[" + name + "]";
    Frame module{.function = in.strings.intern(name),
                 .module = is_one ? StringId{} : frame.module,
                 .file = {}};
    module.kind = how == ModuleFrames::between ? FrameKind::note
                  : kernel || jit              ? frame.kind
                                               : FrameKind::user;
    return in.frames.intern(module);
  });
}

// A frame whose module is unknown, such as an inlined function, is taken to be in its caller's.
Moved with_modules_between(const Profile& profile, const std::vector<FrameId>& module) {
  Moved moved;
  moved.place.resize(profile.stacks.size());
  std::vector<FrameId> inside(moved.place.size());
  for (uint32_t i = 1; i < inside.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const FrameId own = module[node.frame.index];
    StackId caller = moved.place[node.caller.index];
    inside[i] = own ? own : inside[node.caller.index];
    if (inside[i] != inside[node.caller.index]) caller = moved.stacks.push(caller, inside[i]);
    moved.place[i] = moved.stacks.push(caller, node.frame);
  }
  return moved;
}

// `unknown`: the frame of code whose module is not known.
Moved modules_only(const Profile& profile, const std::vector<FrameId>& module, FrameId unknown) {
  Moved moved;
  moved.place.resize(profile.stacks.size());
  std::vector<FrameId> inside(moved.place.size());
  for (uint32_t i = 1; i < inside.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const FrameId own = module[node.frame.index];
    const StackId caller = moved.place[node.caller.index];
    const FrameId before = inside[node.caller.index];
    const FrameKind kind = profile.frames[node.frame].kind;
    if (kind == FrameKind::inlined && !own && before) {
      inside[i] = before;
      moved.place[i] = caller;
      continue;
    }
    const bool is_code = kind != FrameKind::note && kind != FrameKind::process;
    inside[i] = own ? own : is_code ? unknown : node.frame;
    moved.place[i] = inside[i] == before ? caller : moved.stacks.push(caller, inside[i]);
  }
  return moved;
}

}  // namespace

Profile modules_as_frames(Profile profile, ModuleFrames how) {
  if (how == ModuleFrames::none) return profile;
  const std::vector<FrameId> module = module_frames(profile, how);
  const auto known = [](FrameId frame) { return static_cast<bool>(frame); };
  if (std::none_of(module.begin(), module.end(), known)) {
    profile.meta.notes.emplace_back("the input does not say which module code is in");
    return profile;
  }
  const FrameId unknown = profile.frames.intern({.function = profile.strings.intern(unknown_name),
                                                 .module = {},
                                                 .file = {},
                                                 .kind = FrameKind::unknown});
  Moved moved = how == ModuleFrames::between ? with_modules_between(profile, module)
                                             : modules_only(profile, module, unknown);
  return with_stacks(std::move(profile), std::move(moved));
}

}  // namespace memflame
