// SPDX-License-Identifier: BSD-2-Clause
#include "render/output.h"

#include "render/choose_output.h"

namespace memflame {
namespace {

constexpr Output table[] = {
#define OUTPUT(name, suffix, help, holds) {#name, suffix, help, write_##name, holds},
#include "render/outputs.def"
#undef OUTPUT
};

}  // namespace

std::span<const Output> outputs() { return table; }

const Output& output_for(std::string_view format, std::string_view path) {
  return chosen_output<Output>(table, format, path, table[0]);
}

}  // namespace memflame
