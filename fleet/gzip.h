// SPDX-License-Identifier: BSD-2-Clause
// Bodies of requests, packed.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

// As one member of gzip, packed fast: what is sent is read once.
std::string gzip_body(std::string_view bytes);

}  // namespace memflame
