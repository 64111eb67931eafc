// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source/source.h"

#include <bzlib.h>
#include <doctest/doctest.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <array>

#include "collapse/source/unpack.h"
#include "collapse/text/lines.h"
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

std::string lz4(const std::string& text) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string packed(LZ4F_compressFrameBound(text.size(), &preferences), '\0');
  packed.resize(
      LZ4F_compressFrame(packed.data(), packed.size(), text.data(), text.size(), &preferences));
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

std::string bzip2(const std::string& text) {
  std::string packed(text.size() + text.size() / 100 + 601, '\0');
  auto size = static_cast<unsigned>(packed.size());
  std::string copy = text;
  REQUIRE(BZ2_bzBuffToBuffCompress(packed.data(), &size, copy.data(),
                                   static_cast<unsigned>(copy.size()), 1, 0, 0) == BZ_OK);
  packed.resize(size);
  return packed;
}

std::string bytes_of(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> static_cast<unsigned>(8 * i));
  return bytes;
}

struct ZipOptions {
  bool deflated = true, descriptor = false, zip64 = false;
  uint16_t flags = 0;
};

// A header of an archive and the file behind it.
std::string zip_file(const std::string& name, const std::string& text, const ZipOptions& how = {}) {
  std::string data = text;
  if (how.deflated) {
    const std::string packed = gzip(text);
    constexpr size_t gzip_header = 10, gzip_trailer = 8;
    data = packed.substr(gzip_header, packed.size() - gzip_header - gzip_trailer);
  }
  const uint64_t sum = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  const std::string extra = how.zip64 ? bytes_of(1, 2) + bytes_of(16, 2) +
                                            bytes_of(text.size(), 8) + bytes_of(data.size(), 8)
                                      : "";
  const auto told = [&](uint64_t size) {
    return how.descriptor ? 0 : how.zip64 ? UINT32_MAX : size;
  };
  std::string file =
      "PK\x03\x04" + bytes_of(20, 2) + bytes_of(how.flags | (how.descriptor ? 8U : 0U), 2) +
      bytes_of(how.deflated ? 8 : 0, 2) + bytes_of(0, 4) + bytes_of(how.descriptor ? 0 : sum, 4) +
      bytes_of(told(data.size()), 4) + bytes_of(told(text.size()), 4) + bytes_of(name.size(), 2) +
      bytes_of(extra.size(), 2) + name + extra + data;
  const int size = how.zip64 ? 8 : 4;
  if (how.descriptor)
    file +=
        "PK\x07\x08" + bytes_of(sum, 4) + bytes_of(data.size(), size) + bytes_of(text.size(), size);
  return file;
}

const std::string zip_end = "PK\x01\x02" + std::string(42, '\0');

std::string zip(const std::string& text) { return zip_file("a", text) + zip_end; }

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

class Empty : public ByteStream {
 public:
  size_t read(char*, size_t) override { return 0; }
};

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
  for (auto* pack : {gzip, zstd, xz, bzip2, lz4, zip}) {
    const auto stream = unpacked(pack("text"), nullptr);
    CHECK(stream->read(&byte, 0) == 0);
    CHECK(stream->read(&byte, 1) == 1);
    CHECK(byte == 't');
  }
}

TEST_CASE("packed inputs are read as they are") {
  const std::string text = long_text();
  REQUIRE(text.size() > (2U << 20U));
  for (auto* pack : {gzip, zstd, xz, bzip2, lz4, zip}) {
    CHECK(unpacked_text(pack(text)) == text);
    CHECK(unpacked_text(pack("")) == "");
  }
  for (auto* pack : {gzip, zstd, xz, bzip2, lz4}) {
    // As `cat a.gz b.gz` makes them.
    CHECK(unpacked_text(pack("a;b 1\n") + pack("a;c 2\n")) == "a;b 1\na;c 2\n");
  }
  CHECK(unpacked_text(text) == text);
  CHECK(unpacked_text("") == "");
  CHECK(unpacked_text("ab") == "ab");
}

TEST_CASE("damaged packed inputs say so") {
  const std::string text = long_text();
  for (auto* pack : {gzip, zstd, xz, bzip2, lz4, zip}) {
    std::string packed = pack(text);
    for (size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) packed[i] = 'x';
    CHECK(failure(packed).find("is damaged") != std::string::npos);
  }
  CHECK(failure(gzip(text) + "\nno gzip") == "x: its gzip data is damaged: incorrect header check");
  const std::string padding(size_t{300} << 10U, '\0');
  CHECK(failure(gzip(text) + padding + "x").find("zeros and more behind its end") !=
        std::string::npos);
  CHECK(failure(zip_file("a", "b 1") + "nothing").find("no header where one should be") !=
        std::string::npos);
}

