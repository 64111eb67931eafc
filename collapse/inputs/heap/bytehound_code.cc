// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/bytehound_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "collapse/inputs/text_frame.h"
#include "core/elf/build_id.h"
#include "core/error.h"
#include "core/interner.h"

namespace memflame {
namespace {

constexpr std::string_view maps_path = "/proc/self/maps", elf_magic =
                                                              "\x7f"
                                                              "ELF";

bool is_tool(std::string_view path) {
  return path.find("libbytehound") != std::string_view::npos ||
         path.find("libmemory_profiler") != std::string_view::npos;
}

void append(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) throw Error("cannot copy a file of the recording into memory");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void BytehoundCode::take_file(const std::string& path, uint64_t size, BytehoundBytes& bytes) {
  if (path == maps_path) {
    if (size > longest_list) throw Error("a list of mappings is longer than 64 MiB");
    std::string text;
    while (text.size() < size) text += bytes.some(size - text.size());
    return take_list(text);
  }
  copy(path, size, bytes);
}

void BytehoundCode::copy(const std::string& path, uint64_t size, BytehoundBytes& bytes) {
  std::string begin;
  while (begin.size() < std::min<uint64_t>(size, elf_magic.size()))
    begin += bytes.some(std::min<uint64_t>(size, elf_magic.size()) - begin.size());
  const bool is_elf = begin == elf_magic;
  if (is_elf && size > most_copied - copied_) ++files_left_out_;
  if (!is_elf || size > most_copied - copied_) return bytes.skip(size - begin.size());
  copied_ += size;
  SharedFd file(::memfd_create("bytehound", MFD_CLOEXEC));
  if (file.get() < 0) throw Error("cannot copy a file of the recording into memory");
  append(file.get(), begin);
  for (uint64_t left = size - begin.size(); left != 0;) {
    const std::string_view part = bytes.some(left);
    append(file.get(), part);
    left -= part.size();
  }
  copies_[path] = file;
  for (Module& module : recording_.modules)
    if (module.path == path && module.file.get() < 0) use(module, file);
}

void BytehoundCode::use(Module& module, const SharedFd& file) {
  module.file = file;
  module.build_id = build_id_of(file.get());
}

void BytehoundCode::take_list(std::string_view text) {
  ++list_;
  tool_.clear();
  MapsText lines;
  std::map<uint64_t, size_t> mapped;
  for (std::string_view line; next_line(text, line);) {
    MapsRow row;
    const MapsText::Line found = lines.take(line, row);
    if (found == MapsText::Line::damaged) ++damaged_lines_;
    if (found != MapsText::Line::row || !row.executable || row.path == "[vsyscall]") continue;
    if (is_tool(row.path)) tool_[row.start] = row.end;
    map(row, mapped);
  }
  // What is left was unmapped since the list before.
  for (const auto& [start, index] : mapped_)
    recording_.spaces[space_.index].mappings[index].until_ns = list_;
  mapped_ = std::move(mapped);
}

void BytehoundCode::map(const MapsRow& row, std::map<uint64_t, size_t>& mapped) {
  std::vector<Mapping>& mappings = recording_.spaces[space_.index].mappings;
  const ModuleId module = module_of(row);
  const auto known = mapped_.find(row.start);
  if (known != mapped_.end()) {
    const Mapping& old = mappings[known->second];
    if (old.end == row.end && old.offset == row.offset && old.module == module) {
      mapped.insert(*known);
      mapped_.erase(known);
      return;
    }
  }
  if (mappings.size() == most_mappings) throw Error("it has more than 2^20 mappings of code");
  // Lists are in the order of addresses. One that overlaps cannot be right.
  if (!mapped.empty() && mappings[mapped.rbegin()->second].end > row.start) {
    ++damaged_lines_;
    return;
  }
  mapped[row.start] = mappings.size();
  mappings.push_back({.start = row.start,
                      .end = row.end,
                      .offset = row.offset,
                      .module = module,
                      .from_ns = list_});
}

ModuleId BytehoundCode::module_of(const MapsRow& row) {
  const auto [known, added] = modules_.try_emplace({row.path, row.inode});
  if (!added) return known->second;
  known->second = ModuleId{next_index(recording_.modules.size())};
  Module& module = recording_.modules.emplace_back();
  module.path = row.path;
  module.kind =
      row.path.starts_with('/') || row.path == "[vdso]" ? ModuleKind::file : ModuleKind::anonymous;
  module.device = row.device;
  module.inode = row.inode;
  module.any_inode = !row.has_inode;
  module.unchanged_since_ns = unchanged_since_ns_;
  if (const auto copy = copies_.find(row.path); copy != copies_.end()) use(module, copy->second);
  return known->second;
}

bool BytehoundCode::is_of_tool(uint64_t address) const {
  auto next = tool_.upper_bound(address);
  return next != tool_.begin() && address <= (--next)->second;
}

}  // namespace memflame
