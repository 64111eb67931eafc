// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/maps_text.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include "collapse/inputs/scan.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr size_t max_values = 16;  // "name=value" lines; in practice there is at most one
constexpr size_t max_path = 4096;

constexpr ByteSet permission_bytes = byte_set("-rwxsp");
constexpr ByteSet name_bytes =
    byte_set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

bool is_permissions(std::string_view text) {
  return text.size() == 4 && all_in(text, permission_bytes);
}

std::string_view word(Scan& scan) {
  scan.blanks();
  const std::string_view found = scan.rest.substr(0, first_in(scan.rest, blank_bytes));
  scan.rest.remove_prefix(found.size());
  return found;
}

// "offset device inode path" after the permissions.
bool take_proc_fields(Scan& scan, MapsRow& row) {
  uint64_t major = 0;
  uint64_t minor = 0;
  scan.blanks();
  if (!scan.hex(row.offset)) return false;
  scan.blanks();
  if (!scan.hex(major) || !scan.literal(":") || !scan.hex(minor)) return false;
  row.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  scan.blanks();
  row.has_inode = scan.small_number(row.inode);
  return row.has_inode;
}

}  // namespace

MapsText::Line MapsText::take(std::string_view line, MapsRow& row) {
  Scan scan{line};
  scan.blanks();
  if (scan.rest.empty() || scan.rest.front() == '#') return Line::nothing;
  row = {};
  if (!scan.hex(row.start) || !scan.literal("-") || !scan.hex(row.end)) {
    const size_t equals = scan.rest.find('=');
    Scan again{line};
    again.blanks();
    const std::string_view name = again.rest.substr(0, again.rest.find('='));
    if (equals == std::string_view::npos || !all_in(name, name_bytes)) return Line::damaged;
    if (values_.size() < max_values && again.rest.size() < max_path)
      values_.emplace_back(name, again.rest.substr(name.size() + 1));
    return Line::nothing;
  }
  if (row.start >= row.end) return Line::damaged;
  const bool brief = scan.literal(":");
  Scan ahead = scan;
  const std::string_view permissions = word(ahead);
  if (is_permissions(permissions)) {
    scan = ahead;
    row.executable = permissions[2] == 'x';
    if (!take_proc_fields(scan, row)) return Line::damaged;
  } else if (!brief) {
    return Line::damaged;
  }
  scan.blanks();
  std::string_view path = scan.rest.substr(0, max_path);
  path = path.substr(0, behind_last_not_in(path, blank_bytes));
  // "/lib/libc.so.6 (@1000)": some tools write the offset like this
  if (const size_t at = path.rfind(" (@"); brief && at != std::string_view::npos) {
    Scan offset{path.substr(at + 3)};
    if (offset.hex(row.offset) && offset.rest == ")") path = path.substr(0, at);
  }
  row.path = with_values(path);
  return Line::row;
}

std::string MapsText::with_values(std::string_view text) const {
  if (!text.starts_with('$')) return std::string(text);
  for (const auto& [name, value] : values_)
    if (text.substr(1).starts_with(name)) return value + std::string(text.substr(1 + name.size()));
  return std::string(text);
}

}  // namespace memflame
