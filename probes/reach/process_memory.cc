// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t word_bytes = sizeof(uint64_t);
constexpr size_t piece_bytes = size_t{1} << 20;
constexpr size_t chunk_bytes = size_t{16} << 10;
constexpr size_t chunks = 4096;
// Longer ranges are looked up in pagemap before they are read.
constexpr uint64_t long_bytes = uint64_t{64} << 10;
constexpr size_t most_entries = 8192;  // 32 MiB of memory at a time

// Documentation/admin-guide/mm/pagemap.rst
constexpr uint64_t page_is_present = uint64_t{1} << 63;
constexpr uint64_t page_is_swapped = uint64_t{1} << 62;

AddressRange aligned(const AddressRange& range) {
  if (range.from > UINT64_MAX - word_bytes) return {};
  return {(range.from + word_bytes - 1) / word_bytes * word_bytes,
          range.to / word_bytes * word_bytes};
}

}  // namespace

ProcessMemory::ProcessMemory(pid_t pid, uint64_t deadline_ns)
    : pid_(pid),
      deadline_ns_(deadline_ns),
      pagemap_(::open(proc_path(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)),
      buffer_(piece_bytes / word_bytes),
      entries_(most_entries) {}

void ProcessMemory::read(std::span<const AddressRange> ranges,
                         const std::function<void(size_t range, MemoryWords words)>& take) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const AddressRange range = aligned(ranges[i]);
    if (range.from >= range.to) continue;
    if (is_over()) return;
    read_range(range, [&take, i](MemoryWords words) { take(i, words); });
  }
}

void ProcessMemory::read_range(const AddressRange& range, const Take& take) {
  if (range.to - range.from < chunk_bytes) {
    if (!read_by_chunk(range, take)) read_long(range, take);
    return;
  }
  if (range.to - range.from < long_bytes) return read_long(range, take);
  for (uint64_t from = range.from; from < range.to && !is_over();) {
    // Whole pages, so that the parts of a range do not share one.
    const uint64_t to = std::min(range.to, (from / scanned_page + most_entries) * scanned_page);
    for (const AddressRange& part : present_parts({from, to})) read_long(part, take);
    from = to;
  }
}

void ProcessMemory::read_long(const AddressRange& range, const Take& take) {
  for (uint64_t from = range.from; from < range.to && !is_over();) {
    const size_t wanted = std::min<uint64_t>(range.to - from, piece_bytes);
    const size_t got = copy(from, buffer_.data(), wanted) / word_bytes * word_bytes;
    if (got != 0) take({buffer_.data(), got / word_bytes});
    from += got;
    if (got == wanted) continue;
    // The page at `from` cannot be read; the one behind it may.
    const uint64_t next = std::min(range.to, (from / scanned_page + 1) * scanned_page);
    bytes_unread_ += next - from;
    from = next;
  }
}

// A range that lies in two chunks is read as it is.
bool ProcessMemory::read_by_chunk(const AddressRange& range, const Take& take) {
  const uint64_t begin = range.from / chunk_bytes * chunk_bytes;
  if (range.to > begin + chunk_bytes) return false;
  if (cache_.empty()) {
    cache_.resize(chunks * chunk_bytes / word_bytes);
    chunks_.resize(chunks);
  }
  const size_t place = begin / chunk_bytes % chunks;
  uint64_t* const words = &cache_[place * (chunk_bytes / word_bytes)];
  Chunk& chunk = chunks_[place];
  if (chunk.address != begin) {
    chunk = {begin, static_cast<uint32_t>(copy(begin, words, chunk_bytes))};
    if (chunk.bytes == 0) chunk.address = 0;
  }
  if (range.to > begin + chunk.bytes) return false;
  take({words + (range.from - begin) / word_bytes, (range.to - range.from) / word_bytes});
  return true;
}

// The parts of a range whose pages are in memory or in swap space. All of it if that is unknown.
std::vector<AddressRange> ProcessMemory::present_parts(const AddressRange& range) {
  const uint64_t first = range.from / scanned_page;
  const size_t count = (range.to - 1) / scanned_page - first + 1;
  const size_t bytes = count * sizeof(uint64_t);
  if (!pagemap_ ||
      ::pread(pagemap_.get(), entries_.data(), bytes,
              static_cast<off_t>(first * sizeof(uint64_t))) != static_cast<ssize_t>(bytes))
    return {range};
  std::vector<AddressRange> parts;
  for (size_t i = 0; i < count; ++i) {
    if ((entries_[i] & (page_is_present | page_is_swapped)) == 0) continue;
    const uint64_t from = std::max(range.from, (first + i) * scanned_page);
    const uint64_t to = std::min(range.to, (first + i + 1) * scanned_page);
    if (!parts.empty() && parts.back().to == from)
      parts.back().to = to;
    else
      parts.push_back({from, to});
  }
  return parts;
}

MemoryWords ProcessMemory::words_at(uint64_t address, size_t count) {
  const size_t bytes = std::min(count * word_bytes, piece_bytes);
  return {buffer_.data(), copy(address, buffer_.data(), bytes) / word_bytes};
}

size_t ProcessMemory::copy(uint64_t address, uint64_t* into, size_t bytes) {
  const iovec here{into, bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const iovec there{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  if (got < 0 && errno == ESRCH) has_ended_ = true;
  if (got <= 0) return 0;
  bytes_read_ += static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

bool ProcessMemory::is_over() {
  if (has_ended_ || is_late_) return true;
  if (++calls_ % 64 == 0) is_late_ = monotonic_ns() > deadline_ns_;
  return is_late_;
}

}  // namespace memflame
