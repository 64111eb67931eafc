// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/python/program.h"

#include <array>
#include <cstring>

#include "core/elf/image.h"
#include "core/elf/symbols.h"

namespace memflame {
namespace {

// Offsets of the headers of 3.11.7, 3.12.1 and 3.13.0 (pycore_runtime.h, pycore_frame.h,
// cpython/code.h, cpython/unicodeobject.h), which releases of one version share.
constexpr bpf::python_layout layout_3_11{.innermost = 56,
                                         .has_record = 1,
                                         .record_frame = 8,
                                         .record_previous = 16,
                                         .frame_code = 32,
                                         .frame_previous = 48,
                                         .frame_instruction = 56,
                                         .frame_owner = 69,
                                         .frame_is_entry = 68,
                                         .entry_owner = 0,
                                         .code_first_line = 72,
                                         .code_file = 112,
                                         .code_name = 128,
                                         .code_lines = 136,
                                         .code_instructions = 184,
                                         .bytes_size = 16,
                                         .bytes_text = 32,
                                         .text_length = 16,
                                         .text_state = 32,
                                         .text_ascii = 48,
                                         .text_any = 72,
                                         .pad = 0};

constexpr bpf::python_layout layout_3_12() {
  bpf::python_layout layout = layout_3_11;
  layout.record_frame = 0;
  layout.record_previous = 8;
  layout.frame_code = 0;
  layout.frame_previous = 8;
  layout.frame_owner = 70;
  layout.frame_is_entry = 0;
  layout.entry_owner = 3;
  layout.code_first_line = 68;
  layout.code_instructions = 192;
  layout.text_ascii = 40;
  layout.text_any = 56;
  return layout;
}

constexpr bpf::python_layout layout_3_13() {
  bpf::python_layout layout = layout_3_12();
  layout.innermost = 72;
  layout.has_record = layout.record_frame = layout.record_previous = 0;
  layout.code_instructions = 200;
  return layout;
}

// The key is that of autoTSSkey in _PyRuntime.
constexpr std::array<PythonVersion, 3> versions{{
    {.minor = 11, .key = 592, .layout = layout_3_11},
    {.minor = 12, .key = 1544, .layout = layout_3_12()},
    {.minor = 13, .key = 2160, .layout = layout_3_13()},
}};

// Since 3.13 the runtime begins with a table of offsets (struct _Py_DebugOffsets), numbers of eight
// bytes. These are their places in it.
enum DebugOffset : size_t {
  debug_version = 1,
  debug_free_threaded = 2,
  debug_innermost = 23,
  debug_frame_previous = 29,
  debug_frame_code = 30,
  debug_frame_instruction = 31,
  debug_frame_owner = 33,
  debug_code_file = 35,
  debug_code_name = 37,
  debug_code_lines = 38,
  debug_code_first_line = 39,
  debug_code_instructions = 43,
  debug_offsets = 73,
};
constexpr std::string_view debug_cookie = "xdebugpy";

struct Symbols {
  uint64_t runtime = 0, version = 0, code_type = 0;
};

Symbols symbols_of(const ImageBytes& image, const ElfImage& elf) {
  Symbols found;
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) return;
    const std::string_view name = table.name(symbol);
    if (name == "_PyRuntime") found.runtime = symbol.st_value;
    if (name == "Py_Version") found.version = symbol.st_value;
    if (name == "PyCode_Type") found.code_type = symbol.st_value;
  });
  return found;
}

template <class T>
T value_at(const ImageBytes& image, const ElfImage& elf, uint64_t address) {
  T value{};
  const ImageRange range = loaded_at(image, elf, address, sizeof(T));
  if (range.bytes.size() == sizeof(T)) std::memcpy(&value, range.bytes.data(), sizeof(T));
  return value;
}

// A pointer as the dynamic linker will leave it, in the file's terms.
uint64_t pointer_at(const ImageBytes& image, const ElfImage& elf, uint64_t address) {
  uint64_t value = value_at<uint64_t>(image, elf, address);
  for_each_relocation(image, elf, [&](const SymbolSection&, const Elf64_Rela& each) {
    if (each.r_offset == address && ELF64_R_TYPE(each.r_info) == R_X86_64_RELATIVE)
      value = static_cast<uint64_t>(each.r_addend);
  });
  return value;
}

// Whether the runtime's own table has the same offsets. "" if it has.
std::string problem_of(const ImageBytes& image, const ElfImage& elf, uint64_t runtime,
                       const bpf::python_layout& layout) {
  using Table = std::array<uint64_t, debug_offsets>;
  const auto table = value_at<Table>(image, elf, runtime);
  if (std::memcmp(table.data(), debug_cookie.data(), debug_cookie.size()) != 0)
    return "its table of offsets is missing";
  if (table[debug_free_threaded] != 0) return "it is a build without a global lock";
  const bool same = table[debug_innermost] == layout.innermost &&
                    table[debug_frame_previous] == layout.frame_previous &&
                    table[debug_frame_code] == layout.frame_code &&
                    table[debug_frame_instruction] == layout.frame_instruction &&
                    table[debug_frame_owner] == layout.frame_owner &&
                    table[debug_code_file] == layout.code_file &&
                    table[debug_code_name] == layout.code_name &&
                    table[debug_code_lines] == layout.code_lines &&
                    table[debug_code_first_line] == layout.code_first_line &&
                    table[debug_code_instructions] == layout.code_instructions;
  return same ? "" : "its objects are laid out in another way than those of known builds";
}

}  // namespace

std::optional<PythonVersion> python_version(unsigned minor) {
  for (const PythonVersion& version : versions)
    if (version.minor == minor) return version;
  return std::nullopt;
}

std::optional<PythonProgram> python_in(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  const Symbols symbols = symbols_of(image, *elf);
  if (symbols.runtime == 0) return std::nullopt;
  PythonProgram program;
  // Py_Version is as new as 3.11: 0x030b02f0 is 3.11.2.
  const auto number = value_at<uint64_t>(image, *elf, symbols.version);
  const auto minor = static_cast<unsigned>(number >> 16U & 0xffU);
  if (symbols.version == 0 || number >> 24U != 3) {
    program.version = "3, before 3.11";
    program.problem = "functions of Python 3.11 to 3.13 are read";
    return program;
  }
  program.version = "3." + std::to_string(minor);
  const std::optional<PythonVersion> version = python_version(minor);
  if (!version) {
    program.problem = "functions of Python 3.11 to 3.13 are read";
    return program;
  }
  program.layout = version->layout;
  program.key = symbols.runtime + version->key;
  if (version->minor >= 13)
    program.problem = problem_of(image, *elf, symbols.runtime, program.layout);
  for (const Elf64_Phdr& segment : elf->segments())
    if (is_code(segment)) program.delta = segment.p_vaddr - segment.p_offset;
  constexpr uint64_t type_dealloc = 48;  // PyTypeObject::tp_dealloc
  const uint64_t free_code =
      symbols.code_type == 0 ? 0 : pointer_at(image, *elf, symbols.code_type + type_dealloc);
  if (code_at(image, *elf, free_code, 1).bytes.empty())
    program.problem = "the function that frees code cannot be found";
  else
    program.free_code = free_code - program.delta;
  return program;
}

}  // namespace memflame
