// SPDX-License-Identifier: BSD-2-Clause
// Streams around streams, one file each.
#pragma once

#include <memory>
#include <string_view>

#include "collapse/source.h"

namespace memflame {

// Puts a stream that unpacks `begin`… around `stream`, or returns it as it is. `begin` is what was
// read of it already, and is read again from the result.
std::unique_ptr<ByteStream> unpacked(std::string begin, std::unique_ptr<ByteStream> stream);

// Bytes that were read before, then the rest.
std::unique_ptr<ByteStream> with_beginning(std::string begin, std::unique_ptr<ByteStream> rest);

// One or more members or frames in a row. Throw Error when they are damaged or end too soon.
std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<ByteStream> packed);

// With or without the byte order mark; halves of pairs become U+FFFD.
std::unique_ptr<ByteStream> utf16_as_utf8(std::unique_ptr<ByteStream> text, bool big_endian);

}  // namespace memflame
