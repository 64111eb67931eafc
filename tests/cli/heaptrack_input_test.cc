// SPDX-License-Identifier: BSD-2-Clause
// Raw files of heaptrack as recordings.
#include "cli/files/heaptrack_input.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/history/reader.h"
#include "collapse/select/event_blocks.h"
#include "collapse/select/event_views.h"
#include "collapse/select/parse.h"
#include "collapse/verdicts/ledger.h"
#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t ms = 1'000'000;

class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    const int fd = ::mkstemp(path_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(path_) << text;
  }
  ~TextFile() { ::unlink(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/memflame-heaptrack-XXXXXX";
};

// A raw file as a recording, and its blocks.
struct Read {
  explicit Read(const std::string& text, const HeaptrackRawOptions& options = {})
      : source(open_input(TextFile(text).path(), options)),
        history(read_history(source, state)),
        events([this] { return source.again(); }, history, state),
        blocks(events, history) {}

  std::vector<int64_t> totals(HistoryView view, const std::string& where = "") {
    HistoryRange range;
    range.view = view;
    Query query;
    if (!where.empty()) add_where(query, "--where", where);
    const ViewFigures figures = figures_of_blocks(blocks, range, query);
    std::vector<int64_t> sums(figures.types.size());
    for (const Aggregate& sum : figures.sums)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += sum.values[i];
    return sums;
  }
  const std::vector<std::string>& notes() const { return history.recording.meta.notes; }
  bool says(std::string_view text) const {
    return std::any_of(notes().begin(), notes().end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }
  uint64_t not_understood() const { return history.recording.losses[Loss::input_line].events; }

  Source source;
  RecordingState state;
  History history;
  EventFile events;
  EventBlocks blocks;
};

std::string error_of(const std::string& text, const HeaptrackRawOptions& options = {}) {
  const TextFile file(text);
  try {
    open_recording(file.path());
    open_input(file.path(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using Totals = std::vector<int64_t>;

const std::string head = "v 10400 3\nx 9 /opt/prog\nX ./prog --fast\nI 1000 100\n";
// prog at 0x10000 with code from 0x1000 on, a library at 0x700000.
const std::string modules =
    "m 1 -\nm 1 x 10000 0 900 1000 500 2000 100\nm c /opt/liba.so 700000 0 800\n";
const std::string traces = "t 11010 0\nt 11020 1\nt 700123 1\n";

}  // namespace

TEST_CASE("heaptrack raw: blocks have their sizes, times and stacks") {
  Read read(head + modules + traces +
            "+ 10 2 a000\n+ 20 3 b000\n- a000\nc a\nR 5\n+ 100 1 a000\nc 14\n- b000\n+ 1 2 c000\n"
            "- c000\nc 1e\n");
  CHECK(read.state.has_events);
  CHECK(read.history.is_complete);
  CHECK(read.history.recording.meta.command == "heaptrack ./prog --fast");
  CHECK(read.history.recording.spaces[1].comm == "prog");
  CHECK(read.not_understood() == 0);
  CHECK(read.totals(HistoryView::live) == Totals{0x100, 1, 0x131, 4});
  CHECK(read.totals(HistoryView::leaked) == Totals{0x100, 1});
  CHECK(read.totals(HistoryView::freed) == Totals{0x31, 3});
  // Both lived at the time that heaptrack gives to all that happened in the first ten milliseconds.
  CHECK(read.totals(HistoryView::peak) == Totals{0x120, 2});
  CHECK(read.totals(HistoryView::transient) == Totals{1, 1});
  CHECK(read.totals(HistoryView::leaked, "allocated >= 10ms") == Totals{0x100, 1});
  CHECK(read.totals(HistoryView::total, "lifetime >= 10ms and not leaked") ==
        Totals{0, 0, 0x20, 1});
  CHECK(read.totals(HistoryView::total, "size > 16") == Totals{0x100, 1, 0x120, 2});

  const std::vector<Look>& looks = read.history.looks;
  REQUIRE(looks.size() >= 3);
  CHECK(looks.back().time_ns == 30 * ms);
  CHECK(looks.back().gauges == std::vector<int64_t>{0x5000});
  const auto& stacks = read.history.recording.stacks;
  const auto found = std::find_if(stacks.begin() + 1, stacks.end(), [](const RawStack& stack) {
    return stack.pcs == std::vector<Pc>{{0x700123, true}, {0x11010, true}};
  });
  CHECK(found != stacks.end());
}

TEST_CASE("heaptrack raw: the peak is exact within ten milliseconds") {
  std::string text = head + modules + traces;
  for (int i = 0; i < 100; ++i) text += "+ 10 2 a000\n- a000\n";
  text += "+ 8 2 1\n+ 8 2 2\n+ 8 2 3\n- 2\n- 1\n- 3\nc a\n";
  Read read(text);
  CHECK(read.totals(HistoryView::peak) == Totals{24, 3});
  CHECK(read.totals(HistoryView::transient) == Totals{1600, 100});
}

TEST_CASE("heaptrack raw: modules are those of the time") {
  Read read(head + modules + traces +
            "+ 10 3 a000\nc a\nm 1 -\nm 1 x 10000 0 900 1000 500 2000 100\n" +
            "m c /opt/libb.so 700000 0 800\nt 700124 1\n+ 10 4 b000\n");
  const Recording& recording = read.history.recording;
  const std::vector<Mapping>& mappings = recording.spaces[1].mappings;
  const auto module_of = [&](uint64_t address, uint64_t time) {
    for (const Mapping& mapping : mappings)
      if (address >= mapping.start && address < mapping.end && time >= mapping.from_ns &&
          time < mapping.until_ns)
        return recording.modules[mapping.module.index].path;
    return std::string();
  };
  for (size_t i = 1; i < recording.stacks.size(); ++i) {
    const RawStack& stack = recording.stacks[i];
    CHECK(module_of(stack.pcs[0].addr, stack.time_ns) ==
          (stack.pcs[0].addr == 0x700123 ? "/opt/liba.so" : "/opt/libb.so"));
    CHECK(module_of(stack.pcs[1].addr, stack.time_ns) == "/opt/prog");
  }
  // Neither is on this machine.
  for (const Module& module : recording.modules) CHECK(module.inode == 0);
}

TEST_CASE("heaptrack raw: a file of this machine must have the same segments") {
  const std::string numbers = " 10000 0 900 1000 500\n";
  Read read(head + "m 1 -\nm 9 /bin/true" + numbers + "t 11010 0\n+ 1 1 a\n");
  REQUIRE(read.history.recording.modules.size() == 2);
  CHECK(read.history.recording.modules[1].path == "/bin/true");
  CHECK(read.history.recording.modules[1].inode == 0);
}

TEST_CASE("heaptrack raw: what is damaged is counted, and what follows keeps its number") {
  Read read(head + modules +
            "t zz 0\nt 11010 99\nt 11020 1\n+ 10 3 a000\n+ 20 3\n+ 30 63 b000\n- x\n"
            "c a\nc 5\n? 1\nm 99 x\nm 2 xy zz\nR zz\n+ 5 3 c000\n- dead\n");
  CHECK(read.not_understood() == 10);
  CHECK(read.says("1 frees were of blocks that are not in it"));
  CHECK(read.totals(HistoryView::live) == Totals{0x45, 3, 0x45, 3});
}

TEST_CASE("heaptrack raw: an address that is used again ends its block") {
  Read read(head + modules + traces + "+ 10 2 a000\nc a\n+ 20 3 a000\n");
  CHECK(read.totals(HistoryView::live) == Totals{0x20, 1, 0x30, 2});
  CHECK(read.says("1 blocks were allocated where another one lived"));
  CHECK(read.blocks.notes().empty());
}

TEST_CASE("heaptrack raw: events of more than a chunk, and looks that agree with them") {
  std::string text = head + modules + traces;
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? "+ 10 2 " : "+ 20 3 ";
    text += std::to_string(i) + "\n";  // digits of a hex number, all of them different
    if (i % 3 == 0) text += "- " + std::to_string(i) + "\n";
    if (i % 1000 == 0) text += "c " + std::to_string(i) + "\n";
  }
  Read read(text);
  const Totals live = read.totals(HistoryView::live);
  CHECK(live[3] == count);
  CHECK(read.blocks.notes().empty());
  std::vector<std::vector<int64_t>> figures(read.history.tracks.size());
  for (const Look& look : read.history.looks)
    for (const Look::Row& row : look.rows)
      figures[row.track.index].assign(row.values.begin(), row.values.end());
  Totals sums(4);
  for (const auto& values : figures)
    for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  CHECK(sums == live);
  const Look& last = read.history.looks.back();
  REQUIRE(last.is_survey());
  int64_t blocks = 0;
  for (const Look::Cell& cell : last.cells) blocks += cell.blocks;
  CHECK(blocks == live[1]);
  Ledger ledger(read.history.recording.types);
  for (const Look& look : read.history.looks) ledger.add(look, read.history.tracks);
  ledger.end(last.time_ns);
}

TEST_CASE("heaptrack raw: what cannot be read is refused with the reason") {
  CHECK(error_of("v 10200 2\nx /opt/prog\nX a\nm x 10000 0 900\n").find("of version 2") !=
        std::string::npos);
  CHECK(error_of(head + modules).find("no allocation is in it") != std::string::npos);
  CHECK(error_of(head + traces + "+ 8000000000000000 1 a\n").find("leaves the range") !=
        std::string::npos);
  const std::string large = "+ 7fffffffffffffff 1 a\n";
  CHECK(error_of(head + traces + large + "- a\n" + large).find("sum of all bytes") !=
        std::string::npos);
  CHECK(error_of(head + traces + "+ 10000000000000000 1 a\n").find("64 bits") != std::string::npos);
  std::string deep = head + "t 11010 0\n";
  for (int i = 1; i < 4000; ++i) deep += "t 1 f\n";
  CHECK(error_of(deep + "+ 1 1 a\n").empty());
}

TEST_CASE("heaptrack raw: traces that unfold to more than the file bounds") {
  std::string text = head;
  std::array<char, 32> line{};
  for (unsigned i = 0; i < 3000; ++i) {
    std::snprintf(line.data(), line.size(), "t 1 %x\n+ 1 %x %x\n", i, i + 1, i + 1);
    text += line.data();
  }
  CHECK(error_of(text).find("8 frames a byte") != std::string::npos);
}

TEST_CASE("heaptrack raw: a last line that is cut off is left out, or refused") {
  const std::string text = head + modules + traces + "+ 10 2 a000\n- a00";
  Read read(text);
  CHECK(read.says("in the middle of a line"));
  CHECK(read.totals(HistoryView::live) == Totals{0x10, 1, 0x10, 1});
  CHECK_THROWS_AS(Read(text, {.refuse_truncated = true}), Error);
}

TEST_CASE("heaptrack raw: interpreted files are refused as recordings") {
  const std::string interpreted =
      "v 10400 3\nX ./a\nI 1000 1\ns 4 main\ni 1 0 1\nt 1 0\na 8 1\n+ 0\n";
  CHECK_FALSE(is_heaptrack_raw(interpreted));
  CHECK(error_of(interpreted).find("which block each free was of") != std::string::npos);
  CHECK(is_heaptrack_raw(head));
  CHECK_FALSE(is_heaptrack_raw("x 1 a\n"));
}
