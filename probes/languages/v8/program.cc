// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/v8/program.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "core/elf/image.h"
#include "core/elf/symbols.h"

namespace memflame {
namespace {

constexpr std::string_view debug_prefix = "v8dbg_";
constexpr std::string_view version_prefix = "_ZN2v88internal7Version";

// The forms of ScopeInfo and Script that are read have no symbols.
constexpr std::array<std::pair<int32_t, int32_t>, 3> known_versions{{{10, 2}, {11, 3}, {12, 4}}};

struct Fixed {
  std::string_view name;  // of a symbol; from V8 12 on the types in some names are others
  int32_t value;
};
constexpr std::array fixed_values{
    Fixed{.name = "v8dbg_TaggedSize", .value = 8},
    Fixed{.name = "v8dbg_SmiShiftSize", .value = 31},
    Fixed{.name = "v8dbg_off_fp_context_or_frame_type", .value = -bpf::v8_frame_context},
    Fixed{.name = "v8dbg_off_fp_function", .value = -bpf::v8_frame_function},
    Fixed{.name = "v8dbg_off_fp_bytecode_array", .value = -bpf::v8_frame_bytecode},
    Fixed{.name = "v8dbg_off_fp_bytecode_offset", .value = -bpf::v8_frame_offset},
    Fixed{.name = "v8dbg_class_HeapObject__map__Map", .value = 0},
    Fixed{.name = "v8dbg_class_Map__instance_type__uint16_t", .value = bpf::v8_map_type},
    Fixed{.name = "v8dbg_class_SharedFunctionInfo__flags__int", .value = bpf::v8_info_flags},
    Fixed{.name = "v8dbg_class_Script__source__Object", .value = bpf::v8_script_source},
    Fixed{.name = "v8dbg_class_Script__name__Object", .value = bpf::v8_script_name},
    Fixed{.name = "v8dbg_class_Script__line_ends__Object", .value = bpf::v8_script_line_ends},
    Fixed{.name = "v8dbg_class_FixedArrayBase__length__SMI", .value = bpf::v8_array_length},
    Fixed{.name = "v8dbg_class_String__length__int32_t", .value = bpf::v8_string_length},
    Fixed{.name = "v8dbg_class_SeqOneByteString__chars__char", .value = bpf::v8_string_text},
    Fixed{.name = "v8dbg_class_SeqTwoByteString__chars__char", .value = bpf::v8_string_text},
    Fixed{.name = "v8dbg_class_ThinString__actual__String", .value = bpf::v8_string_other},
    Fixed{.name = "v8dbg_class_SlicedString__parent__String", .value = bpf::v8_string_other},
    Fixed{.name = "v8dbg_class_SlicedString__offset__SMI", .value = bpf::v8_string_data},
    Fixed{.name = "v8dbg_class_ConsString__first__String", .value = bpf::v8_string_other},
    Fixed{.name = "v8dbg_class_ExternalString__resource__Object", .value = bpf::v8_string_other},
    Fixed{.name = "v8dbg_StringRepresentationMask", .value = 7},
    Fixed{.name = "v8dbg_StringEncodingMask", .value = 8},
    Fixed{.name = "v8dbg_FirstNonstringType", .value = 128},
};
// By the begin of their names, as types follow.
constexpr std::array fixed_fields{
    Fixed{.name = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__",
          .value = bpf::v8_info_name},
    Fixed{.name = "v8dbg_class_SharedFunctionInfo__script_", .value = bpf::v8_info_script},
};

// Functions of the garbage collector, by the begin of their names, as types follow.
constexpr std::string_view moves_begin =
    "_ZN2v88internal4Heap36GarbageCollectionPrologueInSafepointE";
constexpr std::string_view moves_end =
    "_ZN2v88internal4Heap36GarbageCollectionEpilogueInSafepointE";
constexpr std::string_view heap_ends = "_ZN2v88internal4Heap8TearDownE";

void find_collector(const ImageBytes& image, const ElfImage& elf, V8Program& program) {
  const uint64_t delta = code_delta(elf);
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) return;
    const std::string_view name = table.name(symbol);
    const uint64_t offset = symbol.st_value - delta;
    if (name.starts_with(moves_begin)) program.moves_begin = offset;
    if (name.starts_with(moves_end)) program.moves_end = offset;
    if (name.starts_with(heap_ends)) program.heap_ends = offset;
  });
}

