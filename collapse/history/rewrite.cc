// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/rewrite.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "collapse/chunks/chunks.h"
#include "collapse/history/thin.h"
#include "core/error.h"

namespace memflame {
namespace {

// The bytes of a file, then those in memory.
class Joined {
 public:
  Joined(int fd, uint64_t size, std::string_view rest) : fd_(fd), left_(size), rest_(rest) {}

  bool at_end() const { return left_ == 0 && rest_.empty(); }

  // Exactly `size` bytes. They do not cross from the file to the rest: both are whole chunks.
  std::string_view read(size_t size) {
    if (left_ == 0) {
      if (size > rest_.size()) throw Error("internal: a recording ends in the middle of a chunk");
      const std::string_view part = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return part;
    }
    if (size > left_) throw Error("it was changed by another program");
    bytes_.resize(size);
    for (size_t done = 0; done < size;) {
      const ssize_t got =
          ::pread(fd_, bytes_.data() + done, size - done, static_cast<off_t>(place_ + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error(std::strerror(errno));
      if (got == 0) throw Error("it was changed by another program");
      done += static_cast<size_t>(got);
    }
    place_ += size;
    left_ -= size;
    return bytes_;
  }

 private:
  int fd_;
  uint64_t place_ = 0, left_;
  std::string_view rest_;
  std::string bytes_;
};

class Rewriter {
 public:
  Rewriter(int to, size_t old_looks, LookEncoder encoder, LookDecoder decoder)
      : to_(to), old_looks_(old_looks), encoder_(std::move(encoder)), decoder_(std::move(decoder)) {
    for (size_t i = 0; i < table_kinds.size(); ++i) tables_[i].kind = table_kinds[i];
  }

  Rewritten run(Joined& from) {
    write(recording_magic);
    from.read(recording_magic.size());
    while (!from.at_end()) take(from);
    flush_tables();
    flush_looks();
    return {.encoder = std::move(encoder_),
            .bytes = place_,
            .look_bytes = look_bytes_,
            .looks = looks_written_,
            .chunks = chunks_};
  }

 private:
  void take(Joined& from) {
    const std::optional<ChunkHead> head = ChunkHead::read(from.read(ChunkHead::size));
    if (!head) throw Error("it was changed by another program");
    const auto kind = static_cast<ChunkKind>(head->kind);
    const std::string_view stored = from.read(head->stored_bytes);
    if (is_of_events(kind)) return copy(*head, stored);
    const std::string_view content = unpacker_.unpack(*head, stored);
    if (kind == ChunkKind::looks) return take_looks(content);
    for (Chunk& table : tables_) {
      if (table.kind != kind) continue;
      if (table.content.size() + content.size() > usual_chunk) flush_tables();
      table.content += content;
      return;
    }
    const Chunk other{.kind = kind, .content = std::string(content)};
    flush_tables();
    flush_looks();
    write(other);
  }

  // Events refer to tables only.
  void copy(const ChunkHead& head, std::string_view stored) {
    ChunkUnpacker::check(head, stored);
    flush_tables();
    packed_.clear();
    ChunkPacker::copy(head, stored, chunks_++, packed_);
    write(packed_);
  }

  // The tables are written in their order, and before the looks that need them.
  void flush_tables() {
    for (Chunk& table : tables_) {
      if (!table.content.empty()) write(table);
      table.content.clear();
    }
  }

  void take_looks(std::string_view content) {
    constexpr LookLimits any{.tracks = UINT32_MAX, .spaces = UINT32_MAX};
    MemoryBudget budget;
    budget.allow(largest_chunk);
    std::vector<Look> looks;
    ByteReader in(content);
    decoder_.decode(in, any, budget, looks);
    for (Look& look : looks) {
      std::optional<Look> kept = thinner_.add(std::move(look), looks_read_++ < old_looks_);
      if (!kept) continue;
      constexpr size_t rows_of_a_group = 32'768, cells_of_a_group = 65'536;
      rows_ += kept->rows.size() + 1;
      cells_ += kept->cells.size();
      group_.push_back(std::move(*kept));
      if (rows_ >= rows_of_a_group || cells_ >= cells_of_a_group) {
        flush_tables();
        flush_looks();
      }
    }
  }

  void flush_looks() {
    if (group_.empty()) return;
    looks_written_ += group_.size();
    const uint64_t before = place_;
    write({.kind = ChunkKind::looks, .content = encoder_.encode(group_)});
    look_bytes_ += place_ - before;
    group_.clear();
    rows_ = cells_ = 0;
  }

  void write(const Chunk& chunk) {
    packed_.clear();
    packer_.pack(chunk, chunks_++, packed_);
    write(packed_);
  }
  void write(std::string_view bytes) {
    write_at(to_, bytes, place_);
    place_ += bytes.size();
  }

  int to_;
  size_t old_looks_, looks_read_ = 0, looks_written_ = 0;
  LookEncoder encoder_;
  LookDecoder decoder_;
  LookThinner thinner_;
  ChunkPacker packer_;
  ChunkUnpacker unpacker_;
  std::array<Chunk, table_kinds.size()> tables_;
  std::vector<Look> group_;
  size_t rows_ = 0, cells_ = 0;  // of the group
  std::string packed_;
  uint64_t place_ = 0, look_bytes_ = 0;
  uint16_t chunks_ = 0;
};

}  // namespace

Rewritten rewrite(int from, uint64_t from_bytes, std::string_view rest, int to, size_t old_looks,
                  LookEncoder fresh, LookDecoder decoder) {
  Joined bytes(from, from_bytes, rest);
  return Rewriter(to, old_looks, std::move(fresh), std::move(decoder)).run(bytes);
}

void write_at(int fd, std::string_view bytes, uint64_t place) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw Error(std::strerror(put < 0 ? errno : ENOSPC));
    place += static_cast<uint64_t>(put);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace memflame
