// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/php/program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/elf/image.h"
#include "core/elf/symbols.h"
#include "probes/unwind/eh_frame.h"
#include "probes/unwind/frame_sections.h"

namespace memflame {
namespace {

constexpr const char* only_known = "functions of PHP 8.1 to 8.4 are read";

struct PhpRange {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return address - begin < end - begin; }
};

// What an extension has to be built for, as the interpreter compares it: "API20220829,NTS".
std::string build_of(const ImageBytes& image, const ElfImage& elf) {
  constexpr std::string_view beginning = "API20";
  constexpr size_t most = 40;
  const Elf64_Shdr* constants = elf.section(".rodata");
  if (constants == nullptr) return {};
  const ImageRange bytes = raw_section_bytes(image, *constants);
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()),
                              bytes.bytes.size());
  for (size_t at = text.find(beginning); at != std::string_view::npos;
       at = text.find(beginning, at + 1)) {
    const std::string_view found = text.substr(at, most);
    const size_t end = found.find('\0');
    if (end != std::string_view::npos && found.find(',') == 11)
      return std::string(found.substr(0, end));
  }
  return {};
}

// A version, by its number of the interface for extensions.
struct PhpVersion {
  std::string_view number, name;
  const bpf::php_offsets* offsets = nullptr;  // none: its functions are not read
};

PhpVersion version_of(std::string_view build) {
  static constexpr std::array<PhpVersion, 8> versions{{
      {"20180731", "7.3"},
      {"20190902", "7.4"},
      {"20200930", "8.0"},
      {"20210902", "8.1", &bpf::php_8_1},
      {"20220829", "8.2", &bpf::php_8_2},
      {"20230831", "8.3", &bpf::php_8_3},
      {"20240924", "8.4", &bpf::php_8_4},
      {"20250925", "8.5"},
  }};
  const std::string_view number = build.substr(std::min<size_t>(3, build.size()), 8);
  const auto* found = std::ranges::find(versions, number, &PhpVersion::number);
  return found != versions.end() ? *found : PhpVersion{number, "of another version"};
}

// The compiler may split rare code off the loop, which the loop jumps to: into the middle of what
// the unwind data says is another function. Other functions are only jumped to at their beginning.
PhpRange cold_part(const ImageBytes& image, const ElfImage& elf, Bytes code, const PhpRange& loop) {
  constexpr size_t few = 8;  // places that bytes may look like a jump to by chance
  const unwind::FoundFrames found = unwind::find_frames(image, elf, false);
  unwind::Frames frames;
  if (!found.section.bytes.empty()) unwind::read_frames(found.section, frames);
  std::ranges::sort(frames.fdes, {}, &unwind::Fde::start);
  const auto byte = [&](size_t at) { return std::to_integer<uint8_t>(code[at]); };
  std::map<uint64_t, std::set<uint64_t>> places;  // by the beginning of the function they are in
  std::map<uint64_t, uint64_t> ends;
  for (size_t at = 1; at + 5 <= code.size(); ++at) {
    const bool on_condition = byte(at - 1) == 0x0f && (byte(at) & 0xf0U) == 0x80;
    if (!on_condition && byte(at) != 0xe9) continue;
    int32_t distance = 0;
    std::memcpy(&distance, code.data() + at + 1, sizeof(distance));
    const uint64_t to = loop.begin + at + 5 + static_cast<uint64_t>(int64_t{distance});
    if (loop.has(to)) continue;
    const auto next = std::ranges::upper_bound(frames.fdes, to, {}, &unwind::Fde::start);
    if (next == frames.fdes.begin()) continue;
    const unwind::Fde& function = *std::prev(next);
    if (to == function.start || to - function.start >= function.size) continue;
    places[function.start].insert(to);
    ends[function.start] = function.start + function.size;
  }
  PhpRange cold;
  size_t most = few;
  for (const auto& [begin, all] : places)
    if (all.size() > most) {
      most = all.size();
      cold = {begin, ends[begin]};
    }
  return cold;
}

std::string find_loop(const ImageBytes& image, const ElfImage& elf, const PhpRange& loop,
                      PhpProgram& program) {
  constexpr uint64_t most = 1 << 20;
  const ImageRange code = code_at(image, elf, loop.begin, std::min(loop.end - loop.begin, most));
  if (code.bytes.size() != loop.end - loop.begin) return "the interpreter's loop cannot be found";
  program.delta = code_delta(elf);
  const PhpRange cold = cold_part(image, elf, code.bytes, loop);
  bpf::php_layout& layout = program.layout;
  layout.loop_begin = loop.begin;
  layout.loop_end = loop.end;
  layout.cold_begin = cold.begin;
  layout.cold_end = cold.end;
  return {};
}

}  // namespace

std::optional<PhpProgram> php_in(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  PhpRange loop, globals;
  uint64_t begin_request = 0;
  bool has_other_globals = false;
  for_each_symbol(image, *elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const std::string_view name = table.name(symbol);
    const PhpRange range{symbol.st_value, symbol.st_value + symbol.st_size};
    if (name == "execute_ex") loop = range;
    if (name == "executor_globals") globals = range;
    if (name == "php_request_startup") begin_request = symbol.st_value;
    if (name == "executor_globals_offset" || name == "executor_globals_id")
      has_other_globals = true;
  });
  if (loop.begin == 0 || (globals.begin == 0 && !has_other_globals)) return std::nullopt;
  PhpProgram program;
  const std::string build = build_of(image, *elf);
  const PhpVersion version = version_of(build);
  program.version = version.name;
  if (version.offsets == nullptr) {
    program.problem = only_known;
  } else if (build.find(",NTS") == std::string::npos || globals.begin == 0) {
    program.problem = "it is a build for threads (ZTS)";
  } else if (build.find("debug") != std::string::npos ||
             globals.end - globals.begin != version.offsets->globals_bytes) {
    program.problem = "its globals are not like those of known builds";
  } else {
    program.globals = globals.begin;
    program.problem = find_loop(image, *elf, loop, program);
    program.layout.offsets = *version.offsets;
    if (begin_request != 0) program.begin_request = begin_request - program.delta;
  }
  return program;
}

}  // namespace memflame