using Values = std::map<std::string, int32_t, std::less<>>;

Values values_of(const ImageBytes& image, const ElfImage& elf) {
  Values values;
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size != sizeof(int32_t)) return;
    const std::string_view name = table.name(symbol);
    if (!name.starts_with(debug_prefix) && !name.starts_with(version_prefix)) return;
    int32_t value = 0;
    if ((symbol.st_shndx < elf.sections().size() &&
         elf.sections()[symbol.st_shndx].sh_type == SHT_NOBITS)) {
      values.emplace(name, 0);
      return;
    }
    const ImageRange range = loaded_at(image, elf, symbol.st_value, sizeof(value));
    if (range.bytes.size() != sizeof(value)) return;
    std::memcpy(&value, range.bytes.data(), sizeof(value));
    values.emplace(name, value);
  });
  return values;
}

std::optional<int32_t> value_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

bool is_as_known(const Values& values) {
  for (const Fixed& each : fixed_values)
    if (value_of(values, each.name) != each.value) return false;
  for (const Fixed& each : fixed_fields) {
    const auto found = values.lower_bound(each.name);
    if (found == values.end() || !found->first.starts_with(each.name) ||
        found->second != each.value)
      return false;
  }
  return true;
}

bool take(const Values& values, std::string_view name, uint16_t& to) {
  const std::optional<int32_t> value = value_of(values, name);
  if (!value || *value <= 0 || *value > INT16_MAX) return false;
  to = static_cast<uint16_t>(*value);
  return true;
}

// The field of JSFunction with its code has a symbol in some versions only; its name ends in a
// type.
bool take_code_field(const Values& values, uint16_t version, uint16_t& to) {
  constexpr std::string_view name = "v8dbg_class_JSFunction__code__";
  constexpr uint16_t without_symbol = 0x0b03, usual = 48;
  const auto found = values.lower_bound(name);
  const bool has_symbol = found != values.end() && found->first.starts_with(name);
  if (!has_symbol && version != without_symbol) return false;
  to = has_symbol ? static_cast<uint16_t>(found->second) : usual;
  return true;
}

// Whether it is in what is read of a function.
bool is_function_field(uint16_t offset) {
  return offset % 8 == 0 && offset >= bpf::v8_function_fields &&
         offset < bpf::v8_function_fields + bpf::v8_function_bytes;
}

bool take_all(const Values& values, bpf::v8_layout& layout) {
  // From V8 12 on, what code has is in arrays of their own types.
  const bool trusted = layout.version >= 0x0c00;
  return take(values, "v8dbg_class_JSFunction__shared__SharedFunctionInfo", layout.function_info) &&
         take_code_field(values, layout.version, layout.function_code) &&
         is_function_field(layout.function_info) && is_function_field(layout.function_code) &&
         take(values, "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
              layout.info_type) &&
         take(values, "v8dbg_type_Script__SCRIPT_TYPE", layout.script_type) &&
         take(values, "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", layout.scope_type) &&
         take(values, "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", layout.array_type) &&
         take(values, "v8dbg_type_Code__CODE_TYPE", layout.code_type) &&
         take(values, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", layout.bytecode_type) &&
         take(values, "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", layout.bytes_type) &&
         take(values, "v8dbg_type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", layout.literal_type) &&
         take(values,
              trusted ? "v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"
                      : "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE",
              layout.table_type) &&
         take(values,
              trusted ? "v8dbg_type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE"
                      : "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE",
              layout.deopt_type);
}

}  // namespace

std::optional<V8Program> v8_in(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  const Values values = values_of(image, *elf);
  const auto major = value_of(values, "_ZN2v88internal7Version6major_E");
  const auto minor = value_of(values, "_ZN2v88internal7Version6minor_E");
  if (!major || !minor) return std::nullopt;
  V8Program program;
  program.version = std::to_string(*major) + "." + std::to_string(*minor);
  bool known = false;
  for (const auto& each : known_versions) known = known || each == std::pair(*major, *minor);
  program.layout.version = static_cast<uint16_t>(known ? *major << 8 | *minor : 0);
  if (!known)
    program.problem = "those of V8 10.2, 11.3 and 12.4 are read (node 18, 20 and 22)";
  else if (!is_as_known(values) || !take_all(values, program.layout))
    program.problem = "its objects are laid out in another way than those of known builds";
  else
    find_collector(image, *elf, program);
  return program;
}

}  // namespace memflame
