// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/java/program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/elf/image.h"
#include "core/elf/symbols.h"

namespace memflame {
namespace {

struct JavaField {
  bpf::java_field field;
  std::string_view type, name;
};
// A field with several names has one of them in each version.
constexpr std::array java_fields{
    JavaField{bpf::java_array_length, "GrowableArrayBase", "_len"},
    JavaField{bpf::java_array_data, "GrowableArray<int>", "_data"},
    JavaField{bpf::java_heap_memory, "CodeHeap", "_memory"},
    JavaField{bpf::java_heap_segments, "CodeHeap", "_segmap"},
    JavaField{bpf::java_heap_segment_bits, "CodeHeap", "_log2_segment_size"},
    JavaField{bpf::java_space_low, "VirtualSpace", "_low"},
    JavaField{bpf::java_space_end, "VirtualSpace", "_high_boundary"},
    JavaField{bpf::java_stubs_begin, "StubQueue", "_stub_buffer"},
    JavaField{bpf::java_stubs_bytes, "StubQueue", "_buffer_limit"},
    JavaField{bpf::java_blob_name, "CodeBlob", "_name"},
    JavaField{bpf::java_blob_size, "CodeBlob", "_size"},
    JavaField{bpf::java_blob_frame_size, "CodeBlob", "_frame_size"},
    JavaField{bpf::java_blob_frame_complete, "CodeBlob", "_frame_complete_offset"},
    JavaField{bpf::java_blob_code, "CodeBlob", "_code_begin"},
    JavaField{bpf::java_blob_code, "CodeBlob", "_code_offset"},
    JavaField{bpf::java_code_number, "nmethod", "_compile_id"},
    JavaField{bpf::java_code_method, "CompiledMethod", "_method"},
    JavaField{bpf::java_code_original_pc, "nmethod", "_orig_pc_offset"},
    JavaField{bpf::java_code_deoptimized, "CompiledMethod", "_deopt_handler_begin"},
    JavaField{bpf::java_code_deoptimized_call, "CompiledMethod", "_deopt_mh_handler_begin"},
    JavaField{bpf::java_code_places, "nmethod", "_scopes_pcs_offset"},
    JavaField{bpf::java_code_places_end, "nmethod", "_dependencies_offset"},
    JavaField{bpf::java_code_scopes, "CompiledMethod", "_scopes_data_begin"},
    JavaField{bpf::java_code_metadata, "nmethod", "_metadata_offset"},
    JavaField{bpf::java_code_method, "nmethod", "_method"},
    JavaField{bpf::java_code_deoptimized, "nmethod", "_deopt_handler_offset"},
    JavaField{bpf::java_code_deoptimized_call, "nmethod", "_deopt_mh_handler_offset"},
    JavaField{bpf::java_code_places_end, "nmethod", "_scopes_data_offset"},
    JavaField{bpf::java_code_scopes, "nmethod", "_scopes_data_offset"},
    JavaField{bpf::java_code_metadata, "CodeBlob", "_relocation_size"},
    JavaField{bpf::java_code_immutable, "nmethod", "_immutable_data"},
    JavaField{bpf::java_code_mutable, "CodeBlob", "_mutable_data"},
    JavaField{bpf::java_code_mutable_bytes, "CodeBlob", "_mutable_data_size"},
    JavaField{bpf::java_method_const, "Method", "_constMethod"},
    JavaField{bpf::java_method_intrinsic, "Method", "_intrinsic_id"},
    JavaField{bpf::java_const_pool, "ConstMethod", "_constants"},
    JavaField{bpf::java_const_size, "ConstMethod", "_constMethod_size"},
    JavaField{bpf::java_const_flags, "ConstMethod", "_flags"},
    JavaField{bpf::java_const_flags, "ConstMethod", "_flags._flags"},
    JavaField{bpf::java_const_code_size, "ConstMethod", "_code_size"},
    JavaField{bpf::java_const_name, "ConstMethod", "_name_index"},
    JavaField{bpf::java_const_signature, "ConstMethod", "_signature_index"},
    JavaField{bpf::java_const_number, "ConstMethod", "_method_idnum"},
    JavaField{bpf::java_pool_class, "ConstantPool", "_pool_holder"},
    JavaField{bpf::java_pool_file, "ConstantPool", "_source_file_name_index"},
    JavaField{bpf::java_class_name, "Klass", "_name"},
    JavaField{bpf::java_symbol_length, "Symbol", "_length"},
    JavaField{bpf::java_symbol_text, "Symbol", "_body"},
    JavaField{bpf::java_stale_marked, "ZGlobalsForVMStructs", "_ZPointerLoadBadMask"},
    JavaField{bpf::java_stale_whole, "XGlobalsForVMStructs", "_XAddressBadMask"},
    JavaField{bpf::java_collecting, "CollectedHeap", "_is_stw_gc_active"},
    JavaField{bpf::java_collecting, "CollectedHeap", "_is_gc_active"},
    JavaField{bpf::java_collections, "CollectedHeap", "_total_collections"},
};
constexpr uint16_t no_java_entry = 0xffff;

struct JavaVersion {
  int number;
  uint16_t lowest_digit;  // since 20 no byte of a number is 0
  bool apart;             // tables lie apart from the code
};
constexpr std::array java_versions{JavaVersion{.number = 17, .lowest_digit = 0, .apart = false},
                                   JavaVersion{.number = 21, .lowest_digit = 1, .apart = false},
                                   JavaVersion{.number = 25, .lowest_digit = 1, .apart = true}};
constexpr const char* which_java = "those of Java 17, 21 and 25 are read";

// VMTypeEntry: two names, three flags, and the size of the type.
enum : uint64_t { type_entry_bytes = 40, type_entry_size = 32 };

struct JavaTables {
  uint64_t fields = 0, types = 0;  // addresses of pointers to them
};

// The file as the dynamic linker will leave it.
class LinkedFile {
 public:
  LinkedFile(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {
    for_each_relocation(image, elf, [&](const SymbolSection&, const Elf64_Rela& each) {
      if (ELF64_R_TYPE(each.r_info) == R_X86_64_RELATIVE && pointers_.size() < most_pointers)
        pointers_.emplace_back(each.r_offset, static_cast<uint64_t>(each.r_addend));
    });
    std::ranges::sort(pointers_);
  }

  uint64_t pointer(uint64_t address) const {
    const auto found = std::ranges::lower_bound(pointers_, std::pair(address, uint64_t{0}));
    return found == pointers_.end() || found->first != address ? value<uint64_t>(address)
                                                               : found->second;
  }
  template <class T>
  T value(uint64_t address) const {
    T value{};
    const ImageRange range = loaded_at(image_, elf_, address, sizeof(T));
    if (range.bytes.size() == sizeof(T)) std::memcpy(&value, range.bytes.data(), sizeof(T));
    return value;
  }
  // The text that a pointer at `address` leads to; "" if it is longer than any name that counts.
  std::string text(uint64_t address) const {
    const uint64_t at = pointer(address);
    if (at == 0) return {};
    const ImageRange range = loaded_at(image_, elf_, at, longest_name);
    const auto* const begin = reinterpret_cast<const char*>(range.bytes.data());
    const size_t length = ::strnlen(begin, range.bytes.size());
    return length == range.bytes.size() ? std::string() : std::string(begin, length);
  }

 private:
  static constexpr size_t most_pointers = 1U << 20U;
  static constexpr uint64_t longest_name = 64;

  const ImageBytes& image_;
  const ElfImage& elf_;
  std::vector<std::pair<uint64_t, uint64_t>> pointers_;
};

// Takes the fields' places in the table, and the addresses of three pointers of the machine.
// Returns the address of its version.
uint64_t take_fields(const LinkedFile& file, bpf::java_layout& layout) {
  uint64_t version = 0;
  std::ranges::fill(layout.entry, no_java_entry);
  for (uint16_t i = 0; i < bpf::java_most_entries; ++i) {
    const uint64_t entry = layout.table + uint64_t{i} * bpf::java_entry_bytes;
    const std::string type = file.text(entry), name = file.text(entry + 8);
    if (file.pointer(entry) == 0) break;
    for (const JavaField& each : java_fields)
      if (each.type == type && each.name == name) layout.entry[each.field] = i;
    const uint64_t address = file.pointer(entry + bpf::java_entry_address);
    if (type == "CodeCache" && name == "_heaps") layout.heaps_at = address;
    if (type == "AbstractInterpreter" && name == "_code") layout.interpreter_at = address;
    if (type == "StubRoutines" && name == "_call_stub_return_address")
      layout.call_stub_at = address;
    if (type == "ZGlobalsForVMStructs" && name == "_instance_p") layout.stale_marked_at = address;
    if (type == "XGlobalsForVMStructs" && name == "_instance_p") layout.stale_whole_at = address;
    if (type == "Universe" && name == "_collectedHeap") layout.collector_at = address;
    if (type == "CompressedOops" && (name == "_base" || name == "_narrow_oop._base"))
      layout.references_at = address;
    if (type == "CompressedOops" && (name == "_shift" || name == "_narrow_oop._shift"))
      layout.reference_bits_at = address;
    if (type == "Abstract_VM_Version" && name == "_vm_major_version") version = address;
  }
  return version;
}

void take_sizes(const LinkedFile& file, uint64_t table, bpf::java_layout& layout) {
  for (uint64_t i = 0; i < bpf::java_most_entries; ++i) {
    const uint64_t entry = table + i * type_entry_bytes;
    if (file.pointer(entry) == 0) break;
    const std::string type = file.text(entry);
    const auto size = static_cast<uint16_t>(file.value<uint64_t>(entry + type_entry_size));
    if (type == "ConstMethod") layout.const_bytes = size;
    if (type == "ConstantPool") layout.pool_bytes = size;
    if (type == "HeapBlock") layout.block_bytes = size;
  }
}

bool is_complete_java(const bpf::java_layout& layout) {
  for (const uint16_t entry : layout.entry)
    if (entry == no_java_entry) return false;
  return layout.heaps_at != 0 && layout.interpreter_at != 0 && layout.call_stub_at != 0 &&
         layout.references_at != 0 && layout.reference_bits_at != 0 && layout.collector_at != 0 &&
         layout.const_bytes != 0 && layout.const_bytes <= bpf::java_const_bytes &&
         layout.pool_bytes != 0 && layout.block_bytes != 0;
}

}  // namespace

std::optional<JavaProgram> java_in(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  JavaTables tables;
  for_each_symbol(image, *elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) return;
    const std::string_view name = table.name(symbol);
    if (name.starts_with("gHotSpotVMStructs")) tables.fields = symbol.st_value;
    if (name.starts_with("gHotSpotVMTypes")) tables.types = symbol.st_value;
  });
  if (tables.fields == 0 || tables.types == 0) return std::nullopt;
  JavaProgram program;
  const LinkedFile file(image, *elf);
  program.layout.table = file.pointer(tables.fields);
  const uint64_t version_at = take_fields(file, program.layout);
  take_sizes(file, file.pointer(tables.types), program.layout);
  program.delta = code_delta(*elf);
  const int number = version_at == 0 ? 0 : file.value<int>(version_at);
  program.version = number == 0 ? "of an unknown version" : std::to_string(number);
  program.problem = which_java;
  for (const JavaVersion& version : java_versions)
    if (version.number == number) {
      program.layout.lowest_digit = version.lowest_digit;
      program.layout.apart = version.apart ? 1 : 0;
      if (!version.apart)
        for (const auto field :
             {bpf::java_code_immutable, bpf::java_code_mutable, bpf::java_code_mutable_bytes})
          program.layout.entry[field] = 0;
      for (const auto field : {bpf::java_stale_marked, bpf::java_stale_whole})
        if (program.layout.entry[field] == no_java_entry) program.layout.entry[field] = 0;
      program.problem.clear();
    }
  if (program.problem.empty() && !is_complete_java(program.layout))
    program.problem = "its objects are laid out in another way than those of known builds";
  return program;
}

}  // namespace memflame
