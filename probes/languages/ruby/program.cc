// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/ruby/program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/elf/image.h"
#include "core/elf/symbols.h"
#include "probes/languages/instruction_bytes.h"
#include "probes/unwind/eh_frame.h"
#include "probes/unwind/frame_sections.h"

namespace memflame {
namespace {

constexpr const char* other_build = "its code is not like that of known builds";

constexpr bpf::ruby_layout layout_3_1{.loop_begin = 0,
                                      .loop_end = 0,
                                      .core_begin = 0,
                                      .core_end = 0,
                                      .frame_bytes = 64,
                                      .tag_previous = 0x38,
                                      .tag_place = 0x18,
                                      .tag_is_guarded = 0,
                                      .body_lines = 120,
                                      .text_has_length = 0,
                                      .first_line_is_object = 1,
                                      .pad = 0};

constexpr bpf::ruby_layout layout_3_2() {
  bpf::ruby_layout layout = layout_3_1;
  layout.body_lines = 112;
  layout.text_has_length = 1;
  layout.first_line_is_object = 0;
  return layout;
}

constexpr bpf::ruby_layout layout_3_3() {
  bpf::ruby_layout layout = layout_3_2();
  layout.frame_bytes = 56;
  return layout;
}

struct RubyVersion {
  unsigned minor = 0;  // 3.minor
  // Where rb_errinfo() finds the exception in a thread's state, which tells whether the state is
  // laid out as in known builds.
  uint8_t error = 0;
  bpf::ruby_layout layout{};
};
// By Debian's 3.1 and 3.3, and by builds of 3.2.0 and 3.4.9.
constexpr std::array ruby_versions{
    RubyVersion{.minor = 1, .error = 0x70, .layout = layout_3_1},
    RubyVersion{.minor = 2, .error = 0x78, .layout = layout_3_2()},
    RubyVersion{.minor = 3, .error = 0x78, .layout = layout_3_3()},
    RubyVersion{.minor = 4, .error = 0x70, .layout = layout_3_3()},
};

const RubyVersion* find_ruby_version(unsigned minor) {
  const auto found = std::ranges::find(ruby_versions, minor, &RubyVersion::minor);
  return found == ruby_versions.end() ? nullptr : &*found;
}

struct RubyRange {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return address - begin < end - begin; }
  friend bool operator==(const RubyRange&, const RubyRange&) = default;
};

// Functions by the unwind data, sorted.
std::vector<RubyRange> functions_in(const ImageBytes& image, const ElfImage& elf) {
  const unwind::FoundFrames found = unwind::find_frames(image, elf, false);
  unwind::Frames frames;
  if (!found.section.bytes.empty()) unwind::read_frames(found.section, frames);
  std::vector<RubyRange> functions;
  functions.reserve(frames.fdes.size());
  for (const unwind::Fde& fde : frames.fdes)
    if (fde.size != 0 && fde.start + fde.size > fde.start)
      functions.push_back({fde.start, fde.start + fde.size});
  std::ranges::sort(functions, {}, &RubyRange::begin);
  return functions;
}

RubyRange function_at(const std::vector<RubyRange>& functions, uint64_t address) {
  const auto next = std::ranges::upper_bound(functions, address, {}, &RubyRange::begin);
  if (next == functions.begin()) return {};
  const RubyRange found = *std::prev(next);
  return found.has(address) ? found : RubyRange{};
}

// The interpreter's loop jumps through a table of the places of its instructions, which are many
// and all in that one function. No other function has such a table.
RubyRange loop_in(const ImageBytes& image, const ElfImage& elf,
                  const std::vector<RubyRange>& functions) {
  constexpr size_t instructions = 150;
  std::vector<std::pair<uint64_t, uint64_t>> pointers;
  for_each_relocation(image, elf, [&](const SymbolSection&, const Elf64_Rela& each) {
    if (ELF64_R_TYPE(each.r_info) == R_X86_64_RELATIVE)
      pointers.emplace_back(each.r_offset, static_cast<uint64_t>(each.r_addend));
  });
  std::ranges::sort(pointers);
  RubyRange found, last;
  size_t many = 0;
  uint64_t before = 0;
  for (const auto& [at, to] : pointers) {
    const RubyRange function = last.has(to) ? last : function_at(functions, to);
    many = function.end != 0 && function == last && at == before + 8 ? many + 1 : 1;
    if (many == instructions) {
      if (found.end != 0 && found != function) return {};
      found = function;
    }
    last = function;
    before = at;
  }
  return found;
}

// The one function that calls the loop and goes on: others jump to it. Also tells whether it
// catches by glibc's setjmp; the compiler's own saves a place in the same function.
bool find_caller(Bytes code, uint64_t address, const std::vector<RubyRange>& functions,
                 bpf::ruby_layout& layout) {
  RubyRange caller;
  for (size_t at = 0; at + 5 <= code.size(); ++at) {
    if (byte_at(code, at) != 0xe8) continue;
    if (relative_to(address + at + 5, number_at(code, at + 1)) != layout.core_begin) continue;
    const RubyRange function = function_at(functions, address + at);
    if (function.end == 0 || function.has(layout.core_begin)) continue;
    if (caller.end != 0 && caller != function) return false;
    caller = function;
  }
  if (caller.end == 0 || caller.begin < address || caller.end - address > code.size()) return false;
  layout.loop_begin = caller.begin;
  layout.loop_end = caller.end;
  const Bytes own = code.subspan(caller.begin - address, caller.end - caller.begin);
  layout.tag_is_guarded = 1;
  for (size_t at = 0; at + 7 <= own.size(); ++at) {  // lea place(%rip), %register
    if ((byte_at(own, at) & 0xfb) != 0x48 || byte_at(own, at + 1) != 0x8d ||
        (byte_at(own, at + 2) & 0xc7) != 0x05)
      continue;
    if (caller.has(relative_to(caller.begin + at + 7, number_at(own, at + 3))))
      layout.tag_is_guarded = 0;
  }
  if (layout.tag_is_guarded != 0) {
    layout.tag_place = 0x48;
    layout.tag_previous = 0xd8;
  }
  return true;
}

// The function that frees code frees first the instructions, then the entries of lines.
uint64_t free_code_in(Bytes code, uint64_t address, const std::vector<RubyRange>& functions,
                      const bpf::ruby_layout& layout) {
  uint64_t found = 0;
  const auto lines = static_cast<uint8_t>(layout.body_lines);
  constexpr size_t length = 14;  // mov 8(%r), %rdi; call; mov lines(%r), %rdi
  for (size_t at = 0; at + length <= code.size(); ++at) {
    if (!begins_with(code, at, {0x48, 0x8b}) || byte_at(code, at + 3) != 8 ||
        byte_at(code, at + 4) != 0xe8)
      continue;
    const uint8_t registers = byte_at(code, at + 2);
    if ((registers & 0xf8) != 0x78 || (registers & 7) == 4) continue;
    if (!begins_with(code, at + 9, {0x48, 0x8b, registers, lines, 0xe8})) continue;
    const RubyRange function = function_at(functions, address + at);
    if (function.end == 0 || (found != 0 && found != function.begin)) return 0;
    found = function.begin;
  }
  return found;
}

// rb_errinfo() returns a member of the current thread's state: lea state(%rip), %rdi; call
// __tls_get_addr; mov (%rax), %rax; mov member(%rax), %rax.
uint64_t state_in(Bytes code, uint64_t address, uint8_t member) {
  for (size_t at = 0; at + 24 <= code.size(); ++at) {
    if (!begins_with(code, at, {0x66, 0x48, 0x8d, 0x3d}) ||
        !begins_with(code, at + 8, {0x66, 0x66, 0x48, 0xe8}))
      continue;
    if (!begins_with(code, at + 16, {0x48, 0x8b, 0x00, 0x48, 0x8b, 0x40, member})) return 0;
    return relative_to(address + at + 8, number_at(code, at + 4));
  }
  return 0;
}

std::string find_all(const ImageBytes& image, const ElfImage& elf, uint64_t error_function,
                     uint8_t error_member, RubyProgram& program) {
  const ImageRange error = code_at(image, elf, error_function, 48);
  program.state = state_in(error.bytes, error_function, error_member);
  if (program.state == 0) return "the state of a thread cannot be found in it";
  const auto segment = std::ranges::find_if(elf.segments(), is_code);
  if (segment == elf.segments().end()) return other_build;
  program.delta = segment->p_vaddr - segment->p_offset;
  const ImageRange code = image.range(segment->p_offset, segment->p_filesz);
  const std::vector<RubyRange> functions = functions_in(image, elf);
  const RubyRange core = loop_in(image, elf, functions);
  program.layout.core_begin = core.begin;
  program.layout.core_end = core.end;
  if (core.end == 0 || !find_caller(code.bytes, segment->p_vaddr, functions, program.layout))
    return other_build;
  const uint64_t free_code = free_code_in(code.bytes, segment->p_vaddr, functions, program.layout);
  if (free_code == 0) return "the function that frees code cannot be found";
  program.free_code = free_code - program.delta;
  return "";
}

}  // namespace

