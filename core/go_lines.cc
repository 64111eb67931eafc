// SPDX-License-Identifier: BSD-2-Clause
#include "core/go_lines.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace memflame {
namespace {

// Where a function's description has what, in bytes.
constexpr uint64_t files_at = 20, lines_at = 24, table_count_at = 28, unit_at = 32;
constexpr uint64_t tree_table = 2;  // number of the table that says which inlined call code is of
constexpr uint64_t tree_data = 3;   // number of the datum that is the tree of these calls

constexpr size_t deepest = 64;  // of inlined calls
constexpr int longest_list = 1 << 17;
constexpr size_t longest_text = 4096;

template <class T>
std::optional<T> number_at(std::span<const std::byte> bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint64_t description_size(bool has_first_line) { return has_first_line ? 44 : 40; }

}  // namespace

// The list has pairs: the change of the value, and for how many bytes of code the new value holds.
std::optional<int32_t> GoLines::value(const Function& function, uint64_t table,
                                      uint64_t address) const {
  uint64_t at = functions_.layout().depths + table, code = function.start;
  uint32_t result = UINT32_MAX;
  for (int i = 0; table != 0 && i < longest_list && code <= address; ++i) {
    uint32_t change = 0, size = 0;
    if (!functions_.take_number(at, change) || (change == 0 && i != 0)) break;
    if (!functions_.take_number(at, size) || size == 0) break;
    result += (change & 1) != 0 ? ~(change >> 1) : change >> 1;
    code += size;
    if (code > address) return static_cast<int32_t>(result);
  }
  return std::nullopt;
}

std::string_view GoLines::text(uint64_t from, uint64_t offset) const {
  const std::span<const std::byte> table = functions_.table();
  const uint64_t at = from + offset;
  if (at >= table.size() || at < from) return {};
  const auto* begin = reinterpret_cast<const char*>(table.data() + at);
  const size_t most = std::min<uint64_t>(table.size() - at, longest_text);
  const size_t size = ::strnlen(begin, most);
  return size == most ? std::string_view{} : std::string_view(begin, size);
}

GoLines::Frame GoLines::frame(const Function& function, uint64_t address) const {
  const auto& layout = functions_.layout();
  const std::span<const std::byte> table = functions_.table();
  Frame found;
  found.address = address;
  const auto files = number_at<uint32_t>(table, function.info + files_at);
  const auto lines = number_at<uint32_t>(table, function.info + lines_at);
  const auto unit = number_at<uint32_t>(table, function.info + unit_at);
  if (!files || !lines || !unit) return found;
  if (const auto line = value(function, *lines, address); line && *line > 0)
    found.line = static_cast<uint32_t>(*line);
  const auto file = value(function, *files, address);
  if (!file || *file < 0) return found;
  const auto name = number_at<uint32_t>(
      table, layout.units + 4 * (uint64_t{*unit} + static_cast<uint32_t>(*file)));
  if (name && *name != UINT32_MAX) found.file = text(layout.files, *name);
  return found;
}

// The address of the function's tree of inlined calls; none if it has none.
std::optional<uint64_t> GoLines::tree(const Function& function) const {
  const std::span<const std::byte> table = functions_.table();
  const uint64_t size = description_size(functions_.layout().has_first_line);
  const auto tables = number_at<uint32_t>(table, function.info + table_count_at);
  const auto count = number_at<uint8_t>(table, function.info + size - 1);
  if (inlined_ == 0 || !tables || !count || *count <= tree_data) return std::nullopt;
  const auto offset =
      number_at<uint32_t>(table, function.info + size + 4 * (uint64_t{*tables} + tree_data));
  if (!offset || *offset == UINT32_MAX) return std::nullopt;
  return inlined_ + *offset;
}

std::optional<int32_t> GoLines::place_in_tree(const Function& function, uint64_t address) const {
  const std::span<const std::byte> table = functions_.table();
  const uint64_t size = description_size(functions_.layout().has_first_line);
  const auto tables = number_at<uint32_t>(table, function.info + table_count_at);
  if (!tables || *tables <= tree_table) return std::nullopt;
  const auto list = number_at<uint32_t>(table, function.info + size + 4 * tree_table);
  return list ? value(function, *list, address) : std::nullopt;
}

std::vector<GoLines::Frame> GoLines::at(uint64_t address) const {
  const Function* function = functions_.find(address);
  if (function == nullptr) return {};
  const auto& layout = functions_.layout();
  std::vector<Frame> frames;
  if (!layout.has_lines) {
    frames.push_back({functions_.name(*function), {}, 0, address});
    return frames;
  }
  // A call that was inlined: the name's place and the address of the call, among others.
  const uint64_t size = layout.has_first_line ? 16 : 20;
  const uint64_t name_at = layout.has_first_line ? 4 : 12, call_at = layout.has_first_line ? 8 : 16;
  const std::optional<uint64_t> calls = tree(*function);
  while (calls && frames.size() < deepest) {
    const auto place = place_in_tree(*function, address);
    if (!place || *place < 0) break;
    std::array<std::byte, 20> call{};
    const std::span<std::byte> bytes = std::span(call).first(size);
    if (!read_(*calls + static_cast<uint64_t>(*place) * size, bytes)) break;
    const auto name = number_at<uint32_t>(bytes, name_at),
               from = number_at<uint32_t>(bytes, call_at);
    if (!name || !from || *from >= function->end - function->start) break;
    frames.push_back(frame(*function, address));
    frames.back().function = text(layout.names, *name);
    address = function->start + *from;
  }
  frames.push_back(frame(*function, address));
  frames.back().function = functions_.name(*function);
  return frames;
}

}  // namespace memflame
