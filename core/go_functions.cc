// SPDX-License-Identifier: BSD-2-Clause
#include "core/go_functions.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace memflame {
namespace {

constexpr uint32_t form_1_2 = 0xfffffffb, form_1_16 = 0xfffffffa, form_1_18 = 0xfffffff0,
                   form_1_20 = go_form_1_20;
constexpr size_t longest_name = 4096;

// runtime.goexit, the return address of every goroutine's first function: nop; call
// runtime.goexit1; nop
constexpr size_t goexit_size = 7;
constexpr std::byte nop{0x90}, call{0xe8};

}  // namespace

template <class T>
std::optional<T> GoFunctions::number(uint64_t at) const {
  if (at > table_.size() || table_.size() - at < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, table_.data() + at, sizeof value);
  return value;
}

GoFunctions::GoFunctions(std::span<const std::byte> table, uint64_t text, const ReadCode& read)
    : table_(table) {
  const std::optional<Layout> found = read_layout();
  if (!found) return;
  layout_ = *found;
  for (const uint64_t from : {layout_.text, text}) {
    functions_ = read_functions(layout_, layout_.wide ? 0 : from);
    if (has_goexit(read)) return;
    functions_.clear();
  }
}

std::optional<GoFunctions::Layout> GoFunctions::read_layout() const {
  constexpr uint64_t header = 8;  // the form, two zeros, the quantum, the size of a pointer
  const auto magic = number<uint32_t>(0);
  if (!magic || number<uint32_t>(4) != 0x08010000U) return std::nullopt;
  const auto word = [&](uint64_t i) {
    return number<uint64_t>(header + 8 * i).value_or(UINT64_MAX);
  };
  Layout found;
  found.count = word(0);
  found.wide = *magic == form_1_2 || *magic == form_1_16;
  if (*magic == form_1_2) {
    found.functions = header + 8;
  } else if (*magic == form_1_16) {
    found.has_header = true;
    found.names = word(2);
    found.depths = word(5);
    found.functions = word(6);
  } else if (*magic == form_1_18 || *magic == form_1_20) {
    found.has_header = found.has_lines = true;
    found.has_first_line = *magic == form_1_20;
    found.text = word(2);
    found.names = word(3);
    found.units = word(4);
    found.files = word(5);
    found.depths = word(6);
    found.functions = word(7);
  } else {
    return std::nullopt;
  }
  if (std::max({found.names, found.units, found.files, found.depths, found.functions}) >
      table_.size())
    return std::nullopt;
  if (found.count > table_.size() / (found.wide ? 16 : 8)) return std::nullopt;
  return found;
}

// The table has pairs: a start address, and the offset of the description. An end address follows
// the last pair.
std::vector<GoFunctions::Function> GoFunctions::read_functions(const Layout& layout,
                                                               uint64_t text) const {
  const uint64_t size = layout.wide ? 8 : 4;
  const uint64_t infos = layout.has_header ? layout.functions : 0;
  const auto entry = [&](uint64_t i) -> std::optional<uint64_t> {
    const uint64_t at = layout.functions + i * size;
    if (layout.wide) return number<uint64_t>(at);
    const std::optional<uint32_t> value = number<uint32_t>(at);
    return value ? std::optional<uint64_t>(*value) : std::nullopt;
  };
  std::vector<Function> found;
  for (uint64_t i = 0; i < layout.count; ++i) {
    const auto start = entry(2 * i), info = entry(2 * i + 1), end = entry(2 * i + 2);
    if (!start || !info || !end || *info > table_.size()) return {};
    if (*end < *start) return {};
    if (*end > *start) found.push_back({text + *start, text + *end, infos + *info});
  }
  return found;
}

bool GoFunctions::has_goexit(const ReadCode& read) const {
  std::optional<uint64_t> goexit, target;
  for (const Function& function : functions_) {
    const std::string_view text = name(function);
    if (text == "runtime.goexit") goexit = function.start;
    if (text == "runtime.goexit1") target = function.start;
  }
  if (!goexit || !target) return false;
  std::array<std::byte, goexit_size> code{};
  if (!read(*goexit, code) || code[0] != nop || code[1] != call || code[6] != nop) return false;
  int32_t distance = 0;
  std::memcpy(&distance, code.data() + 2, sizeof distance);
  return *goexit + 6 + static_cast<uint64_t>(int64_t{distance}) == *target;
}

const GoFunctions::Function* GoFunctions::find(uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](uint64_t at, const Function& function) { return at < function.start; });
  if (after == functions_.begin() || address >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

std::string_view GoFunctions::name(const Function& function) const {
  const auto offset = number<uint32_t>(function.info + (layout_.wide ? 8 : 4));
  const uint64_t at = layout_.names + offset.value_or(UINT32_MAX);
  if (!offset || at >= table_.size()) return {};
  const auto* text = reinterpret_cast<const char*>(table_.data() + at);
  const size_t most = std::min<uint64_t>(table_.size() - at, longest_name);
  const size_t size = ::strnlen(text, most);
  return size == most ? std::string_view{} : std::string_view(text, size);
}

// Seven bits per byte, the lowest first.
bool GoFunctions::take_number(uint64_t& at, uint32_t& value) const {
  value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (at >= table_.size()) return false;
    const auto byte = std::to_integer<uint32_t>(table_[at++]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// The table has pairs: the change of the depth, and for how many bytes of code the new depth holds.
std::vector<GoFunctions::Depth> GoFunctions::depths(const Function& function) const {
  const auto offset = number<uint32_t>(function.info + (layout_.wide ? 20 : 16));
  uint64_t at = layout_.depths + offset.value_or(0);
  std::vector<Depth> found;
  int64_t depth = -1;
  for (uint64_t start = function.start; offset.value_or(0) != 0 && start < function.end;) {
    uint32_t change = 0, size = 0;
    if (!take_number(at, change)) return {};
    if (change == 0 && !found.empty()) break;  // what is left is padding
    if (!take_number(at, size) || size == 0) return {};
    depth += (change & 1) != 0 ? -int64_t{change >> 1} - 1 : int64_t{change >> 1};
    if (depth < 0 || depth > INT32_MAX) return {};
    found.push_back({start, static_cast<uint32_t>(depth)});
    start += size;
  }
  return found;
}

}  // namespace memflame
