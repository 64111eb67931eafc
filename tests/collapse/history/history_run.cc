// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/history/history_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

// A file with that name; the second one is "PATH.tmp".
class PathFile : public HistoryFile {
 public:
  explicit PathFile(const std::string& path) : path_(path), copy_path_(path + ".tmp") {}
  ~PathFile() override {
    PathFile::discard_copy();
    if (file_ >= 0) ::close(file_);
  }

  const std::string& name() const override { return path_; }
  int create() override { return file_ = open(path_); }
  int create_copy() override {
    discard_copy();
    return copy_ = open(copy_path_);
  }
  void replace() override {
    if (std::rename(copy_path_.c_str(), path_.c_str()) != 0) fail(path_);
    ::close(std::exchange(file_, std::exchange(copy_, -1)));
  }
  void discard_copy() noexcept override {
    if (copy_ < 0) return;
    ::close(std::exchange(copy_, -1));
    ::unlink(copy_path_.c_str());
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw Error("cannot write " + path + ": " + std::strerror(errno));
  }
  static int open(const std::string& path) {
    ::unlink(path.c_str());
    constexpr mode_t owner_only = 0600;
    const int file =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, owner_only);
    if (file < 0) fail(path);
    return file;
  }

  const std::string path_, copy_path_;
  int file_ = -1, copy_ = -1;
};

const std::vector<ValueType> columns{{"live", Unit::bytes},
                                     {"live-count", Unit::count},
                                     {"total", Unit::bytes},
                                     {"total-count", Unit::count}};
constexpr size_t stack_depth = 12;

}  // namespace

