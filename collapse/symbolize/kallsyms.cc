// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/kallsyms.h"

#include <fstream>
#include <iterator>

#include "collapse/symbolize/text.h"

namespace memflame {
namespace {

// kallsyms gives no sizes. The last function of a module is followed by whatever comes next in
// memory, so an address further than this behind a name does not belong to it.
constexpr uint64_t max_function = uint64_t{1} << 20;

}  // namespace

Kallsyms::Kallsyms(std::string text) : text_(std::move(text)) {
  std::vector<SymbolEntry> entries;
  std::string_view rest = text_, line;
  while (next_line(rest, line)) {
    uint64_t address = 0;
    if (!take_hex(line, address) || address == 0) continue;
    if (line.size() < 3 || line[1] != ' ') continue;
    const char type = line[0];
    line.remove_prefix(2);
    const std::string_view name = line.substr(0, line.find('\t'));
    if (name.empty() || entries.size() == UINT32_MAX) continue;
    // Data symbols end the function before them but name no code; per-CPU offsets (type 'a'/'A')
    // are not addresses at all.
    if (type == 'a' || type == 'A') continue;
    const bool code = type == 't' || type == 'T' || type == 'w' || type == 'W';
    uint64_t limit = 0;
    if (__builtin_add_overflow(address, max_function, &limit)) limit = UINT64_MAX;
    entries.push_back(
        {.start = address, .limit = limit, .name = name, .function = code, .local = type == 't'});
  }
  table_ = SymbolTable(std::move(entries));
}

Kallsyms::Name Kallsyms::find(uint64_t address) const {
  const SymbolEntry* entry = table_.find(address);
  if (entry == nullptr || !entry->function) return {};
  // The name is a view into text_; what stands behind it on its line is the module.
  std::string_view behind = text_;
  behind.remove_prefix(static_cast<size_t>(entry->name.data() - text_.data()) + entry->name.size());
  behind = behind.substr(0, behind.find_first_of("\r\n"));
  if (!behind.starts_with("\t[") || !behind.ends_with(']')) return {entry->name, "kernel"};
  return {entry->name, behind.substr(1)};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace memflame
