// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for compressed inputs: every way of reading gives the same text, and lines and blocks
// are all of it. The last byte chooses the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "collapse/text/blocks.h"
#include "collapse/text/lines.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t enough = size_t{4} << 20U;  // of what unpacks to gigabytes

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "unpack_fuzz: " << what << "\n";
  std::abort();
}

// Nothing if the input is damaged.
std::optional<std::string> text_of(const std::string& bytes, size_t piece) {
  try {
    Source source = Source::of_memory(bytes);
    std::string text;
    while (text.size() < enough) {
      const size_t known = text.size();
      const size_t wanted = std::min(piece, enough - known);
      text.resize(known + wanted);
      const size_t got = source.read(&text[known], wanted);
      text.resize(known + got);
      if (got < wanted) break;
    }
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string lines_of(const std::string& bytes) {
  Source source = Source::of_memory(bytes);
  Lines lines(source);
  std::string text;
  while (lines.next()) {
    require(lines.line().find('\n') == std::string_view::npos, "a line feed in a line");
    text.append(lines.line()).append(lines.ended() ? "\n" : "");
  }
  return text;
}

std::string blocks_of(const std::string& bytes, BlockCut cut, size_t size) {
  Source source = Source::of_memory(bytes);
  Blocks blocks(source, cut, size);
  BlockBuffer buffer;
  std::string text;
  for (InputBlock block; blocks.next(buffer, block);) {
    require(!block.text.empty(), "an empty block");
    text.append(block.text);
  }
  return text;
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size - 1);
  const size_t piece = size_t{data[size - 1]} + 1;
  const std::optional<std::string> whole = text_of(bytes, enough);
  require(whole == text_of(bytes, piece), "other text in pieces");
  if (!whole || whole->size() >= enough) return 0;
  require(blocks_of(bytes, whole_lines, piece) == *whole, "blocks of lines are not the text");
  require(blocks_of(bytes, whole_paragraphs, piece) == *whole, "blocks are not the text");
  if (whole->find('\r') == std::string::npos)
    require(lines_of(bytes) == *whole, "lines are not the text");
  return 0;
}
