// SPDX-License-Identifier: BSD-2-Clause
// Scanning, compared with what is simple: the first paragraph of any text, and samples of perf
// script that come again. Lines that end in "\r\n" are always read one by one, so such a text must
// give the same profile.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "collapse/input.h"
#include "core/error.h"
#include "core/scan.h"

namespace memflame {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "scan_fuzz: " << what << "\n";
  std::abort();
}

void check_paragraph(std::string_view text) {
  const Paragraph found = first_paragraph(text);
  const size_t empty = text.find("\n\n");
  if (empty == std::string_view::npos || text.starts_with('\n')) {
    require(found.size == 0, "a paragraph without an end");
    return;
  }
  const std::string_view lines = text.substr(0, empty + 1);
  require(found.size == lines.size(), "another end");
  require(found.lines == static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')),
          "another number of lines");
  require(found.first == lines.find('\n'), "another first line");
}

// All that is read, or the error.
std::string read(const std::string& text, const ReadOptions& options) {
  try {
    Source source = Source::of_memory(text);
    const Profile profile = read_profile(source, "perf-script", options);
    std::ostringstream all;
    for (const ValueType& type : profile.types) all << type.name << ' ';
    for (const StackId stack : profile.touched()) {
      for (const FrameId frame : profile.path(stack))
        all << profile.strings[profile.frames[frame].function] << ';';
      for (const int64_t value : profile.values(stack)) all << ' ' << value;
      all << '\n';
    }
    for (const std::string& note : profile.meta.notes) all << note << '\n';
    return all.str();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_paragraph(bytes);
  if (bytes.find('\r') != std::string_view::npos) return 0;
  // Packed inputs begin otherwise.
  const std::string part = "app 7/9 [000] 1.0: 2 cycles:\n" + std::string(bytes);
  const std::string text = part + "\n\n" + part;
  std::string slow;
  for (const char c : text) (c == '\n' ? slow += '\r' : slow) += c;
  ReadOptions options;
  options.symbols = false;
  for (const bool more : {false, true}) {
    options.lines = options.pid = options.net = options.in_order = more;
    require(read(text, options) == read(slow, options), "another profile");
  }
  return 0;
}
