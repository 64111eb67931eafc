// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/assets.h"

#include "core/error.h"
#include "render/picture/packed.h"

namespace memflame {
namespace {

// The name of a script or style in a policy: its hash, made when the program was built.
std::string hash_source(const std::string& file) {
  const std::string_view digits = asset(file + ".sha256");
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace

std::string_view asset(std::string_view name) {
  for (const EmbeddedFile& file : embedded_assets())
    if (file.name == name) return file.text;
  throw Error("internal: " + std::string(name) + " is not part of this program");
}

std::string page_policy(const std::string& script, const std::string& style, bool fetches) {
  return "default-src 'none'; script-src " + hash_source(script) + "; style-src " +
         hash_source(style) + (fetches ? "; connect-src 'self'" : "");
}

}  // namespace memflame
