// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/inputs/inputs.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/folded.h"
#include "tests/support/skipped.h"

namespace memflame {

Profile read_text(const std::string& text, std::string_view from, const ReadOptions& options) {
  Source source = Source::of_memory(text, "text");
  return read_profile(source, from, options);
}

Profile read_data(const std::string& name, std::string_view from, const ReadOptions& options) {
  Source source = Source::open(std::string(TEST_DATA) + "/inputs/" + name);
  return read_profile(source, from, options);
}

std::optional<std::filesystem::path> corpus(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(CORPORA) / folder;
  if (std::filesystem::exists(path)) return path;
  skip("public samples: no " + path.string());
  return std::nullopt;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string error_of(const std::string& text, std::string_view from, const ReadOptions& options) {
  try {
    read_text(text, from, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

size_t column(const Profile& profile, std::string_view name) {
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (profile.types[i].name == name) return i;
  FAIL("no column ", std::string(name));
  return 0;
}

Stacks stacks(const Profile& profile, std::string_view name, bool marks) {
  const size_t shown = name.empty() ? profile.shown : column(profile, name);
  Stacks out;
  for (const StackId stack : profile.touched()) {
    std::string path;
    const char* separator = "";
    for (const FrameId id : profile.path(stack)) {
      const Frame& frame = profile.frames[id];
      path += separator;
      separator = ";";
      path += profile.strings[frame.function];
      for (const FoldedSuffix& suffix : folded_suffixes)
        if (marks && suffix.kind == frame.kind) path += suffix.text;
    }
    const int64_t value = profile.values(stack)[shown];
    if (value != 0) out[path] += value;
  }
  return out;
}

std::string recognised(const std::string& text) {
  const Source source = Source::of_memory(text);
  for (const Input& input : inputs())
    if (input.matches(source.head())) return std::string(input.name);
  return "";
}

}  // namespace memflame
