// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/inlined.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace memflame {
namespace {

constexpr size_t first_instructions = 16;  // a function loads its pointer within these
constexpr uint64_t at_once = 1 << 20;
constexpr uint64_t longest = 7;  // bytes of a load

// An instruction that reads eight bytes at an address relative to its own.
struct Load {
  enum Kind : uint8_t { to_register, branch } kind = to_register;
  unsigned reg = 0;
  uint64_t from = 0;
};

unsigned byte_at(Bytes code, size_t at) { return std::to_integer<unsigned>(code[at]); }

// `mov x(%rip), %reg`, `call *x(%rip)` and `jmp *x(%rip)`.
std::optional<Load> load_at(Bytes code, uint64_t address) {
  constexpr unsigned rip_relative = 5, mode_and_base = 0xc7;
  Load load;
  size_t operand = 0;
  if (code.size() >= 7 && (byte_at(code, 0) & 0xfbU) == 0x48 && byte_at(code, 1) == 0x8b &&
      (byte_at(code, 2) & mode_and_base) == rip_relative) {
    load.reg = (byte_at(code, 2) >> 3 & 7U) | (byte_at(code, 0) & 4U) << 1;
    operand = 3;
  } else if (code.size() >= 6 && byte_at(code, 0) == 0xff &&
             (byte_at(code, 1) == 0x15 || byte_at(code, 1) == 0x25)) {
    load.kind = Load::branch;
    operand = 2;
  } else {
    return std::nullopt;
  }
  int32_t distance = 0;
  std::memcpy(&distance, code.data() + operand, sizeof(distance));
  load.from = address + operand + sizeof(distance) + static_cast<uint64_t>(int64_t{distance});
  return load;
}

// The register that `call *%reg` or `jmp *%reg` goes to.
std::optional<unsigned> branch_register(Bytes code) {
  const size_t prefix = !code.empty() && byte_at(code, 0) == 0x41 ? 1 : 0;
  if (code.size() < prefix + 2 || byte_at(code, prefix) != 0xff) return std::nullopt;
  const unsigned operand = byte_at(code, prefix + 1);
  if ((operand & 0xf8U) != 0xd0 && (operand & 0xf8U) != 0xe0) return std::nullopt;
  return (operand & 7U) | (prefix << 3);
}

// Whether the program may change the data at this address. RELRO data only the dynamic linker can.
bool is_variable(const ElfImage& elf, uint64_t address) {
  const auto holds = [&](const Elf64_Phdr& segment) {
    return address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
  };
  return std::ranges::any_of(elf.segments(),
                             [&](const Elf64_Phdr& segment) {
                               return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 &&
                                      holds(segment);
                             }) &&
         std::ranges::none_of(elf.segments(), [&](const Elf64_Phdr& segment) {
           return segment.p_type == PT_GNU_RELRO && holds(segment);
         });
}

ImageRange bytes_of(const ImageBytes& image, const ElfImage& elf, const Instruction& i) {
  return code_at(image, elf, i.address, i.length);
}

// The pointers that a function loads and then calls.
std::set<uint64_t> dispatches(const Body& body, const ImageBytes& image, const ElfImage& elf) {
  std::map<unsigned, uint64_t> loaded;
  std::set<uint64_t> found;
  for (size_t n = 0; n < std::min(body.code.size(), first_instructions); ++n) {
    const ImageRange range = bytes_of(image, elf, body.code[n]);
    const std::optional<Load> load = load_at(range.bytes, body.code[n].address);
    if (!load || !is_variable(elf, load->from)) continue;
    if (load->kind == Load::branch)
      found.insert(load->from);
    else
      loaded.try_emplace(load->reg, load->from);
  }
  if (loaded.empty()) return found;
  for (const Instruction& i : body.code) {
    if (i.target != 0 || (i.kind != Instruction::call && i.kind != Instruction::jump)) continue;
    const ImageRange range = bytes_of(image, elf, i);
    const std::optional<unsigned> reg = branch_register(range.bytes);
    if (const auto at = reg ? loaded.find(*reg) : loaded.end(); at != loaded.end())
      found.insert(at->second);
  }
  return found;
}

// Calls `visit` for each load in the file's code, found by its bytes without decoding. Bytes that
// look like a load by chance hardly ever hit one of the few pointers that matter.
template <class Visit>
void for_each_load(const ImageBytes& image, const ElfImage& elf, Visit visit) {
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    for (uint64_t start = 0; start < segment.p_filesz; start += at_once) {
      const ImageRange code = image.range(
          segment.p_offset + start, std::min(at_once + longest - 1, segment.p_filesz - start));
      const size_t end = std::min<size_t>(code.bytes.size(), at_once);
      for (size_t at = 0; at < end; ++at)
        if (const std::optional<Load> load =
                load_at(code.bytes.subspan(at, std::min<size_t>(longest, code.bytes.size() - at)),
                        segment.p_vaddr + start + at))
          visit(segment.p_vaddr + start + at, *load);
    }
  }
}

}  // namespace

std::vector<size_t> count_copies(FileCode& code, const ImageBytes& image, const ElfImage& elf,
                                 std::span<const FunctionExtent> functions) {
  std::map<uint64_t, size_t> loads;  // by pointer: loads outside of all functions
  std::set<uint64_t> own;            // addresses of the functions' own instructions
  std::vector<std::set<uint64_t>> pointers;
  for (const FunctionExtent& each : functions) {
    const Body body = code.body(each.address, each.size, {});
    for (const Instruction& i : body.code) own.insert(i.address);
    pointers.push_back(dispatches(body, image, elf));
    for (const uint64_t pointer : pointers.back()) loads.try_emplace(pointer, 0);
  }
  std::vector<size_t> copies(functions.size());
  if (loads.empty()) return copies;
  for_each_load(image, elf, [&](uint64_t address, const Load& load) {
    const auto known = loads.find(load.from);
    if (known != loads.end() && !own.contains(address)) ++known->second;
  });
  for (size_t n = 0; n < copies.size(); ++n)
    for (const uint64_t pointer : pointers[n]) copies[n] = std::max(copies[n], loads.at(pointer));
  return copies;
}

}  // namespace memflame
