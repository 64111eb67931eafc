// SPDX-License-Identifier: BSD-2-Clause
#include "core/owner.h"

#include "core/allocator_list.h"
#include "core/script_files.h"

namespace memflame {
namespace {

// "libc.so.6", "libc-2.31.so", "libSystem.B.dylib", "ntdll.dll", "[vdso]".
bool is_library(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with('[') || file.ends_with(".so") || file.find(".so.") != file.npos ||
         file.ends_with(".dylib") || file.ends_with(".dll") || file.ends_with(".DLL");
}

}  // namespace

Owner owner_of(const Profile& profile, const Frame& frame) {
  const std::string_view module = profile.strings[frame.module];
  switch (frame.kind) {
    case FrameKind::kernel:
      return Owner::kernel;
    case FrameKind::jit:
      return Owner::jit;
    case FrameKind::process:
    case FrameKind::note:
      return Owner::unknown;
    case FrameKind::unknown:
      if (module.empty()) return Owner::unknown;
      break;
    case FrameKind::user:
    case FrameKind::inlined:
      if (builtin_allocators().contains(profile.strings[frame.function])) return Owner::allocator;
      break;
  }
  if (is_script(profile, frame))
    return script_package(module).empty() ? Owner::application : Owner::library;
  return is_library(module) || is_interpreter(module) ? Owner::library : Owner::application;
}

}  // namespace memflame
