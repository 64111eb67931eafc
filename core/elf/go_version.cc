// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/go_version.h"

#include <algorithm>
#include <charconv>

namespace memflame {

std::optional<GoVersion> parse_go_version(std::string_view text) {
  const size_t at = text.find("go");
  if (at == std::string_view::npos || (at != 0 && text[at - 1] != ' ')) return std::nullopt;
  const char *from = text.data() + at + 2, *to = text.data() + text.size();
  GoVersion version;
  const auto major = std::from_chars(from, to, version.major);
  if (major.ec != std::errc() || major.ptr == to || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, to, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

std::optional<GoVersion> go_version(const ImageBytes& image, const ElfImage& elf) {
  // The mark, the size of a pointer, flags, and padding; then the length of the text in one byte,
  // as versions are short, and the text.
  constexpr std::string_view mark = "\xff Go buildinf:";
  constexpr size_t flags_at = 15, text_at = 32, longest = 127;
  constexpr unsigned is_inline = 2;
  const Elf64_Shdr* section = elf.section(".go.buildinfo");
  if (section == nullptr || section->sh_size <= text_at) return std::nullopt;
  const ImageRange range =
      image.range(section->sh_offset, std::min<uint64_t>(section->sh_size, text_at + 1 + longest));
  const std::string_view bytes(reinterpret_cast<const char*>(range.bytes.data()),
                               range.bytes.size());
  if (bytes.size() <= text_at || !bytes.starts_with(mark)) return std::nullopt;
  if ((static_cast<unsigned char>(bytes[flags_at]) & is_inline) == 0) return std::nullopt;
  const auto length = static_cast<unsigned char>(bytes[text_at]);
  return length > longest ? std::nullopt : parse_go_version(bytes.substr(text_at + 1, length));
}

}  // namespace memflame
