// SPDX-License-Identifier: BSD-2-Clause
// The words of a timeline.
#pragma once

#include <string>
#include <vector>

#include "core/timeline.h"
#include "render/picture/caption.h"

namespace memflame {

// The recording's own title, or one made from what is shown: "Live bytes over time".
std::string timeline_title(const Timeline& timeline);

// The lines below the title, none of them empty.
std::vector<Caption> timeline_captions(const Timeline& timeline);

// "everything else (12 stacks)"
std::string line_name(const TimeLine& line);

// "most 20.0 MiB at 83 s · last 12.0 MiB"; "" if there is no value.
std::string extremes_text(const std::optional<TimeLine::Extremes>& extremes, const ValueType& type);

// All frames, from the root on, one per line; the name of a line without frames.
std::string frames_text(const TimeLine& line);

// Gauges, totals, bands: the order in which outputs number them.
std::vector<const TimeLine*> all_lines(const Timeline& timeline);

}  // namespace memflame
