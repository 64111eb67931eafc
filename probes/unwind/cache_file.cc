// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/cache_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace memflame::unwind {
namespace {

// Increase it whenever the rows made from a file change, or the layout does.
constexpr uint32_t version = 13;
constexpr char magic[8] = {'m', 'f', 'u', 'n', 'w', 'i', 'n', 'd'};
constexpr uint32_t max_segments = 1 << 16;  // as many as ELF can count
constexpr size_t max_build_id = 64;         // bytes

// A file: this header, the segments, the rows. Numbers have native byte order, because only this
// machine reads them.
struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t segments;
  uint64_t rows;
  uint64_t checksum;  // of all else: this header with 0 here, the segments, the rows
  uint64_t base;
  uint32_t entries, malformed;
  uint64_t device, inode, size;
  int64_t modified, changed;
  uint32_t build_id_size;
  uint32_t unused;
  std::byte build_id[max_build_id];
};
static_assert(sizeof(FileHeader) == 160 && sizeof(Segment) == 24 && sizeof(row) == 8);
static_assert(std::has_unique_object_representations_v<FileHeader> &&
              std::has_unique_object_representations_v<Segment>);

uint64_t table_checksum(const FileHeader& header, const Table& table) {
  FileHeader counted = header;
  counted.checksum = 0;
  uint64_t sum = checksum(0, &counted, sizeof(counted));
  sum = checksum(sum, table.segments.data(), table.segments.size() * sizeof(Segment));
  return checksum(sum, table.rows.data(), table.rows.size() * sizeof(row));
}

FileHeader header_for(const FileStamp& stamp) {
  FileHeader header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = version;
  header.device = stamp.device;
  header.inode = stamp.inode;
  header.size = stamp.size;
  header.modified = stamp.modified;
  header.changed = stamp.changed;
  header.build_id_size = static_cast<uint32_t>(std::min(stamp.build_id.size(), max_build_id));
  std::copy_n(stamp.build_id.begin(), header.build_id_size, header.build_id);
  return header;
}

bool read_all(int fd, void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(fd, static_cast<char*>(data) + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t put = ::write(fd, static_cast<const char*>(data) + done, size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<size_t>(put);
  }
  return true;
}

bool is_sound(const Table& table) {
  if (table.rows.empty()) return table.segments.empty();
  if (table.segments.empty() || table.base != table.segments.front().vaddr ||
      table.rows.front().pc != 0)
    return false;
  const row* before = nullptr;
  for (const row& r : table.rows) {
    if (!is_kind(r.kind)) return false;
    if (before != nullptr && r.pc <= before->pc) return false;
    before = &r;
  }
  return true;
}

}  // namespace

uint64_t checksum(uint64_t sum, const void* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + at, sizeof(word));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio, odd
    sum ^= sum >> 32;
  }
  return sum;
}

std::optional<Table> read_table(int fd, const FileStamp& stamp) {
  FileHeader header;
  if (!read_all(fd, &header, sizeof(header))) return std::nullopt;
  // What the header must say, except for the table's own numbers.
  FileHeader expected = header_for(stamp);
  expected.segments = header.segments;
  expected.rows = header.rows;
  expected.checksum = header.checksum;
  expected.base = header.base;
  expected.entries = header.entries;
  expected.malformed = header.malformed;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0 || header.segments > max_segments ||
      header.rows > size / sizeof(row) ||
      size != sizeof(header) + header.segments * sizeof(Segment) + header.rows * sizeof(row))
    return std::nullopt;
  Table table;
  table.base = header.base;
  table.entries = header.entries;
  table.malformed = header.malformed;
  table.segments.resize(header.segments);
  table.rows.resize(header.rows);
  if (!read_all(fd, table.segments.data(), table.segments.size() * sizeof(Segment)) ||
      !read_all(fd, table.rows.data(), table.rows.size() * sizeof(row)) ||
      table_checksum(header, table) != header.checksum || !is_sound(table))
    return std::nullopt;
  return table;
}

bool write_table(int fd, const FileStamp& stamp, const Table& table) {
  FileHeader header = header_for(stamp);
  header.segments = static_cast<uint32_t>(table.segments.size());
  header.rows = table.rows.size();
  header.base = table.base;
  header.entries = table.entries;
  header.malformed = table.malformed;
  header.checksum = table_checksum(header, table);
  return write_all(fd, &header, sizeof(header)) &&
         write_all(fd, table.segments.data(), table.segments.size() * sizeof(Segment)) &&
         write_all(fd, table.rows.data(), table.rows.size() * sizeof(row));
}

}  // namespace memflame::unwind
