// SPDX-License-Identifier: BSD-2-Clause
// The bytes of one input, however packed: gzip, zstd, xz, bzip2, lz4, bytehound's blocks and a zip
// archive of one file are unpacked, UTF-16 becomes UTF-8, a UTF-8 byte order mark is dropped.
// Memory does not depend on the length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

// Bytes of a regular file from one place on, and how long it was when it was looked at.
struct FilePart {
  int file = -1;  // belongs to the stream
  uint64_t begin = 0, end = 0;
};

// Where bytes come from; one wraps another. Not thread-safe.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;
  // Up to `size` bytes; 0 only at the end. Throws Error if the input is damaged or unreadable.
  virtual size_t read(char* into, size_t size) = 0;
  // After the end: why it is not the whole input, as "its gzip data ends in the middle: …"; "" if
  // it is.
  virtual std::string missing() const { return {}; }
  // What has not been read yet, if that stands in a file as it is.
  virtual std::optional<FilePart> part_of_file() const { return {}; }
};

class Source {
 public:
  // "-" is standard input. Throws Error if it cannot be opened.
  static Source open(const std::string& path);
  static Source of_memory(std::string bytes, std::string name = "memory");
  // Bytes that `open` begins anew each time. Throws what it throws.
  using Open = std::function<std::unique_ptr<ByteStream>()>;
  static Source of_stream(Open open, std::string name);

  // For messages.
  const std::string& name() const { return name_; }

  // When the file was last changed (CLOCK_REALTIME); INT64_MAX if it is not a file.
  int64_t changed_ns() const { return changed_ns_; }

  // The same file from its beginning. Throws Error if that is not something that can be read again.
  Source again() const;

  // Packed data that ends in the middle is an error where it ends, or, after this, an end.
  void accept_cut() { accepts_cut_ = true; }
  // After the end: what is missing then (ByteStream::missing()).
  std::string missing() const { return stream_->missing(); }

  // Its beginning, at most head_size bytes, without consuming it.
  static constexpr size_t head_size = size_t{64} << 10U;
  std::string_view head() const { return head_; }

  // All of it, if it stands in a file as it is and nothing has been read: threads can read that
  // side by side. This object must live until then, and is not read from.
  std::optional<FilePart> part_of_file() const;

  // Fills `into` unless the input ends first; 0 at the end.
  size_t read(char* into, size_t size);

  // The rest, for formats that must be read whole. Throws Error beyond `limit` bytes.
  std::string all(size_t limit = size_t{8} << 30U);

  // "NAME: what"; with a line: "NAME:12: what".
  [[noreturn]] void fail(const std::string& what, size_t line = 0) const;

 private:
  Source(std::string name, std::unique_ptr<ByteStream> stream);

  std::string name_;
  Open open_;  // of of_stream()
  std::unique_ptr<ByteStream> stream_;
  std::string head_;
  std::optional<FilePart> part_;
  int64_t changed_ns_ = INT64_MAX;
  size_t taken_ = 0;  // of the head
  bool accepts_cut_ = false;
};

}  // namespace memflame
