// SPDX-License-Identifier: BSD-2-Clause
// .gopclntab of watched programs. All code belongs to runtime.goexit, and the last four bytes are
// the call's target.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/go_lines.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto read = [&](uint64_t, std::span<std::byte> to) {
    std::array<std::byte, 7> code{std::byte{0x90}, std::byte{0xe8}};
    std::ranges::copy(bytes.last(4), code.begin() + 2);
    code[6] = std::byte{0x90};
    if (to.size() != code.size()) return false;
    std::ranges::copy(code, to.begin());
    return true;
  };
  const GoFunctions go(bytes.first(size - 4), 0x401000, read);
  // The trees of inlined calls are the table itself, again.
  const GoFunctions::ReadCode trees = [&](uint64_t address, std::span<std::byte> to) {
    if (address < 1 || address > size || size - address < to.size()) return false;
    std::ranges::copy(bytes.subspan(address, to.size()), to.begin());
    return true;
  };
  const GoLines lines(go, trees, 1);
  size_t looked = 0;
  uint64_t end = 0;
  for (const GoFunctions::Function& function : go.functions()) {
    if (function.end <= function.start) std::abort();
    if (end != 0 && function.start < end) std::abort();
    end = function.end;
    if (go.name(function).size() > size) std::abort();
    if (++looked < 64)
      for (const GoLines::Frame& frame : lines.at((function.start + function.end) / 2))
        if (frame.function.size() > size || frame.file.size() > size) std::abort();
    uint64_t last = 0;
    for (const GoFunctions::Depth& depth : go.depths(function)) {
      if (depth.start < function.start || depth.start >= function.end || depth.start < last)
        std::abort();
      last = depth.start + 1;
    }
  }
  return 0;
}
