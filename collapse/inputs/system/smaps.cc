// SPDX-License-Identifier: BSD-2-Clause
// /proc/PID/smaps and smaps_rollup: the figures of each mapping of a process. A stack is the
// mapping's name and its permissions; a column is a kind of figures.
//
//   55ae336e5000-55ae336e7000 r--p 00000000 fe:00 247498                     /usr/bin/head
//   Size:                  8 kB
//   Rss:                   8 kB
//   …
//   VmFlags: rd mr mw me
#include <algorithm>
#include <array>

#include "collapse/inputs/maps_text.h"
#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr int64_t kb = 1024;

// Not memory of the mapping.
constexpr std::array<std::string_view, 5> other_keys{"KernelPageSize", "MMUPageSize", "THPeligible",
                                                     "ProtectionKey", "VmFlags"};

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

// "Private_Dirty" -> "private_dirty", "AnonHugePages" -> "anon_huge_pages".
std::string column_name(std::string_view key) {
  std::string name;
  for (size_t i = 0; i < key.size(); ++i) {
    if (i != 0 && is_capital(key[i]) && is_small(key[i - 1])) name += '_';
    name += is_capital(key[i]) ? static_cast<char>(key[i] - 'A' + 'a') : key[i];
  }
  return name;
}

class SmapsReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.meta.title = "smaps";
    profile.types = {{"rss", Unit::bytes}};
    each_line([&](std::string_view line) { take(line); });
    end_mapping();
    if (!whole) cut_off("its last line may be cut off");
    return finish("mapping with figures like 'Rss: 8 kB' below it");
  }

 private:
  void take(std::string_view line) {
    MapsRow row;
    if (maps_.take(line, row) == MapsText::Line::row) return begin(line, row);
    if (trimmed(line).empty()) return;
    const size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    if (colon == std::string_view::npos || !mapping_) return bad("not a figure of a mapping");
    if (std::find(other_keys.begin(), other_keys.end(), key) != other_keys.end()) return;
    std::string_view text = trimmed(line.substr(colon + 1));
    if (!text.ends_with(" kB")) return bad("not a number of kB");
    text.remove_suffix(3);
    const auto number = integer(trimmed(text));
    if (!number || *number < 0) return bad("not a number of kB");
    const size_t column = column_of(key);
    if (column == no_column) return bad("a kind of figures too many");
    values_.resize(profile.types.size());
    if (__builtin_mul_overflow(*number, kb, &values_[column]))
      throw Error("a number leaves the range of 64 bits");
  }

  void begin(std::string_view line, const MapsRow& row) {
    end_mapping();
    take_until(line, " ");
    const std::string_view permissions = take_until(line, " ");
    const bool is_file = row.path.starts_with('/');
    const StackId name = profile.push({}, row.path.empty() ? "[anonymous]" : row.path,
                                      FrameKind::user, is_file ? row.path : "");
    mapping_ = profile.push(name, permissions, FrameKind::user, is_file ? row.path : "");
  }

  // Kinds of figures come in the same order in every mapping. They are few, so that a short mapping
  // does not take much memory.
  size_t column_of(std::string_view key) {
    if (next_ == keys_.size() || keys_[next_].first != key) {
      next_ = 0;
      while (next_ < keys_.size() && keys_[next_].first != key) ++next_;
    }
    constexpr size_t most = 64;
    if (next_ == keys_.size()) {
      if (next_ == most) return no_column;
      const size_t column = key == "Rss" ? 0 : profile.add_column({column_name(key), Unit::bytes});
      keys_.emplace_back(key, column);
    }
    return keys_[next_++].second;
  }

  void end_mapping() {
    values_.resize(profile.types.size());
    if (mapping_) profile.add(mapping_, values_);
    mapping_ = {};
    std::fill(values_.begin(), values_.end(), 0);
  }

  MapsText maps_;
  StackId mapping_;
  std::vector<int64_t> values_;
  std::vector<std::pair<std::string, size_t>> keys_;  // and their columns, in their order
  size_t next_ = 0;                                   // in keys_: behind the last one found
};

}  // namespace

bool is_smaps(std::string_view head) {
  std::string_view line;
  MapsText maps;
  MapsRow row;
  if (!next_line(head, line) || maps.take(line, row) != MapsText::Line::row) return false;
  return next_line(head, line) && (line.starts_with("Size: ") || line.starts_with("Rss: ")) &&
         line.find(" kB") != std::string_view::npos;
}

Profile read_smaps(Source& source, const ReadOptions& options) {
  return SmapsReader(source, options).run();
}

}  // namespace memflame