MadeUpRun::MadeUpRun(const RunShape& shape) : shape_(shape), random_(shape.seed) {
  Recording& recording = history_.recording;
  recording.types = columns;
  recording.meta.command = "memflame record -p 812";
  recording.meta.host = "here";
  history_.gauges = {{.name = "resident", .unit = Unit::bytes},
                     {.name = "pressure", .unit = Unit::count, .decimals = 2}};
  for (int i = 0; i < 3; ++i) {
    Module& module = recording.modules.emplace_back();
    module.path = "/usr/lib/lib" + std::to_string(i) + ".so";
    module.inode = 100 + static_cast<uint64_t>(i);
    module.build_id = "0123456789abcdef" + std::to_string(i);
  }
  for (uint32_t i = 0; i < 2; ++i)
    recording.scripts.push_back({.language = Language::python,
                                 .function = "Server.handle" + std::to_string(i),
                                 .file = "/srv/app.py",
                                 .first_line = 41 + i,
                                 .lines = std::string("\x80\0\xff", 3)});
  for (uint32_t i = 0; i < 2; ++i) {
    Space& space = recording.spaces.emplace_back();
    space.pid = 812 + i;
    space.comm = "server";
    space.mappings.push_back(
        {.start = 0x1000, .end = 0x900'000, .offset = 0, .module = ModuleId{1 + i}});
  }
  figures_.resize(1);
  cells_.resize(1);
  for (size_t i = 0; i < shape.stacks_at_once; ++i) add_stack();
}

int64_t MadeUpRun::any(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
}

void MadeUpRun::add_stack() {
  Recording& recording = history_.recording;
  RawStack stack;
  stack.space = SpaceId{static_cast<uint32_t>(any(1, 2))};
  stack.time_ns = 5'000'000'000'000 + time_ns_;
  // Callers are shared: a stack leaves another one somewhere.
  const size_t shared =
      recording.stacks.size() < 2 ? 0 : static_cast<size_t>(any(0, stack_depth - 1));
  const std::vector<Pc>& other = recording.stacks.back().pcs;
  for (size_t i = 0; i < stack_depth - shared; ++i)
    stack.pcs.push_back({static_cast<uint64_t>(any(0x1000, 0x8ff'fff)), i != 0});
  if (shared != 0)
    stack.pcs.insert(stack.pcs.end(), other.end() - static_cast<ptrdiff_t>(shared), other.end());
  if (any(0, 9) == 0) stack.stop = StopReason{1};
  if (any(0, 9) == 0) stack.leaf = "[slab dentry]";
  recording.stacks.push_back(stack);
  const auto id = static_cast<uint32_t>(recording.stacks.size() - 1);
  history_.tracks.push_back(
      {.stack = RawStackId{id}, .space = stack.space, .group = any(0, 4) == 0 ? "[anon]" : ""});
  figures_.emplace_back(columns.size(), 0);
  cells_.emplace_back();
}

void MadeUpRun::step() {
  time_ns_ += shape_.step_ns + static_cast<uint64_t>(any(0, 1000));
  for (size_t i = 0; i < shape_.stacks_a_step; ++i)
    if (history_.recording.stacks.size() <= shape_.most_stacks) add_stack();
  if (any(0, 20) == 0) {
    Space& space = history_.recording.spaces[static_cast<size_t>(any(1, 2))];
    space.comm = "worker-" + std::to_string(any(1, 3));
    space.mappings[0].until_ns = time_ns_;
    space.mappings.push_back({.start = time_ns_, .end = time_ns_ + 4096, .module = ModuleId{3}});
  }
  Look look;
  look.time_ns = time_ns_;
  look.gauges = {any(1, 1 << 30), any(0, 3) == 0 ? no_reading : any(0, 10'000)};
  std::vector<uint32_t> tracks;
  for (size_t i = 0; i < shape_.changed; ++i)
    tracks.push_back(static_cast<uint32_t>(any(1, static_cast<int64_t>(figures_.size()) - 1)));
  std::sort(tracks.begin(), tracks.end());
  tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
  for (const uint32_t track : tracks) {
    std::vector<int64_t>& figures = figures_[track];
    const int64_t blocks = any(1, 20), bytes = blocks * any(16, 4096);
    figures[2] += bytes;
    figures[3] += blocks;
    // What is freed was allocated long ago or just now.
    const bool keeps = any(0, 2) != 0 || figures[1] == 0;
    figures[0] = keeps ? figures[0] + bytes : figures[0] / 2;
    figures[1] = keeps ? figures[1] + blocks : figures[1] / 2;
    look.rows.add(TrackId{track}, figures);
  }
  if (any(0, 30) == 0) look.ended.push_back(SpaceId{2});
  if (shape_.survey_every != 0 && (history_.looks.size() + 1) % shape_.survey_every == 0)
    survey(look);
  history_.looks.push_back(std::move(look));
}

// Joins two stretches now and then, and gives the new one some blocks.
void MadeUpRun::survey(Look& look) {
  if (stretches_.empty()) stretches_ = {0};
  if (stretches_.size() > 6) {
    const auto joined = static_cast<size_t>(any(1, 4));
    stretches_.erase(stretches_.begin() + static_cast<ptrdiff_t>(joined));
    for (auto& cells : cells_) {
      std::vector<Look::Cell> kept;
      for (Look::Cell cell : cells) {
        if (cell.stretch >= joined) --cell.stretch;
        if (!kept.empty() && kept.back().stretch == cell.stretch) {
          kept.back().bytes += cell.bytes;
          kept.back().blocks += cell.blocks;
          kept.back().samples += cell.samples;
        } else {
          kept.push_back(cell);
        }
      }
      cells = std::move(kept);
    }
  }
  for (const Look::Row& row : look.rows) {
    auto& cells = cells_[row.track.index];
    if (any(0, 3) == 0) cells.clear();
    const auto newest = static_cast<uint32_t>(stretches_.size() - 1);
    if (!cells.empty() && cells.back().stretch == newest) cells.pop_back();
    cells.push_back({.track = row.track,
                     .stretch = newest,
                     .bytes = any(1, 100'000),
                     .blocks = any(1, 50),
                     .samples = static_cast<uint32_t>(any(1, 50))});
  }
  look.stretches = stretches_;
  for (const auto& cells : cells_) look.cells.insert(look.cells.end(), cells.begin(), cells.end());
  stretches_.push_back(look.time_ns);
}

void MadeUpRun::name() {
  Recording& recording = history_.recording;
  recording.frames.resize(recording.stacks.size());
  for (size_t i = 1; i < recording.stacks.size(); ++i) {
    recording.frames[i].clear();
    for (const Pc& pc : recording.stacks[i].pcs) {
      const auto id = static_cast<uint32_t>(recording.locations.size());
      const std::string function = "f" + std::to_string(pc.addr % 50);
      Location& location = recording.locations.emplace_back();
      location.space = recording.stacks[i].space;
      location.pc = pc;
      const Symbol symbol{.function = function,
                          .file = "a.cc",
                          .line = static_cast<uint32_t>(pc.addr % 100),
                          .start_line = 1,
                          .kind = FrameKind::user,
                          .module = "/usr/lib/lib1.so"};
      location.symbols = std::vector<Symbol>(pc.addr % 7 == 0 ? 2 : 1, symbol);
      recording.frames[i].push_back(LocationId{id});
    }
  }
}

void MadeUpRun::forget_looks() {
  history_.looks.erase(history_.looks.begin(), history_.looks.end() - 1);
}

RecordingFile::RecordingFile() {
  std::string name = (std::filesystem::temp_directory_path() / "memflame-XXXXXX").string();
  folder_ = ::mkdtemp(name.data());
}

RecordingFile::~RecordingFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string RecordingFile::bytes() const {
  std::ifstream file(path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

HistoryWriter writer_of(const std::string& path, const MadeUpRun& run, HistoryLimits limits) {
  return writer_of(path, run.history(), limits);
}

HistoryWriter writer_of(const std::string& path, const History& history, HistoryLimits limits,
                        EventOptions events) {
  return {std::make_unique<PathFile>(path),
          history.recording.meta,
          history.recording.types,
          history.recording.shown,
          history.gauges,
          limits,
          events};
}

std::string recorded(MadeUpRun& run, size_t looks, bool finish, HistoryLimits limits) {
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run, limits);
  for (size_t i = 0; i < looks; ++i) {
    run.step();
    writer.add(run.history(), run.last());
    if (i % 16 == 7) writer.mark({.time_ns = run.last().time_ns, .name = "here"});
  }
  if (finish) {
    run.name();
    writer.finish(run.history());
  }
  return file.bytes();
}

History read_bytes(const std::string& bytes, RecordingState& state,
                   const HistoryReadLimits& limits) {
  Source source = Source::of_memory(bytes, "run.mfr");
  return read_history(source, state, limits);
}

History read_bytes(const std::string& bytes) {
  RecordingState state;
  return read_bytes(bytes, state);
}

std::vector<std::vector<int64_t>> figures_of(const History& history) {
  std::vector<std::vector<int64_t>> figures(
      history.tracks.size(), std::vector<int64_t>(history.recording.types.size(), 0));
  for (const Look& look : history.looks)
    for (const Look::Row& row : look.rows)
      figures[row.track.index].assign(row.values.begin(), row.values.end());
  return figures;
}

bool is_beginning(const History& read, const History& written) {
  const Recording &a = read.recording, &b = written.recording;
  if (read.looks.size() > written.looks.size() || a.stacks.size() > b.stacks.size() ||
      read.tracks.size() > written.tracks.size() || a.types != b.types ||
      read.gauges != written.gauges)
    return false;
  if (!std::equal(read.looks.begin(), read.looks.end(), written.looks.begin())) return false;
  for (size_t i = 0; i < a.stacks.size(); ++i)
    if (a.stacks[i].pcs != b.stacks[i].pcs || a.stacks[i].space != b.stacks[i].space ||
        a.stacks[i].time_ns != b.stacks[i].time_ns || a.stacks[i].stop != b.stacks[i].stop ||
        a.stacks[i].leaf != b.stacks[i].leaf || a.stacks[i].note != b.stacks[i].note ||
        a.stacks[i].kernel_pcs != b.stacks[i].kernel_pcs)
      return false;
  for (size_t i = 0; i < read.tracks.size(); ++i)
    if (read.tracks[i].stack != written.tracks[i].stack ||
        read.tracks[i].space != written.tracks[i].space ||
        read.tracks[i].group != written.tracks[i].group)
      return false;
  return true;
}

}  // namespace memflame
