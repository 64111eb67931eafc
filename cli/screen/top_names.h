// SPDX-License-Identifier: BSD-2-Clause
// The names that memflame top shows of stacks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/profile.h"
#include "render/top/top_data.h"

namespace memflame {

struct NamedTopStack {
  std::shared_ptr<const TopNames> names;  // clean
  std::string_view one_time_blocks;       // see suppressions.h
};

// `process`: as process_of() gives it.
NamedTopStack top_names(const Profile& profile, StackId stack, const std::string& process);

}  // namespace memflame
