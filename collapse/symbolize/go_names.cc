// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/go_names.h"

namespace memflame {

std::vector<Symbol> GoNames::find(uint64_t address) const {
  std::vector<Symbol> symbols;
  const std::vector<GoLines::Frame> frames = program_.at(address);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    symbols.push_back({.function = std::string(frame->function),
                       .file = std::string(frame->file),
                       .line = frame->file.empty() ? 0 : frame->line,
                       .kind = symbols.empty() ? FrameKind::user : FrameKind::inlined,
                       .module = {}});
  if (!symbols.empty() && symbols.front().function.empty()) symbols.clear();
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.function.empty(); });
  return symbols;
}

}  // namespace memflame
