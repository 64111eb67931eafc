// SPDX-License-Identifier: BSD-2-Clause
#include "render/timeline/timeline_output.h"

#include "render/choose_output.h"

namespace memflame {
namespace {

constexpr TimelineOutput timeline_table[] = {
#define OUTPUT(name, suffix, help, is_picture) \
  {#name, suffix, help, write_timeline_##name, is_picture},
#include "render/timeline/timeline_outputs.def"
#undef OUTPUT
};

}  // namespace

std::span<const TimelineOutput> timeline_outputs() { return timeline_table; }

const TimelineOutput& timeline_output_for(std::string_view format, std::string_view path) {
  return chosen_output<TimelineOutput>(timeline_table, format, path, timeline_table[0]);
}

}  // namespace memflame
