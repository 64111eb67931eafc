// SPDX-License-Identifier: BSD-2-Clause
// stacks, frames.
#include <array>

#include "collapse/query/list_table.h"
#include "collapse/query/query_tables.h"

namespace memflame {
namespace {

RawStackId stack_of_row(size_t row) { return RawStackId{static_cast<uint32_t>(row + 1)}; }
const RawStack& raw_stack_of_row(QueryRun& run, size_t row) {
  return run.recording().stacks[row + 1];
}
const Space& space_of_stack(QueryRun& run, size_t row) {
  const Paged<Space>& spaces = run.recording().spaces;
  const SpaceId space = raw_stack_of_row(run, row).space;
  return spaces[space.index < spaces.size() ? space.index : 0];
}

constexpr ListColumn stack_columns[] = {
    {{"id", QueryType::integer, "its number in this recording"},
     [](QueryRun&, size_t row) -> QueryValue { return static_cast<int64_t>(row + 1); }},
    {{"text", QueryType::text, "names from the process to the innermost function: a;b;c"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.text(stack_of_row(row)); }},
    {{"label", QueryType::text, "the innermost function of the program's own code"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.label(stack_of_row(row)); }},
    {{"function", QueryType::text, "the innermost frame: often the allocator's function"},
     [](QueryRun& run, size_t row) -> QueryValue {
       const std::vector<FrameId> path = run.path(stack_of_row(row));
       return path.empty() ? QueryValue() : QueryValue(run.frame_name(path.back()));
     }},
    {{"depth", QueryType::integer, "how many calls it has; inlined functions do not count"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return static_cast<int64_t>(raw_stack_of_row(run, row).pcs.size());
     }},
    {{"process", QueryType::integer, "processes.id; NULL: the kernel"},
     [](QueryRun& run, size_t row) -> QueryValue {
       const SpaceId space = raw_stack_of_row(run, row).space;
       return space ? QueryValue(int64_t{space.index}) : QueryValue();
     }},
    {{"pid", QueryType::integer, "process id of the system"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return int64_t{space_of_stack(run, row).pid};
     }}};
constexpr ListTableInfo stack_info{
    .name = "stacks",
    .meaning = "call stacks; two may have the same text and differ in their addresses",
    .columns = stack_columns,
    .rows = [](QueryRun& run) { return run.recording().stacks.size() - 1; },
    .is_numbered = true};

// In the order of the enum.
constexpr std::array<std::string_view, 7> frame_kinds{"native",  "kernel",  "inlined", "jit",
                                                      "unknown", "process", "note"};

enum class FrameColumn : uint8_t { stack, position, function, kind, module, file, line };
const std::vector<QueryColumn> frame_columns{
    {"stack", QueryType::integer, "stacks.id"},
    {"position", QueryType::integer, "1 is the innermost frame, the last one the process"},
    {"function", QueryType::text, "its name"},
    {"kind", QueryType::text, "native, inlined, jit, kernel, unknown, process, note"},
    {"module", QueryType::text, "path of the program or library"},
    {"file", QueryType::text, "source file; '' if it is not known"},
    {"line", QueryType::integer, "the line in it; NULL if it is not known"}};

class FrameRows : public QueryRows {
 public:
  // Those of stacks first..end.
  FrameRows(QueryRun& run, uint32_t first, uint32_t end) : run_(run), next_(first), end_(end) {}

  bool next() override {
    if (left_ > 0) --left_;
    while (left_ == 0 && next_ < end_) {
      path_ = run_.path(RawStackId{next_++});
      left_ = path_.size();
    }
    return left_ > 0;
  }

  QueryValue value(size_t column) override {
    const Profile& profile = run_.named().profile;
    const Frame& frame = profile.frames[path_[left_ - 1]];
    switch (static_cast<FrameColumn>(column)) {
      case FrameColumn::stack:
        return int64_t{next_ - 1};
      case FrameColumn::position:
        return static_cast<int64_t>(path_.size() - left_ + 1);
      case FrameColumn::function:
        return run_.clean(profile.strings[frame.function]);
      case FrameColumn::kind:
        return std::string(frame_kinds.at(static_cast<size_t>(frame.kind)));
      case FrameColumn::module:
        return run_.clean(profile.strings[frame.module]);
      case FrameColumn::file:
        return run_.clean(profile.strings[frame.file]);
      case FrameColumn::line:
        if (frame.line != 0) return int64_t{frame.line};
        break;
    }
    return {};
  }

 private:
  QueryRun& run_;
  uint32_t next_, end_;
  std::vector<FrameId> path_;  // from the process on
  size_t left_ = 0;            // of the path, with the frame that is shown
};

class FramesTable : public QueryTable {
 public:
  explicit FramesTable(QueryRun& run) : run_(run) {}

  std::string_view name() const override { return "frames"; }
  std::string_view meaning() const override {
    return "frames of stacks; an inlined function has its own";
  }
  const std::vector<QueryColumn>& columns() const override { return frame_columns; }
  std::optional<size_t> key() const override { return static_cast<size_t>(FrameColumn::stack); }
  uint64_t expected_rows() const override {
    constexpr uint64_t usual_depth = 20;
    return usual_depth * run_.recording().stacks.size();
  }
  std::unique_ptr<QueryRows> rows(const WantedRows& wanted) override {
    const auto count = static_cast<uint32_t>(run_.recording().stacks.size());
    if (!wanted.key) return std::make_unique<FrameRows>(run_, 1, count);
    const bool is_there = *wanted.key >= 1 && *wanted.key < int64_t{count};
    const uint32_t stack = is_there ? static_cast<uint32_t>(*wanted.key) : count;
    return std::make_unique<FrameRows>(run_, stack, is_there ? stack + 1 : count);
  }

 private:
  QueryRun& run_;
};

}  // namespace

std::unique_ptr<QueryTable> stacks_table(QueryRun& run) { return list_table(stack_info, run); }
std::unique_ptr<QueryTable> frames_table(QueryRun& run) {
  return std::make_unique<FramesTable>(run);
}

}  // namespace memflame
