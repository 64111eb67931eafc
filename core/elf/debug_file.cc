// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/debug_file.h"

#include <lzma.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/elf/build_id.h"

namespace memflame {
namespace {

// A link is a plain file name; anything else tries to mislead us.
bool is_plain_name(const std::string& text) {
  return !text.empty() && text.size() <= 255 && text.find('/') == std::string::npos &&
         text.find('\0') == std::string::npos;
}

// CRC-32 of IEEE 802.3, as .gnu_debuglink holds it (GDB manual, "Separate Debug Files").
uint32_t checksum_of(int fd) {
  constexpr uint64_t step = 1 << 16;
  const ImageBytes image(fd);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < image.size(); at += step) {
    const ImageRange range = image.range(at, std::min(step, image.size() - at));
    if (range.bytes.empty()) return 0;
    crc =
        ::lzma_crc32(reinterpret_cast<const uint8_t*>(range.bytes.data()), range.bytes.size(), crc);
  }
  return crc;
}

}  // namespace

bool is_build_id(const std::string& text) {
  return text.size() >= 4 && text.size() <= 128 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string program_of_build_id(const std::string& id) {
  return "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2);
}

std::vector<DebugPlace> places_of_build_id(const std::string& root, const std::string& id) {
  if (!is_build_id(id)) return {};
  const std::string path = program_of_build_id(id) + ".debug";
  return {{root, path}, {"", path}};
}

std::optional<DebugLink> debug_link(const ImageBytes& image, const ElfImage& elf) {
  constexpr uint64_t longest = 4096;
  const Elf64_Shdr* section = elf.section(".gnu_debuglink");
  if (section == nullptr || section->sh_size > longest) return std::nullopt;
  // A name, zeros up to a multiple of four, and the checksum.
  const ImageRange range = raw_section_bytes(image, *section);
  const std::string_view text(reinterpret_cast<const char*>(range.bytes.data()),
                              range.bytes.size());
  const size_t end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  DebugLink link{std::string(text.substr(0, end)), 0};
  const size_t at = (end + 4) & ~size_t{3};
  if (at + sizeof(link.checksum) > text.size()) return std::nullopt;
  std::memcpy(&link.checksum, text.data() + at, sizeof(link.checksum));
  return link;
}

std::vector<DebugPlace> places_of_link(const std::string& root, const std::string& path,
                                       const std::string& link) {
  const size_t slash = path.rfind('/');
  if (!is_plain_name(link) || slash == std::string::npos) return {};
  const std::string directory = path.substr(0, slash + 1);
  std::vector<std::string> folders{directory, directory + ".debug/", "/usr/lib/debug" + directory};
  // If /lib is a link to /usr/lib, packages may still file their debug information under /lib.
  if (directory.starts_with("/usr/")) folders.push_back("/usr/lib/debug" + directory.substr(4));
  std::vector<DebugPlace> places;
  for (const std::string& each : {root, std::string()})
    for (const std::string& folder : folders) places.push_back({each, folder + link});
  return places;
}

bool StrippedFile::belongs_to(int debug_file, std::optional<uint32_t> checksum) const {
  struct stat status {};
  if (::fstat(debug_file, &status) != 0 || (status.st_ino == inode && status.st_dev == device))
    return false;
  const std::string id = build_id_of(debug_file);
  if (!id.empty() && !build_id.empty()) return id == build_id;
  return checksum && checksum_of(debug_file) == *checksum;
}

}  // namespace memflame
