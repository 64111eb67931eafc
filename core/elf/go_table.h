// SPDX-License-Identifier: BSD-2-Clause
// The functions of a Go program, from its file.
#pragma once

#include <optional>
#include <vector>

#include "core/elf/image.h"
#include "core/go_lines.h"

namespace memflame {

struct GoTable {
  ImageRange bytes;                      // which the functions refer to
  std::optional<GoFunctions> functions;  // nothing in files without .gopclntab
};

GoTable go_table(const ImageBytes& image, const ElfImage& elf);

// The functions of a program with their lines. Both arguments must outlive it.
class GoProgram {
 public:
  GoProgram(const ImageBytes& image, const ElfImage& elf);
  GoProgram(const GoProgram&) = delete;
  GoProgram& operator=(const GoProgram&) = delete;

  // Null in files without .gopclntab.
  const GoFunctions* functions() const { return table_.functions ? &*table_.functions : nullptr; }
  // As GoLines; empty in files without .gopclntab.
  std::vector<GoLines::Frame> at(uint64_t address) const {
    return lines_ ? lines_->at(address) : std::vector<GoLines::Frame>();
  }

 private:
  GoTable table_;
  GoFunctions::ReadCode read_;
  std::optional<GoLines> lines_;
};

}  // namespace memflame
