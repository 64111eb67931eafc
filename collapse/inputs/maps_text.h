// SPDX-License-Identifier: BSD-2-Clause
// Lists of mappings as profiles hold them: lines of /proc/PID/maps, and the shorter ones that pprof
// accepts:
//
//   7f47a4b73000-7f47a4d21000 r-xp 00026000 fe:00 1574  /lib/libc.so.6
//     source=/srv/app
//   00400000-00fcb000: $source/server
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memflame {

struct MapsRow {
  uint64_t start = 0, end = 0, offset = 0;
  uint64_t device = 0, inode = 0;
  bool executable = true;
  bool has_inode = false;  // false for short lines: only the file's name is known
  std::string path;        // with " (deleted)", "" if anonymous
};

class MapsText {
 public:
  enum class Line : uint8_t { row, nothing, damaged };

  // Takes one line; `row` is set for Line::row only. Lines like "source=/srv/app" define $source
  // for later ones.
  Line take(std::string_view line, MapsRow& row);

 private:
  std::string with_values(std::string_view text) const;

  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace memflame
