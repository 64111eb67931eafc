// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/code_owners.h"

#include <algorithm>
#include <array>

#include "core/script_files.h"

namespace memflame {
namespace {

// Functions of which each Go program has some on its stacks; no other language has such names.
constexpr std::array<std::string_view, 8> only_in_go{
    "runtime.main",      "runtime.goexit",   "runtime.mallocgc",  "runtime.mstart",
    "runtime.newobject", "runtime.mstart.0", "runtime.growslice", "main.main"};

bool is_package_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("_~%-./").find(c) != std::string_view::npos;
}

bool is_code_of_user(FrameKind kind) {
  return kind == FrameKind::user || kind == FrameKind::inlined;
}

}  // namespace

std::string_view go_package(std::string_view function) {
  // Folders may contain dots, arguments of types may contain both.
  const std::string_view plain = function.substr(0, function.find_first_of("([{ "));
  const size_t folder = plain.rfind('/');
  const size_t dot = plain.find('.', folder == std::string_view::npos ? 0 : folder + 1);
  if (dot == std::string_view::npos) return {};
  const std::string_view package = plain.substr(0, dot);
  const bool is_named =
      folder == std::string_view::npos ? dot != 0 : folder != 0 && dot > folder + 1;
  if (!is_named || !std::all_of(package.begin(), package.end(), is_package_letter)) return {};
  return package;
}

CodeOwners::CodeOwners(const Profile& profile) : profile_(profile), is_go_(profile.strings.size()) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    const std::string_view name = profile.strings[frame.function];
    if (is_code_of_user(frame.kind) &&
        (name.starts_with("runtime.") || name.starts_with("main.")) &&
        std::find(only_in_go.begin(), only_in_go.end(), name) != only_in_go.end())
      is_go_[frame.module.index] = true;
  }
}

Code CodeOwners::of(const Frame& frame) const {
  const Owner owner = owner_of(profile_, frame);
  if (owner == Owner::library && is_script(profile_, frame))
    return {owner, script_package(profile_.strings[frame.module]), true};
  if (owner == Owner::library) return {owner, profile_.strings[frame.module]};
  if (owner != Owner::application || !is_code_of_user(frame.kind) || !is_go_[frame.module.index])
    return {owner};
  const std::string_view package = go_package(profile_.strings[frame.function]);
  if (package.empty() || package == "main") return {owner};
  return {Owner::library, package, true};
}

}  // namespace memflame