TEST_CASE("what is whole of a cut packed input comes first") {
  const std::string text = long_text();
  for (auto* pack : {gzip, zstd, xz, bzip2, lz4, zip}) {
    const std::string packed = pack(text);
    for (const size_t size : {packed.size() / 2, packed.size() - 50}) {
      const std::string cut = packed.substr(0, size);
      CHECK(failure(cut).find("data ends in the middle: its ") != std::string::npos);
      Source source = Source::of_memory(cut);
      source.accept_cut();
      const std::string got = source.all();
      CHECK(text.starts_with(got));
      CHECK(got.size() > text.size() / 3);
      CHECK(source.missing().find(" data ends in the middle: its ") != std::string::npos);
      // The same in small pieces.
      const auto stream = unpacked(cut, std::make_unique<Empty>());
      std::string pieces, piece(7, '\0');
      while (const size_t part = stream->read(piece.data(), piece.size()))
        pieces += piece.substr(0, part);
      CHECK(pieces == got);
    }
    // Only its beginning.
    CHECK(failure(packed.substr(0, 10)).find("ends in the middle") != std::string::npos);
    Source whole = Source::of_memory(packed);
    whole.all();
    CHECK(whole.missing().empty());
  }
  Source source = Source::of_memory(zstd(text).substr(0, 300000));
  source.accept_cut();
  source.all();
  CHECK(source.missing().starts_with(
      "its zstd data ends in the middle: its 300,000 bytes unpack to "));
  CHECK(source.missing().find(" of 2,") != std::string::npos);  // as its header states
}

TEST_CASE("a reader gets what is whole, and the profile says what is missing") {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "main;f" + std::to_string(i * 7919 % 20011) + " 1\n";
  const std::string packed = gzip(text), cut = packed.substr(0, packed.size() / 2);
  const Profile p = read_text(cut);
  CHECK(p.total(0) > 5000);
  CHECK(p.meta.notes.back().starts_with("text: its gzip data ends in the middle: its "));
  CHECK(error_of(cut, "", {.refuse_truncated = true}).find("ends in the middle") !=
        std::string::npos);
  CHECK(error_of(gzip("{\"dhatFileVersion\":2,\"pps\":[" + text).substr(0, 1000))
            .find("; its gzip data ends in the middle: its 1,000 bytes") != std::string::npos);
}

TEST_CASE("zip archives hold one file") {
  const std::string text = "a;b 1\n";
  const auto read = [&](const ZipOptions& how) {
    return unpacked_text(zip_file("a.folded", text, how) + zip_end);
  };
  CHECK(read({.deflated = false}) == text);
  CHECK(read({.descriptor = true}) == text);
  CHECK(read({.descriptor = true, .zip64 = true}) == text);
  CHECK(read({.deflated = false, .zip64 = true}) == text);
  std::string unmarked = zip_file("a.folded", text, {.descriptor = true});
  unmarked.erase(unmarked.find("PK\x07\x08"), 4);
  CHECK(unpacked_text(unmarked + zip_end) == text);
  const std::string folder = zip_file("runs/", "", {.deflated = false});
  CHECK(unpacked_text(folder + zip_file("runs/a", text) + zip_end) == text);
  CHECK(failure(zip_file("a", text) + folder + zip_file("b", text) + zip_end) ==
        "x: it is a zip archive of several files, 'a', 'b' and perhaps more: give one, as with "
        "'unzip -p FILE a'");
  CHECK(failure("PK\x05\x06" + std::string(18, '\0')) == "x: its zip archive has no file");
  CHECK(failure(zip_file("a", text, {.flags = 1})).find("is encrypted") != std::string::npos);
  CHECK(failure(zip_file("a", text, {.deflated = false, .descriptor = true}))
            .find("does not say where its file ends") != std::string::npos);
  std::string other = zip_file("a", text, {.deflated = false}) + zip_end;
  other[other.find(text)] = 'x';
  CHECK(failure(other) == "x: its zip data is damaged: its checksum is another");
  std::string method = zip(text);
  method[8] = 12;
  CHECK(failure(method).find("packed by method 12") != std::string::npos);
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
