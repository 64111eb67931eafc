// SPDX-License-Identifier: BSD-2-Clause
// What valgrind --xml=yes writes.
#pragma once

#include <string_view>

#include "collapse/inputs/readers.h"

namespace memflame {

bool is_memcheck_xml(std::string_view head);
Profile read_memcheck_xml(Source& source, const ReadOptions& options);

}  // namespace memflame
