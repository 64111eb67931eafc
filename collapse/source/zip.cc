// SPDX-License-Identifier: BSD-2-Clause
// A zip archive of one file, read from front to back, so that it may come through a pipe: a header,
// its data, perhaps a descriptor with sizes and checksum, and behind the last file the directory,
// which repeats the headers.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr std::string_view file_mark = "PK\x03\x04", directory_mark = "PK\x01\x02",
                           empty_mark = "PK\x05\x06", descriptor_mark = "PK\x07\x08",
                           zip64_mark = "PK\x06\x06";

uint64_t little_endian(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct ZipFile {
  std::string name;
  uint64_t method = 0, packed_size = 0;
  uint64_t checksum = 0;
  bool has_descriptor = false;  // behind the data, with what the header could not know

  bool is_folder() const { return name.ends_with('/'); }
};

class Zip : public Unpacker {
 public:
  explicit Zip(std::unique_ptr<ByteStream> packed) : Unpacker("zip", std::move(packed)) {
    constexpr int raw = -MAX_WBITS;
    if (inflateInit2(&state_, raw) != Z_OK) throw Error("out of memory");
  }
  ~Zip() override { inflateEnd(&state_); }

 protected:
  size_t unpack(char* into, size_t size) override {
    size = std::min(size, size_t{1} << 30U);
    while (true) {
      if (place_ == Place::end) return 0;
      if (place_ == Place::between && !next_file()) return is_short_ ? cut_off() : 0;
      const size_t got = file_.method == 0 ? copy(into, size) : inflate_into(into, size);
      checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(into), got);
      if (got != 0) return got;
      if (is_short_) return cut_off();
    }
  }

 private:
  enum class Place : uint8_t { between, inside, end };

  // The next `size` bytes, or all there are.
  std::string_view peek(size_t size) {
    while (ready_.size() - at_ < size) {
      const std::span<char> bytes = more();
      if (bytes.empty()) break;
      ready_.erase(0, at_);
      at_ = 0;
      ready_.append(bytes.data(), bytes.size());
    }
    return std::string_view(ready_).substr(at_);
  }

  // Whether they are there; `bytes` are exactly that many.
  bool take(size_t size, std::string_view& bytes) {
    bytes = peek(size).substr(0, size);
    is_short_ |= bytes.size() < size;
    at_ += bytes.size();
    return bytes.size() == size;
  }

  // Goes to the first file; false behind the last one. Folders have no data.
  bool next_file() {
    std::string_view mark = peek(4).substr(0, 4);
    if (mark.size() < 4) {
      is_short_ = true;
      return false;
    }
    if (mark != file_mark) {
      if (mark != directory_mark && mark != empty_mark && mark != zip64_mark)
        damaged("no header where one should be");
      if (!has_file_) throw Error("its zip archive has no file");
      place_ = Place::end;
      return false;
    }
    ZipFile next;
    if (!take_header(next)) return false;
    if (!next.is_folder()) {
      if (has_file_)
        throw Error("it is a zip archive of several files, '" + first_ + "', '" + next.name +
                    "' and perhaps more: give one, as with 'unzip -p FILE " + first_ + "'");
      has_file_ = true;
      first_ = next.name;
    }
    file_ = std::move(next);
    left_ = file_.packed_size;
    checksum_ = crc32(0, nullptr, 0);
    inflateReset(&state_);
    place_ = Place::inside;
    return true;
  }

  bool take_header(ZipFile& next) {
    constexpr size_t header_size = 30;
    std::string_view header, name, extra;
    if (!take(header_size, header)) return false;
    const uint64_t flags = little_endian(header, 6, 2);
    next.method = little_endian(header, 8, 2);
    next.checksum = little_endian(header, 14, 4);
    next.packed_size = little_endian(header, 18, 4);
    const uint64_t size = little_endian(header, 22, 4);
    const size_t name_size = little_endian(header, 26, 2),
                 extra_size = little_endian(header, 28, 2);
    if (!take(name_size, name)) return false;
    next.name = name;
    if (!take(extra_size, extra)) return false;
    next.has_descriptor = (flags & 8U) != 0;
    take_long_sizes(extra, size, next);
    if ((flags & 1U) != 0)
      throw Error("its zip archive is encrypted: unpack it first, as with 'unzip -p FILE'");
    constexpr uint64_t deflated = 8;
    if (next.method != 0 && next.method != deflated)
      throw Error("its zip archive is packed by method " + std::to_string(next.method) +
                  ", not by deflate: unpack it first, as with 'unzip -p FILE'");
    if (next.method == 0 && next.has_descriptor && !next.is_folder())
      throw Error(
          "its zip archive does not say where its file ends: unpack it first, as with "
          "'unzip -p FILE'");
    return true;
  }

  // zip64: sizes that do not fit in 32 bits are in a field of their own, the unpacked one first.
  static void take_long_sizes(std::string_view extra, uint64_t size, ZipFile& next) {
    constexpr uint64_t too_long = 0xFFFFFFFF;
    while (extra.size() >= 4) {
      const uint64_t kind = little_endian(extra, 0, 2), length = little_endian(extra, 2, 2);
      extra.remove_prefix(4);
      if (length > extra.size()) return;
      const size_t at = size == too_long ? 8 : 0;
      if (kind == 1 && next.packed_size == too_long && length >= at + 8)
        next.packed_size = little_endian(extra, at, 8);
      extra.remove_prefix(length);
    }
  }

  size_t copy(char* into, size_t size) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(size, left_));
    if (wanted == 0) {
      end_file();
      return 0;
    }
    const std::string_view bytes = peek(1).substr(0, wanted);
    is_short_ |= bytes.empty();
    std::memcpy(into, bytes.data(), bytes.size());
    at_ += bytes.size();
    left_ -= bytes.size();
    return bytes.size();
  }

  size_t inflate_into(char* into, size_t size) {
    state_.next_out = reinterpret_cast<Bytef*>(into);
    state_.avail_out = static_cast<uInt>(size);
    while (state_.avail_out == size) {
      const size_t known = peek(1).size();
      state_.next_in = reinterpret_cast<Bytef*>(ready_.data() + at_);
      state_.avail_in = static_cast<uInt>(known);
      const int result = inflate(&state_, Z_NO_FLUSH);
      at_ += known - state_.avail_in;
      if (result == Z_STREAM_END) {
        is_inflated_ = true;
        break;
      }
      if (result != Z_OK && result != Z_BUF_ERROR) damaged(state_.msg != nullptr ? state_.msg : "");
      if (known == 0 && state_.avail_out == size) {
        is_short_ = true;
        break;
      }
    }
    const size_t got = size - state_.avail_out;
    if (got == 0 && is_inflated_) end_file();
    return got;
  }

  void end_file() {
    is_inflated_ = false;
    place_ = Place::between;
    if (file_.has_descriptor && !take_descriptor()) return;
    if (file_.checksum != checksum_) damaged("its checksum is another");
  }

  // The checksum and two sizes, with or without a mark; the sizes have 4 bytes, or 8 with zip64.
  bool take_descriptor() {
    std::string_view bytes;
    if (peek(4).substr(0, 4) == descriptor_mark && !take(4, bytes)) return false;
    if (!take(4, bytes)) return false;
    file_.checksum = little_endian(bytes, 0, 4);
    const auto is_mark = [&](size_t at) {
      const std::string_view next = peek(at + 4);
      if (next.size() < at + 4) return false;
      const std::string_view mark = next.substr(at, 4);
      return mark == file_mark || mark == directory_mark;
    };
    return take(is_mark(8) ? 8 : 16, bytes);
  }

  z_stream state_{};
  std::string ready_;  // packed bytes; those before at_ are done
  size_t at_ = 0;
  Place place_ = Place::between;
  ZipFile file_;
  std::string first_;  // name of the file that is not a folder
  uint64_t left_ = 0;  // bytes of a file that is not packed
  uLong checksum_ = 0;
  bool has_file_ = false, is_inflated_ = false;
  bool is_short_ = false;  // the archive ends too soon
};

}  // namespace

std::unique_ptr<ByteStream> unpack_zip(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Zip>(std::move(packed));
}

}  // namespace memflame
