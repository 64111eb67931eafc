// SPDX-License-Identifier: BSD-2-Clause
// Scanning, compared with what is simple: the first paragraph of any text, the fields of its lines,
// folded lines in any order, and samples of perf script that come again. Lines that end in "\r\n"
// are always read one by one, so such a text must give the same profile.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "collapse/input.h"
#include "core/error.h"
#include "core/scan.h"
#include "core/scan_fields.h"

namespace memflame {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "scan_fuzz: " << what << "\n";
  std::abort();
}

void check_paragraph(std::string_view text) {
  const Paragraph found = first_paragraph(text), slow = first_paragraph_by_bytes(text);
  require(found.ended == slow.ended, "a paragraph without an end");
  require(found.size == slow.size, "another end");
  require(found.lines == slow.lines, "another number of lines");
  require(found.hash == slow.hash, "another hash");
  const Paragraph sse2 = first_paragraph_by(scan_chunks_sse2, text);
  require(found.size == sse2.size && found.hash == sse2.hash, "another result with SSE2");
}

void check_fields(std::string_view text) {
  FieldScanner scanner(';');
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = scanner.line_end(text, begin);
    require(end == std::min(text.find('\n', begin), text.size()), "another end of a line");
    size_t at = begin;
    for (const size_t place : scanner.separators()) {
      require(text.find(';', at) == place && place < end, "another separator");
      at = place + 1;
    }
    require(text.substr(0, end).find(';', at) == std::string_view::npos, "a separator is missing");
    begin = end + 1;
  }
}

// Folded lines once more, from the last to the first: the sums of all stacks double, and no stack
// is added.
void check_order(std::string_view text) {
  std::string reversed;
  for (size_t end = text.size(); end > 0;) {
    const size_t feed = text.rfind('\n', end - 1);
    const size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
    reversed.append(text.substr(begin, end - begin)).append("\n");
    end = feed == std::string_view::npos ? 0 : feed;
  }
  ReadOptions options;
  options.columns = 1;
  std::string first(text);
  if (!first.ends_with('\n')) first += '\n';
  try {
    Source once = Source::of_memory("a 1\n" + first);
    const Profile expected = read_profile(once, "folded", options);
    Source twice = Source::of_memory("a 1\n" + first + reversed);
    const Profile found = read_profile(twice, "folded", options);
    require(found.stacks.size() == expected.stacks.size(), "another number of stacks");
    require(found.touched().size() == expected.touched().size(), "another number of sums");
  } catch (const Error&) {  // a sum may leave 64 bits
  }
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
  check_fields(bytes);
  check_order(bytes);
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
