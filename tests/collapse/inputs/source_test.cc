// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source.h"

#include <doctest/doctest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <array>

#include "collapse/lines.h"
#include "collapse/unpack/unpack.h"
#include "core/error.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string gzip(const std::string& text) {
  z_stream state{};
  REQUIRE(deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&state, text.size()), '\0');
  std::string copy = text;
  state.next_in = reinterpret_cast<Bytef*>(copy.data());
  state.avail_in = static_cast<uInt>(copy.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&state, Z_FINISH) == Z_STREAM_END);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string xz(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  REQUIRE(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                  reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                  reinterpret_cast<uint8_t*>(packed.data()), &size,
                                  packed.size()) == LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string unpacked_text(const std::string& bytes) { return Source::of_memory(bytes).all(); }

std::string failure(const std::string& bytes) {
  try {
    Source source = Source::of_memory(bytes, "x");
    source.all();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Longer than every buffer, and hard to compress.
std::string long_text() {
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 200000; ++i) {
    random = random * 1664525 + 1013904223;
    text += "frame" + std::to_string(random >> 8U) + ";";
  }
  return text;
}

}  // namespace

TEST_CASE("nothing is read where nothing is asked for") {
  char byte = 0;
  for (auto* pack : {gzip, zstd, xz}) {
    const auto stream = unpacked(pack("text"), nullptr);
    CHECK(stream->read(&byte, 0) == 0);
    CHECK(stream->read(&byte, 1) == 1);
    CHECK(byte == 't');
  }
}

TEST_CASE("packed inputs are read as they are") {
  const std::string text = long_text();
  REQUIRE(text.size() > (2U << 20U));
  for (auto* pack : {gzip, zstd, xz}) {
    CHECK(unpacked_text(pack(text)) == text);
    CHECK(unpacked_text(pack("")) == "");
    // As `cat a.gz b.gz` makes them.
    CHECK(unpacked_text(pack("a;b 1\n") + pack("a;c 2\n")) == "a;b 1\na;c 2\n");
  }
  CHECK(unpacked_text(text) == text);
  CHECK(unpacked_text("") == "");
  CHECK(unpacked_text("ab") == "ab");
}

TEST_CASE("packed inputs that end too soon or are damaged say so") {
  const std::string text = long_text();
  for (auto* pack : {gzip, zstd, xz}) {
    std::string packed = pack(text);
    CHECK(failure(packed.substr(0, packed.size() / 2)).ends_with("data ends too soon"));
    CHECK(failure(packed.substr(0, packed.size() - 1)).ends_with("data ends too soon"));
    for (size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) packed[i] = 'x';
    CHECK(failure(packed).find("is damaged") != std::string::npos);
  }
  CHECK(failure(gzip(text) + "\nno gzip") == "x: its gzip data is damaged: incorrect header check");
  const std::string padding(size_t{300} << 10U, '\0');
  CHECK(failure(gzip(text) + padding + "x").find("zeros and more behind its end") !=
        std::string::npos);
}

TEST_CASE("zeros behind packed data are padding") {
  const std::string padding(size_t{300} << 10U, '\0');
  CHECK(unpacked_text(gzip("a;b 1\n") + '\0') == "a;b 1\n");
  CHECK(unpacked_text(gzip("a;b 1\n") + gzip("a;c 2\n") + padding) == "a;b 1\na;c 2\n");
}

TEST_CASE("UTF-16 becomes UTF-8") {
  using namespace std::string_literals;
  CHECK(unpacked_text("\xFF\xFE"
                      "a\0\xE9\0\xAC\x20\x3D\xD8\x00\xDE\n\0"s) == "aé€😀\n");
  CHECK(unpacked_text("\xFE\xFF"
                      "\0a\0\xE9\x20\xAC\xD8\x3D\xDE\x00"s) == "aé€😀");
  // Lone surrogates, and half a code unit at the end.
  CHECK(unpacked_text("\xFF\xFE"
                      "\x00\xDE"
                      "\x3D\xD8"
                      "a\0"
                      "b"s) == "\uFFFD\uFFFDa\uFFFD");
  CHECK(unpacked_text("\xEF\xBB\xBF"
                      "a 1") == "a 1");
}

TEST_CASE("the head does not take what it shows") {
  const std::string text = long_text();
  Source source = Source::of_memory(text);
  CHECK(source.head() == text.substr(0, Source::head_size));
  std::array<char, 10> buffer{};
  CHECK(source.read(buffer.data(), buffer.size()) == buffer.size());
  CHECK(std::string(buffer.data(), buffer.size()) + source.all() == text);
  CHECK(source.read(buffer.data(), buffer.size()) == 0);
  CHECK_THROWS_WITH_AS(Source::of_memory(text, "big").all(1 << 20), "big: it is larger than 1 MiB",
                       Error);
}

TEST_CASE("what cannot be opened or read is named") {
  CHECK_THROWS_WITH_AS(Source::open("/nowhere/x"),
                       "cannot read /nowhere/x: No such file or directory", Error);
  CHECK_THROWS_WITH_AS(Source::open("/"), "/: cannot be read: Is a directory", Error);
}

TEST_CASE("lines keep their numbers and their ends") {
  const std::string filler(3 << 20, 'y');
  Source source = Source::of_memory("a\r\n\n" + filler + "\nlast");
  Lines lines(source);
  std::vector<std::string> got;
  std::vector<bool> ended;
  while (lines.next()) {
    got.emplace_back(lines.line());
    ended.push_back(lines.ended());
    if (got.size() == 2) lines.again();
  }
  CHECK(got == std::vector<std::string>{"a", "", "", filler, "last"});
  CHECK(ended == std::vector<bool>{true, true, true, true, false});
  CHECK(lines.number() == 4);
}
