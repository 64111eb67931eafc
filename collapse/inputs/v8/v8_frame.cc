// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/v8/v8_frame.h"

#include <string>

namespace memflame {
namespace {

std::string anonymous(std::string_view script, uint32_t line) {
  script.remove_prefix(script.rfind('/') + 1);
  if (script.empty()) return "(anonymous)";
  const std::string place = line == 0 ? "" : ":" + std::to_string(line);
  return "(anonymous " + std::string(script) + place + ")";
}

}  // namespace

FrameId v8_frame(Profile& profile, std::string_view function, std::string_view script,
                 uint32_t line, const ReadOptions& options) {
  StringTable& strings = profile.strings;
  const StringId module = strings.intern(script);
  Frame frame{.function = strings.intern(function),
              .module = module,
              .file = options.lines ? module : StringId{},
              .line = options.lines ? line : 0};
  if (function.empty()) frame.function = strings.intern(anonymous(script, line));
  return profile.frames.intern(frame);
}

}  // namespace memflame
