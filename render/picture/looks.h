// SPDX-License-Identifier: BSD-2-Clause
// The options on a picture's looks, for the script.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "render/picture/data_block.h"

namespace memflame {

// An object with only what differs from the defaults; texts are clean.
nlohmann::ordered_json looks_json(const DataSource& source, const DataNodes& nodes);

// The names in measure.mjs: "max", "after", …
std::string_view width_id(WidthOf width);

}  // namespace memflame
