// SPDX-License-Identifier: BSD-2-Clause
// What options say of a picture's looks, for the script.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "render/picture/data_block.h"

namespace memflame {

// An object with nothing but what differs from the usual; texts are clean.
nlohmann::ordered_json looks_json(const DataSource& source, const DataNodes& nodes);

// As measure.mjs calls them: "max", "after", …
std::string_view width_id(WidthOf width);

}  // namespace memflame
