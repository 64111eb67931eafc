// SPDX-License-Identifier: BSD-2-Clause
// Streams that unpack other streams, one file each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collapse/source/source.h"

namespace memflame {

// Wraps `stream`, whose first bytes are `begin`, in a stream that unpacks it, or returns it
// unchanged. `begin` was read already, and is read again from the result.
std::unique_ptr<ByteStream> unpacked(std::string begin, std::unique_ptr<ByteStream> stream);

// Bytes that were read before, then the rest.
std::unique_ptr<ByteStream> with_beginning(std::string begin, std::unique_ptr<ByteStream> rest);

// One or more members or frames in a row. They throw Error if these are damaged. If they end too
// soon, what can be unpacked comes first, and missing() says so.
std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_bzip2(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_lz4(std::unique_ptr<ByteStream> packed);
// An archive of one file, beside folders. Throws Error if there are several files.
std::unique_ptr<ByteStream> unpack_zip(std::unique_ptr<ByteStream> packed);

// The events of a recording of bytehound, and whether an input begins like one.
std::unique_ptr<ByteStream> unpack_bytehound(std::unique_ptr<ByteStream> packed);
bool is_bytehound_blocks(std::string_view begin);

// With or without the byte order mark; unpaired surrogates become U+FFFD.
std::unique_ptr<ByteStream> utf16_as_utf8(std::unique_ptr<ByteStream> text, bool big_endian);

}  // namespace memflame
