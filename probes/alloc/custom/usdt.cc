// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/usdt.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "core/elf/notes.h"
#include "core/hex.h"
#include "probes/alloc/finding/file_code.h"

namespace memflame {
namespace {

constexpr uint32_t note_type = 3;
constexpr uint64_t max_section = 16 << 20;
constexpr size_t max_note_text = 256;  // bytes of a name, or of the arguments
constexpr std::string_view owner("stapsdt\0", 8);

// The offsets of registers in the kernel's struct pt_regs, by the order of its members.
struct Register {
  std::array<std::string_view, 4> names;  // of 8, 4, 2 and 1 bytes
  uint8_t offset;
};
constexpr uint8_t member(unsigned index) { return static_cast<uint8_t>(index * 8); }
constexpr std::array registers{
    Register{{"r15", "r15d", "r15w", "r15b"}, member(0)},
    Register{{"r14", "r14d", "r14w", "r14b"}, member(1)},
    Register{{"r13", "r13d", "r13w", "r13b"}, member(2)},
    Register{{"r12", "r12d", "r12w", "r12b"}, member(3)},
    Register{{"rbp", "ebp", "bp", "bpl"}, member(4)},
    Register{{"rbx", "ebx", "bx", "bl"}, member(5)},
    Register{{"r11", "r11d", "r11w", "r11b"}, member(6)},
    Register{{"r10", "r10d", "r10w", "r10b"}, member(7)},
    Register{{"r9", "r9d", "r9w", "r9b"}, member(8)},
    Register{{"r8", "r8d", "r8w", "r8b"}, member(9)},
    Register{{"rax", "eax", "ax", "al"}, member(10)},
    Register{{"rcx", "ecx", "cx", "cl"}, member(11)},
    Register{{"rdx", "edx", "dx", "dl"}, member(12)},
    Register{{"rsi", "esi", "si", "sil"}, member(13)},
    Register{{"rdi", "edi", "di", "dil"}, member(14)},
    Register{{"rsp", "esp", "sp", "spl"}, member(19)},
};

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <typename T>
bool take_number(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "%rdi". `whole`: only a 64-bit register, as in an address.
bool take_register(std::string_view& text, bool whole, uint8_t& offset) {
  if (!take(text, "%")) return false;
  const std::string_view name = text.substr(0, text.find_first_of(",)"));
  for (const Register& each : registers) {
    const size_t size = static_cast<size_t>(std::find(each.names.begin(), each.names.end(), name) -
                                            each.names.begin());
    if (name.empty() || size == each.names.size() || (whole && size != 0)) continue;
    offset = each.offset;
    text.remove_prefix(name.size());
    return true;
  }
  return false;
}

// "-4@": the size in bytes, negative for signed values; 8 bytes if there is no size.
bool take_size(std::string_view& text, bpf::usdt_argument& argument) {
  argument.bytes = 8;
  if (text.find('@') == std::string_view::npos) return true;
  int size = 0;
  if (!take_number(text, size) || !take(text, "@")) return false;
  argument.is_signed = static_cast<uint8_t>(size < 0);
  if (size < -8 || size > 8) return false;
  argument.bytes = static_cast<uint8_t>(size < 0 ? -size : size);
  return argument.bytes == 1 || argument.bytes == 2 || argument.bytes == 4 || argument.bytes == 8;
}

// "(%rax)", "(%rax,%rbx,4)", "(,%rbx,8)"
bool take_address(std::string_view& text, bpf::usdt_argument& argument) {
  if (!take(text, "(")) return false;
  if (take_register(text, true, argument.base)) argument.has_base = 1;
  if (take(text, ",")) {
    if (!take_register(text, true, argument.index)) return false;
    argument.scale = 1;
    if (take(text, ",") && !take_number(text, argument.scale)) return false;
    if (argument.scale != 1 && argument.scale != 2 && argument.scale != 4 && argument.scale != 8)
      return false;
  }
  return take(text, ")") && (argument.has_base != 0 || argument.scale != 0);
}

std::string_view take_text(Bytes& bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const void* end = bytes.empty() ? nullptr : std::memchr(text, 0, bytes.size());
  if (end == nullptr) {
    bytes = {};
    return {};
  }
  const size_t length = static_cast<size_t>(static_cast<const char*>(end) - text);
  bytes = bytes.subspan(length + 1);
  return length <= max_note_text ? std::string_view(text, length) : std::string_view();
}

struct Addresses {
  uint64_t pc, base, counter;
};

class Notes {
 public:
  Notes(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {
    const Elf64_Shdr* section = elf.section(".note.stapsdt");
    if (section != nullptr && section->sh_size <= max_section)
      range_ = image.range(section->sh_offset, section->sh_size);
    // The address of this section now. Each note has its address before the file was prelinked.
    if (const Elf64_Shdr* base = elf.section(".stapsdt.base")) base_ = base->sh_addr;
  }

  void of(std::string_view provider, std::vector<UsdtNote>& found) const {
    find_note(range_.bytes, 4, [&](const ElfNote& note) {
      if (note.type == note_type && note.owner == owner) read(note.data, provider, found);
      return found.size() >= bpf::max_usdt_sites;
    });
  }

 private:
  void read(Bytes note, std::string_view provider, std::vector<UsdtNote>& found) const {
    Addresses addresses;
    if (note.size() < sizeof(addresses)) return;
    std::memcpy(&addresses, note.data(), sizeof(addresses));
    note = note.subspan(sizeof(addresses));
    if (take_text(note) != provider) return;
    UsdtNote result;
    result.provider = provider;
    result.name = take_text(note);
    result.arguments = take_text(note);
    const uint64_t moved = base_ != 0 && addresses.base != 0 ? base_ - addresses.base : 0;
    result.address = addresses.pc + moved;
    if (!place(result.address, PF_X, result.offset)) return;
    if (addresses.counter != 0 && !place(addresses.counter + moved, PF_W, result.counter)) return;
    found.push_back(std::move(result));
  }

  // The file offset of an address. False unless its segment has the permission `use`.
  bool place(uint64_t address, uint32_t use, uint64_t& offset) const {
    const Elf64_Phdr* segment = elf_.loaded(address);
    if (segment == nullptr || (segment->p_flags & use) == 0) return false;
    offset = address - segment->p_vaddr + segment->p_offset;
    return offset < image_.size();
  }

  const ImageBytes& image_;
  const ElfImage& elf_;
  ImageRange range_;
  uint64_t base_ = 0;
};

// Reads the first `needed` arguments and ignores the rest; none if there are fewer.
std::optional<bpf::usdt_site> parse_arguments(std::string_view text, size_t needed) {
  bpf::usdt_site site{};
  for (size_t i = 0; i < needed; ++i) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    const std::optional<bpf::usdt_argument> argument = parse_usdt_argument(word);
    if (!argument) return std::nullopt;
    site.arguments[i] = *argument;  // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index)
    text.remove_prefix(word.size());
  }
  return site;
}

}  // namespace

std::optional<bpf::usdt_argument> parse_usdt_argument(std::string_view text) {
  bpf::usdt_argument argument{};
  if (text.empty() || !take_size(text, argument)) return std::nullopt;
  if (take(text, "$")) {
    argument.kind = bpf::usdt_constant;
    if (!take_number(text, argument.value)) return std::nullopt;
  } else if (text.starts_with("%")) {
    argument.kind = bpf::usdt_register;
    if (!take_register(text, false, argument.base)) return std::nullopt;
  } else {
    argument.kind = bpf::usdt_memory;
    int32_t displacement = 0;
    if (!text.starts_with("(") && !take_number(text, displacement)) return std::nullopt;
    argument.value = displacement;
    if (!take_address(text, argument)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return argument;
}

std::vector<UsdtNote> usdt_notes(int fd, std::string_view provider) {
  std::vector<UsdtNote> found;
  const ImageBytes image(fd);
  if (const std::optional<ElfImage> elf = ElfImage::open(image))
    Notes(image, *elf).of(provider, found);
  return found;
}

UsdtPair find_usdt_pair(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return {};
  UsdtPair pair;
  std::vector<UsdtNote> notes;
  Notes(image, *elf).of("otel_memory", notes);
  FileCode code(image, *elf, false);
  for (const UsdtNote& note : notes) {
    const bool is_alloc = note.name == "alloc";
    if (!is_alloc && note.name != "free") continue;
    const std::optional<bpf::usdt_site> site = parse_arguments(note.arguments, is_alloc ? 3 : 1);
    if (site && code.call_may_overwrite(note.address))
      pair.overwriting.push_back("otel_memory:" + note.name + " at +" + hex(note.offset));
    if (site)
      (is_alloc ? pair.alloc : pair.free).push_back({note.offset, note.counter, *site});
    else
      pair.problems.push_back("otel_memory:" + note.name + " has arguments that cannot be read ('" +
                              note.arguments + "')");
  }
  if (pair.problems.empty() && pair.offered()) return pair;
  if (pair.problems.empty() && !pair.alloc.empty())
    pair.problems = {"otel_memory:alloc without free"};
  if (pair.problems.empty() && !pair.free.empty())
    pair.problems = {"otel_memory:free without alloc"};
  pair.alloc.clear();
  pair.free.clear();
  return pair;
}

}  // namespace memflame