std::optional<bpf::ruby_layout> ruby_layout(unsigned minor) {
  const RubyVersion* const version = find_ruby_version(minor);
  return version == nullptr ? std::nullopt : std::optional(version->layout);
}

std::optional<RubyProgram> ruby_in(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  uint64_t version = 0, error_function = 0;
  for_each_symbol(image, *elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const std::string_view name = table.name(symbol);
    if (name == "ruby_version") version = symbol.st_value;
    if (name == "rb_errinfo") error_function = symbol.st_value;
  });
  if (version == 0 || error_function == 0) return std::nullopt;
  RubyProgram program;
  const ImageRange text = loaded_at(image, *elf, version, 4);  // "3.1."
  if (text.bytes.size() != 4) return std::nullopt;
  program.version.assign(reinterpret_cast<const char*>(text.bytes.data()), 3);
  const RubyVersion* const known =
      program.version.starts_with("3.") && byte_at(text.bytes, 3) == '.'
          ? find_ruby_version(static_cast<unsigned>(program.version[2] - '0'))
          : nullptr;
  if (known == nullptr) {
    program.problem = "functions of Ruby 3.1 to 3.4 are read";
    return program;
  }
  program.layout = known->layout;
  program.problem = find_all(image, *elf, error_function, known->error, program);
  return program;
}

}  // namespace memflame
