// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/debug_symbols.h"

#include <lzma.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/root_file.h"

namespace memflame {
namespace {

using unwind::Bytes;
using unwind::ElfImage;
using unwind::ImageBytes;

constexpr size_t max_inflated = size_t{64} << 20;     // bytes; of a large program: 5 MB
constexpr uint64_t max_memory = uint64_t{128} << 20;  // bytes, for inflating
constexpr uint64_t max_packed = uint64_t{64} << 20;

std::string hex(Bytes bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes)
    text += {digits[std::to_integer<size_t>(b) >> 4], digits[std::to_integer<size_t>(b) & 15]};
  return text;
}

uint32_t checksum(const ImageBytes& image) {
  constexpr uint64_t step = 1 << 20;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < image.size(); at += step) {
    const unwind::Range range = image.range(at, std::min(step, image.size() - at));
    if (range.bytes.empty()) return 0;
    crc =
        ::lzma_crc32(reinterpret_cast<const uint8_t*>(range.bytes.data()), range.bytes.size(), crc);
  }
  return crc;
}

struct Search {
  std::vector<std::byte> id;  // of the stripped file
  struct stat self {};
  std::array<std::string, 2> roots;
  DebugSymbols found;

  // `checksum_wanted`: of the link that led here.
  bool take(const std::string& path, const uint32_t* checksum_wanted) {
    for (const std::string& root : roots) {
      SharedFd file = open_in_root(root, path);
      struct stat status {};
      if (file.get() < 0 || ::fstat(file.get(), &status) != 0 ||
          (status.st_ino == self.st_ino && status.st_dev == self.st_dev))
        continue;
      const ImageBytes image(file.get());
      const std::vector<std::byte> other = unwind::build_id(image);
      const bool same = id.empty() || other.empty()
                            ? checksum_wanted != nullptr && checksum(image) == *checksum_wanted
                            : id == other;
      if (!same) continue;
      found.file = std::move(file);
      found.where = path;
      return true;
    }
    return false;
  }
};

bool by_build_id(Search& search) {
  if (search.id.size() < 2) return false;
  const std::string id = hex(search.id);
  return search.take("/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug",
                     nullptr);
}

// A name, zeros up to a multiple of four, and the checksum.
bool by_link(Search& search, const ImageBytes& image, const ElfImage& elf,
             const std::string& path) {
  const Elf64_Shdr* section = elf.section(".gnu_debuglink");
  if (section == nullptr || section->sh_size > 4096 + 8) return false;
  const unwind::Range link = image.range(section->sh_offset, section->sh_size);
  const std::string_view text(reinterpret_cast<const char*>(link.bytes.data()), link.bytes.size());
  const size_t end = text.find('\0');
  // A link is a plain file name; anything else wants to lead us astray.
  if (end == std::string_view::npos || end == 0 ||
      text.substr(0, end).find('/') != std::string_view::npos)
    return false;
  const size_t at = (end + 4) & ~size_t{3};
  uint32_t crc = 0;
  if (at + sizeof(crc) > text.size()) return false;
  std::memcpy(&crc, text.data() + at, sizeof(crc));
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string name(text.substr(0, end)), directory = path.substr(0, slash + 1);
  std::vector<std::string> places{directory, directory + ".debug/", "/usr/lib/debug" + directory};
  // Where /lib is a link to /usr/lib, packages may still file their debug data under /lib.
  if (directory.starts_with("/usr/")) places.push_back("/usr/lib/debug" + directory.substr(4));
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& place) { return search.take(place + name, &crc); });
}

}  // namespace

std::vector<std::byte> inflate_xz(Bytes data, size_t limit) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, max_memory, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const uint8_t*>(data.data());
  stream.avail_in = data.size();
  std::vector<std::byte> out;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out.size() <= limit) {
    const size_t before = out.size();
    out.resize(before + std::clamp<size_t>(before, size_t{1} << 16, size_t{1} << 23));
    stream.next_out = reinterpret_cast<uint8_t*>(out.data() + before);
    stream.avail_out = out.size() - before;
    result = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END || out.size() > limit) out.clear();
  return out;
}

DebugSymbols find_debug_symbols(int fd, const ImageBytes& image, const ElfImage& elf,
                                const std::string& root, const std::string& path) {
  Search search;
  search.id = unwind::build_id(image);
  search.roots = {root, ""};
  if (::fstat(fd, &search.self) != 0) return {};
  if (by_build_id(search) || by_link(search, image, elf, path)) return std::move(search.found);
  const Elf64_Shdr* packed = elf.section(".gnu_debugdata");
  if (packed == nullptr || packed->sh_size > max_packed) return {};
  DebugSymbols inside;
  inside.bytes = inflate_xz(image.range(packed->sh_offset, packed->sh_size).bytes, max_inflated);
  if (!inside.bytes.empty()) inside.where = ".gnu_debugdata";
  return inside;
}

}  // namespace memflame
