// SPDX-License-Identifier: BSD-2-Clause
// Recordings of bytehound as recordings.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/files/heaptrack_input.h"
#include "collapse/history/reader.h"
#include "collapse/inputs/heap/bytehound.h"
#include "collapse/select/event_blocks.h"
#include "collapse/select/event_views.h"
#include "collapse/select/parse.h"
#include "collapse/source/lz4_block.h"
#include "core/error.h"
#include "tests/collapse/bytehound_writer.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class RecordedFile {
 public:
  explicit RecordedFile(const std::string& bytes) {
    const int fd = ::mkstemp(path_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~RecordedFile() { ::unlink(path_.c_str()); }
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/memflame-bytehound-XXXXXX";
};

using Totals = std::vector<int64_t>;

struct Hound {
  explicit Hound(const std::string& bytes, const HeaptrackRawOptions& options = {})
      : source(open_input(RecordedFile(bytes).path(), options)),
        history(read_history(source, state)),
        events([this] { return source.again(); }, history, state),
        blocks(events, history) {}

  Totals totals(HistoryView view, const std::string& where = "") {
    HistoryRange range;
    range.view = view;
    Query query;
    if (!where.empty()) add_where(query, "--where", where);
    const ViewFigures figures = figures_of_blocks(blocks, range, query);
    Totals sums(figures.types.size());
    for (const Aggregate& sum : figures.sums)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += sum.values[i];
    return sums;
  }
  bool says(std::string_view text) const {
    const auto& notes = history.recording.meta.notes;
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }
  bool has_stack(const std::vector<uint64_t>& leaf_first) const {
    std::vector<Pc> pcs;
    pcs.reserve(leaf_first.size());
    for (const uint64_t address : leaf_first) pcs.push_back({address, true});
    const auto& stacks = history.recording.stacks;
    return std::any_of(stacks.begin(), stacks.end(),
                       [&](const RawStack& stack) { return stack.pcs == pcs; });
  }
  uint64_t not_understood() const { return history.recording.losses[Loss::input_line].events; }

  Source source;
  RecordingState state;
  History history;
  EventFile events;
  EventBlocks blocks;
};

std::string hound_error(const std::string& bytes, const HeaptrackRawOptions& options = {}) {
  try {
    open_input(RecordedFile(bytes).path(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool fails_with(const std::string& bytes, std::string_view why,
                const HeaptrackRawOptions& options = {}) {
  const std::string error = hound_error(bytes, options);
  CAPTURE(error);
  const bool found = error.find(why) != std::string::npos;
  CHECK(found);
  return found;
}

const std::string list =
    "00010000-00020000 r-xp 00001000 fe:00 15 /opt/brew\n"
    "00700000-00701000 r-xp 00000000 fe:00 16 /opt/libbytehound.so\n";

BytehoundWriter begun() {
  BytehoundWriter writer;
  writer.header().maps(list);
  writer.backtrace(1, {0x700100, 0x700123, 0x11010, 0x11020}).backtrace(2, {0x700123, 0x11030});
  return writer;
}

}  // namespace

TEST_CASE("bytehound: blocks have their sizes, times, threads, chains and stacks") {
  BytehoundWriter writer = begun();
  writer.alloc(100, 1, 0xa000, 16, 1).alloc(200, 2, 0xb000, 32, 2, 9);
  writer.realloc(20'000, 1, 0xa000, 0xc000, 64, 2).free(30'000, 2, 0xb000);
  // The address of a block whose free comes later in the file.
  writer.alloc(40'000, 3, 0xd000, 8, 1).alloc(40'001, 4, 0xd000, 8, 1).free(40'000, 3, 0xd000);
  for (const std::string& bytes :
       {writer.packed(), writer.packed(30), writer.plain(), writer.packed(1000)}) {
    Hound read(bytes);
    CHECK(read.state.has_events);
    CHECK(read.history.is_complete);
    const Recording& recording = read.history.recording;
    CHECK(recording.meta.title == "bytehound");
    CHECK(recording.meta.command == "bytehound /opt/brew --tea");
    CHECK(recording.meta.began_ns == 1'700'000'000'000'000'000);
    CHECK(recording.spaces[1].comm == "brew");
    CHECK(recording.spaces[1].pid == 4711);
    CHECK(read.not_understood() == 0);
    CHECK(read.totals(HistoryView::live) == Totals{72, 2, 128, 5});
    CHECK(read.totals(HistoryView::leaked) == Totals{72, 2});
    CHECK(read.totals(HistoryView::live, "chain.length = 2") == Totals{64, 1, 80, 2});
    CHECK(read.totals(HistoryView::total, "thread = 9") == Totals{0, 0, 32, 1});
    CHECK(read.totals(HistoryView::total, "lifetime >= 29ms and not leaked") ==
          Totals{0, 0, 32, 1});
    // Without bytehound's frames, but with the function that was called.
    CHECK(read.has_stack({0x700123, 0x11010, 0x11020}));
    CHECK(read.has_stack({0x700123, 0x11030}));
    CHECK(read.says("1 events are older than those before them in the file, by up to 1 us"));
  }
}

TEST_CASE("bytehound: names come from the copies of files in it") {
  // This program, under a path where there is nothing.
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(self), {}};
  std::ifstream maps("/proc/self/maps");
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string mapped, line;
  while (std::getline(maps, line)) {
    const size_t at = line.find(path);
    mapped += at == std::string::npos ? line : line.substr(0, at) + "/nowhere/brew";
    mapped += "\n";
  }
  const auto address = reinterpret_cast<uint64_t>(&is_bytehound) + 1;
  for (const bool files : {true, false}) {
    BytehoundWriter writer;
    writer.header()
        .maps(mapped)
        .file("/nowhere/brew", files ? program : "text")
        .file("/etc/text", "text");
    writer.backtrace(1, {address}).alloc(1, 1, 0xa000, 16, 1);
    // Longer blocks without a match begin with a longer length than memflame looks at.
    Hound read(writer.packed(1500), {.files = files});
    const auto& locations = read.history.recording.locations;
    const bool named = std::any_of(locations.begin(), locations.end(), [](const Location& each) {
      return !each.symbols.empty() &&
             each.symbols.back().function.find("is_bytehound") != std::string::npos;
    });
    CHECK(named == files);
  }
}

TEST_CASE("bytehound: events of all versions") {
  BytehoundWriter writer = begun();
  // Without numbers of blocks; files with a short length; stacks as differences.
  writer.u32(1).u64(0).allocation(0xa000, 8, 1, 1);
  writer.u32(2).u64(0).u64(0xa000).allocation(0xb000, 9, 1, 1);
  writer.u32(1).u64(0).allocation(0xc000, 1, 1, 1);
  writer.u32(3).u64(0).u64(0xc000).u64(0).u32(1);
  writer.u32(4).u64(0).text("/etc/text").text("text");
  writer.u32(13).u64(7).u32(1).u32(0xffffffff).u32(2).u64(0x11050).u64(0x11060);
  writer.u32(13).u64(8).u32(1).u32(1).u32(1).u64(0x11055);
  writer.u32(18).u64(9).u32(1).u32(2).u32(1).u32(0x11070);
  writer.u32(19).u64(10).u32(1).u32(0x11080);
  for (const uint64_t trace : std::vector<uint64_t>{8, 9, 10})
    writer.alloc(1, trace, trace, 1, trace);
  // What is passed over.
  writer.u32(6).u64(1).u64(2).text("memory").u32(7).u32(1);
  writer.u32(8).u64(0).u64(1).u64(2).u64(3).u64(4).u32(1).u32(2).u32(3).u32(4).u64(5);
  writer.u32(9).u64(0).u64(1).u64(2).u64(3).u32(1);
  writer.u32(10).u64(0).u64(1).u32(1).u32(2).u32(3).u32(4).u32(11).text("A=1");
  writer.u32(12).u64(1).u64(2).u64(3);
  const uint64_t large = 0x123456789abcdef;
  writer.u32(24).u64(0).varint(1).u64(2).varint(300).varint(70'000).varint(large);
  writer.u32(1).u32(2).u32(3).varint(5).bytes("[map]");
  writer.u32(25).u64(0).varint(1).u64(2).varint(uint64_t{1} << 63U).varint(1);
  writer.u64(3).varint(4).u64(5).varint(6).u32(7);
  writer.u32(26).u64(0).varint(1).u64(2);
  for (const uint64_t size : std::vector<uint64_t>{0, 127, 128, 16'383, 16'384, 1 << 30, 5})
    writer.varint(size);
  writer.u32(27).varint(1).u64(2).varint(3).varint(4).u32(5).u32(6).u32(7).varint(8);
  writer.u64(9).varint(10).u32(11);
  writer.header();  // again, as for a client
  writer.alloc(2, 99, 0xe000, 100, 2);
  Hound read(writer.packed());
  CHECK(read.not_understood() == 0);
  CHECK(read.totals(HistoryView::live) == Totals{112, 5, 121, 7});
  CHECK(read.has_stack({0x11055, 0x11060}));
  CHECK(read.has_stack({0x11070}));
  CHECK(read.has_stack({0x11080}));
}

TEST_CASE("bytehound: code that is unmapped and another that is mapped there later") {
  BytehoundWriter writer;
  writer.header().maps("00010000-00020000 r-xp 00000000 fe:00 15 /opt/a.so\n");
  writer.backtrace(1, {0x10010}).alloc(1, 1, 1, 1, 1);
  writer.maps("00010000-00020000 r-xp 00000000 fe:00 16 /opt/b.so\nnonsense\n");
  writer.backtrace(2, {0x10010}).alloc(2, 2, 2, 1, 2);
  Hound read(writer.packed());
  const std::vector<Mapping>& mappings = read.history.recording.spaces[1].mappings;
  REQUIRE(mappings.size() == 2);
  CHECK(mappings[0].until_ns == mappings[1].from_ns);
  CHECK(read.says("1 lines of lists of mappings were not understood"));
}

TEST_CASE("bytehound: what is cut, damaged, unknown or from elsewhere") {
  BytehoundWriter writer = begun();
  writer.alloc(100, 1, 0xa000, 16, 1);
  const std::string whole = writer.packed();
  BytehoundWriter cut = writer;
  cut.u32(20).u64(1);
  CHECK(Hound(cut.packed()).says("the input ends in the middle of an event; that event was left"));
  fails_with(cut.packed(), "ends in the middle of an event", {.refuse_truncated = true});
  Hound torn(writer.packed(60) + BytehoundWriter::head(1, 100) + "x");
  CHECK(torn.says("bytehound data ends in the middle"));
  CHECK(torn.totals(HistoryView::live) == Totals{16, 1, 16, 1});
  fails_with(whole + BytehoundWriter::head(3, 1) + "x", "a block of an unknown kind");
  fails_with(whole + BytehoundWriter::head(1, 5) + std::string("\x0f\1\0\0\0", 5),
             "a block is not LZ4");
  fails_with(whole + BytehoundWriter::head(1, 0xffffffff), "a block is too large");
  BytehoundWriter unknown = writer;
  unknown.u32(77).u64(1);
  Hound ended(unknown.packed());
  CHECK(ended.not_understood() == 1);
  CHECK(ended.says("an event of an unknown kind, 77, is at byte"));
  BytehoundWriter lost = writer;
  lost.free(200, 9, 0xb000).alloc(300, 1, 0xc000, 8, 77);
  Hound odd(lost.packed());
  CHECK(odd.says("1 frees and reallocs were of blocks that are not in it"));
  CHECK(odd.says("1 blocks were allocated where another one lived"));
  CHECK(odd.says("1 blocks have a stack that is not in it"));
  fails_with(begun().packed(), "no allocation is in it");
  BytehoundWriter large = begun();
  fails_with(large.alloc(1, 1, 1, uint64_t{1} << 63U, 1).packed(), "size leaves the range");
  BytehoundWriter sum = begun();
  sum.alloc(1, 1, 1, INT64_MAX, 1).alloc(1, 2, 2, INT64_MAX, 1);
  fails_with(sum.packed(), "leaves the range of 64 bits");
  BytehoundWriter processed = begun();
  fails_with(processed.u32(14).u32(1).text("f").packed(), "bytehound has processed it");
  BytehoundWriter big;
  fails_with(big.header("/opt/brew", "mips64", 0).packed(), "big-endian");
  CHECK_FALSE(is_bytehound(BytehoundWriter().header("/opt/brew", "z80").events()));
  CHECK_FALSE(is_bytehound(writer.events().substr(0, 70)));
  CHECK(is_bytehound(writer.events()));
}

TEST_CASE("bytehound: stacks that unfold without bound are refused") {
  BytehoundWriter writer = begun();
  writer.u32(13).u64(7).u32(1).u32(0xffffffff).u32(100'000);
  for (int i = 0; i < 100'000; ++i) writer.u64(0x11050);
  for (uint64_t i = 0; i < 200; ++i) writer.u32(13).u64(8 + i).u32(1).u32(0).u32(0);
  fails_with(writer.packed(1000), "unfold to more than 8 frames a byte");
  BytehoundWriter many = begun();
  fails_with(many.u32(5).u64(7).u32(0x7fffffff).packed(), "a list has more than 1048576 numbers");
}

TEST_CASE("blocks of LZ4") {
  std::vector<char> out;
  const auto unpacked = [&](const std::string& block, size_t most = 1000) {
    return unpack_lz4_block(block, out, most) ? std::string(out.begin(), out.end()) : "damaged";
  };
  const std::string run(
      "\x10"
      "a\1\0",
      4);  // "a", and four bytes from one before
  CHECK(unpacked("") == "");
  CHECK(unpacked("\x30"
                 "abc") == "abc");
  CHECK(unpacked(run) == "aaaaa");  // liblz4 refuses a match at the end
  CHECK(unpacked(run + "\x20"
                       "bc") == "aaaaabc");
  CHECK(unpacked(std::string("\x30"
                             "abc\3\0\0",
                             7)) == "abcabca");
  CHECK(unpacked(std::string("\x1f"
                             "a\1\0\xff\1",
                             6)) == std::string(276, 'a'));
  CHECK(unpacked(std::string("\xf0\1", 2) + std::string(16, 'x')) == std::string(16, 'x'));
  for (const std::string& bad : {std::string("\x10"), std::string("\xf0"),
                                 std::string("\x10"
                                             "a\1"),
                                 std::string("\x10"
                                             "a\0\0",
                                             4),
                                 std::string("\x10"
                                             "a\2\0",
                                             4),
                                 std::string("\x1f"
                                             "a\1\0\xff",
                                             5)})
    CHECK(unpacked(bad) == "damaged");
  CHECK(unpacked(run, 4) == "damaged");
  CHECK(unpacked("\x30"
                 "abc",
                 2) == "damaged");
}
