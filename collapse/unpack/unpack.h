// SPDX-License-Identifier: BSD-2-Clause
// Streams that unpack other streams, one file each.
#pragma once

#include <memory>
#include <string_view>

#include "collapse/source.h"

namespace memflame {

// Wraps `stream`, whose first bytes are `begin`, in a stream that unpacks it, or returns it
// unchanged. `begin` was read already, and is read again from the result.
std::unique_ptr<ByteStream> unpacked(std::string begin, std::unique_ptr<ByteStream> stream);

// Bytes that were read before, then the rest.
std::unique_ptr<ByteStream> with_beginning(std::string begin, std::unique_ptr<ByteStream> rest);

// One or more members or frames in a row. They throw Error if these are damaged or end too soon.
std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> packed);
std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<ByteStream> packed);

// With or without the byte order mark; unpaired surrogates become U+FFFD.
std::unique_ptr<ByteStream> utf16_as_utf8(std::unique_ptr<ByteStream> text, bool big_endian);

}  // namespace memflame
