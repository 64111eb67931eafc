// SPDX-License-Identifier: BSD-2-Clause
// A pipe with close-on-exec ends.
#pragma once

#include "core/unique_fd.h"

namespace memflame {

struct Pipe {
  UniqueFd read, write;
};

// Throws Error.
Pipe make_pipe();

}  // namespace memflame
