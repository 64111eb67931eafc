// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/python/program.h"

#include <algorithm>
#include <cstring>

#include "core/elf/image.h"
#include "core/elf/symbols.h"
#include "probes/languages/instruction_bytes.h"

namespace memflame {
namespace {

struct Symbols {
  uint64_t runtime = 0, version = 0, code_type = 0;
  uint64_t state_function = 0, state_function_bytes = 0;
};

Symbols symbols_of(const ImageBytes& image, const ElfImage& elf) {
  Symbols found;
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (type != STT_OBJECT && type != STT_FUNC) return;
    const std::string_view name = table.name(symbol);
    if (name == "_PyRuntime") found.runtime = symbol.st_value;
    if (name == "Py_Version") found.version = symbol.st_value;
    if (name == "PyCode_Type") found.code_type = symbol.st_value;
    if (name == "PyGILState_GetThisThreadState") {
      found.state_function = symbol.st_value;
      found.state_function_bytes = symbol.st_size;
    }
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

std::string find_state(const ImageBytes& image, const ElfImage& elf, const Symbols& symbols,
                       PythonProgram& program) {
  const uint64_t bytes = std::min<uint64_t>(symbols.state_function_bytes, 64);
  const ImageRange code = code_at(image, elf, symbols.state_function, bytes);
  const std::optional<PythonThreadState> state =
      python_state_in(code.bytes, symbols.state_function);
  if (!state) return "the state of a thread cannot be found in it";
  program.key = state->block;
  program.layout.state_by = state->block == 0 ? bpf::python_by_offset : bpf::python_by_block;
  program.layout.state_offset = state->offset;
  return "";
}

std::string unknown_version() {
  return "functions of Python " + std::string(python_versions_read) + " are read";
}

// Whether the runtime's own table has the same offsets. "" if it has.
std::string problem_of(const ImageBytes& image, const ElfImage& elf, uint64_t runtime,
                       const PythonVersion& version) {
  struct Table {
    DebugOffsets words;
  };
  const auto [table] = value_at<Table>(image, elf, runtime);
  if (std::memcmp(table, debug_cookie, std::strlen(debug_cookie)) != 0)
    return "its table of offsets is missing";
  if (table[debug_free_threaded] != 0) return "it is a build without a global lock";
  return has_offsets(table, version)
             ? ""
             : "its objects are laid out in another way than those of known builds";
}

}  // namespace

std::optional<PythonVersion> python_version(unsigned minor) {
  for (const PythonVersion& version : python_versions)
    if (version.minor == minor) return version;
  return std::nullopt;
}

std::optional<PythonThreadState> python_state_in(Bytes code, uint64_t address) {
  uint64_t block = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const auto is = [&](std::initializer_list<uint8_t> bytes, size_t operand) {
      return begins_with(code, at, bytes) && code.size() - at >= bytes.size() + operand;
    };
    // mov %fs:offset, %rax
    if (is({0x64, 0x48, 0x8b, 0x04, 0x25}, 4))
      return PythonThreadState{.offset = static_cast<int32_t>(number_at(code, at + 5))};
    // lea block(%rip), %rdi; call __tls_get_addr
    if (is({0x48, 0x8d, 0x3d}, 4)) block = relative_to(address + at + 7, number_at(code, at + 3));
    if (block == 0) continue;
    // mov (%rax), %rax; the same with an offset of four bytes, or of one
    if (is({0x48, 0x8b, 0x00}, 0)) return PythonThreadState{.block = block};
    if (is({0x48, 0x8b, 0x80}, 4))
      return PythonThreadState{.block = block,
                               .offset = static_cast<int32_t>(number_at(code, at + 3))};
    if (is({0x48, 0x8b, 0x40}, 1))
      return PythonThreadState{.block = block,
                               .offset = static_cast<int8_t>(byte_at(code, at + 3))};
  }
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
    program.problem = unknown_version();
    return program;
  }
  program.version = "3." + std::to_string(minor);
  const std::optional<PythonVersion> version = python_version(minor);
  if (!version) {
    program.problem = unknown_version();
    return program;
  }
  program.layout = version->layout;
  if (has_table(*version)) program.problem = problem_of(image, *elf, symbols.runtime, *version);
  if (version->key != 0)
    program.key = symbols.runtime + version->key;
  else if (program.problem.empty())
    program.problem = find_state(image, *elf, symbols, program);
  program.delta = code_delta(*elf);
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
