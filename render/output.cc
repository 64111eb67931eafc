// SPDX-License-Identifier: BSD-2-Clause
#include "render/output.h"

#include "core/error.h"

namespace memflame {
namespace {

constexpr Output table[] = {
#define OUTPUT(name, suffix, help, holds) {#name, suffix, help, write_##name, holds},
#include "render/outputs.def"
#undef OUTPUT
};

std::string list(std::string_view Output::*column) {
  std::string text;
  for (const Output& output : table)
    text += (text.empty() ? "" : ", ") + std::string(output.*column);
  return text;
}

}  // namespace

std::span<const Output> outputs() { return table; }

const Output& output_for(std::string_view format, std::string_view path) {
  for (const Output& output : table)
    if (output.name == format) return output;
  if (!format.empty())
    throw Error("--format " + std::string(format) + ": there are " + list(&Output::name),
                ExitCode::usage);
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const size_t dot = file.rfind('.');
  // "x" and ".x" have no suffix.
  if (dot == std::string_view::npos || dot == 0) return table[0];
  const Output* longest = nullptr;
  for (const Output& output : table)
    if (file.size() > output.suffix.size() && file.ends_with(output.suffix) &&
        (longest == nullptr || longest->suffix.size() < output.suffix.size()))
      longest = &output;
  if (longest != nullptr) return *longest;
  throw Error("-o " + std::string(path) + ": no format is written to '" +
                  std::string(file.substr(dot)) + "' files (there are " + list(&Output::suffix) +
                  "); name one with --format " + list(&Output::name),
              ExitCode::usage);
}

}  // namespace memflame
