// SPDX-License-Identifier: BSD-2-Clause
// blocks: read from the file for each scan. A statement pays for further readings only if it uses
// columns that need them.
#include <array>

#include "collapse/query/block_stream.h"
#include "collapse/query/query_tables.h"
#include "collapse/select/groups.h"
#include "core/error.h"

namespace memflame {
namespace {

// What the rows of a table share.
struct BlockFacts {
  const Recording& recording;
  std::span<const Thread> threads;
  const RunGroups& groups;
  bool has_addresses = false;
};

struct BlockRow {
  const Block& block;
  const Chain& chain;
  const BlockFacts& facts;

  const StackGroup& group() const {
    if (block.stack.index >= facts.groups.groups.size())
      throw Error("internal: the figures of stacks were not asked for");
    return facts.groups.groups[block.stack.index];
  }
  // [0] is empty.
  const Thread& thread() const {
    return facts.threads[block.thread.index < facts.threads.size() ? block.thread.index : 0];
  }
  SpaceId process() const {
    const auto& stacks = facts.recording.stacks;
    return block.stack.index < stacks.size() ? stacks[block.stack.index].space : SpaceId{};
  }
  uint32_t pid() const {
    const auto& spaces = facts.recording.spaces;
    return spaces[process().index < spaces.size() ? process().index : 0].pid;
  }
};

template <class Tag>
QueryValue reference_to(Id<Tag> id) {
  return id ? QueryValue(int64_t{id.index}) : QueryValue();
}
QueryValue flag(bool value) { return int64_t{value ? 1 : 0}; }

// What a column takes beside a reading of the blocks.
enum class BlockNeeds : uint8_t { nothing, addresses, groups, group_peaks };

struct BlockColumn {
  QueryColumn column;
  QueryValue (*value)(const BlockRow& row);
  BlockNeeds needs = BlockNeeds::nothing;
};

constexpr auto integer = QueryType::integer;
constexpr std::array blocks_columns{
    BlockColumn{{"number", integer, "its number, about in the order of allocations"},
                [](const BlockRow& row) -> QueryValue {
                  return query_integer(static_cast<uint64_t>(row.block.number));
                }},
    BlockColumn{{"first", integer, "number of the first block of its chain of reallocs"},
                [](const BlockRow& row) -> QueryValue {
                  return query_integer(static_cast<uint64_t>(row.block.first));
                }},
    BlockColumn{{"position", integer, "its place in the chain, from 1"},
                [](const BlockRow& row) -> QueryValue { return int64_t{row.block.position}; }},
    BlockColumn{
        {"allocated_ns", integer, "since counting began"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.block.allocated_ns); }},
    BlockColumn{{"freed_ns", integer, "by a free, or by the realloc that moved it; NULL: never"},
                [](const BlockRow& row) -> QueryValue {
                  if (row.block.leaked()) return {};
                  return query_integer(row.block.freed_ns);
                }},
    BlockColumn{{"end_ns", integer, "when it was freed, or its process or the recording ended"},
                [](const BlockRow& row) -> QueryValue { return query_integer(row.block.end_ns); }},
    BlockColumn{
        {"lifetime_ns", integer, "end_ns - allocated_ns"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.block.lifetime_ns()); }},
    BlockColumn{{"size", integer, "bytes that were asked for"},
                [](const BlockRow& row) -> QueryValue { return query_integer(row.block.size); }},
    BlockColumn{
        {"bytes", integer, "bytes that it stands for: its size, or more in samples"},
        [](const BlockRow& row) -> QueryValue { return query_integer(bytes_of(row.block)); }},
    BlockColumn{{"count", integer, "blocks that it stands for: 1, or more in samples"},
                [](const BlockRow& row) -> QueryValue { return int64_t{row.block.count}; }},
    BlockColumn{{"address", integer, "NULL: not recorded"},
                [](const BlockRow& row) -> QueryValue {
                  if (!row.facts.has_addresses) return {};
                  return query_integer(row.block.address);
                },
                BlockNeeds::addresses},
    BlockColumn{{"thread", integer, "threads.id; NULL: not known"},
                [](const BlockRow& row) { return reference_to(row.block.thread); }},
    BlockColumn{{"tid", integer, "thread id of the system; NULL: not known"},
                [](const BlockRow& row) -> QueryValue {
                  if (!row.block.thread) return {};
                  return int64_t{row.thread().tid};
                }},
    BlockColumn{{"process", integer, "processes.id"},
                [](const BlockRow& row) { return reference_to(row.process()); }},
    BlockColumn{{"pid", integer, "process id of the system"},
                [](const BlockRow& row) -> QueryValue { return int64_t{row.pid()}; }},
    BlockColumn{{"stack", integer, "stacks.id of its allocation"},
                [](const BlockRow& row) { return reference_to(row.block.stack); }},
    BlockColumn{{"free_stack", integer,
                 "stacks.id of its free or realloc; NULL: none, or recorded without --free-stacks"},
                [](const BlockRow& row) { return reference_to(row.block.freeing_stack); }},
    BlockColumn{{"free_thread", integer, "threads.id; NULL: none, or not known"},
                [](const BlockRow& row) { return reference_to(row.block.freeing_thread); }},
    BlockColumn{{"leaked", integer, "1: never freed"},
                [](const BlockRow& row) { return flag(row.block.leaked()); }},
    BlockColumn{{"moved", integer, "1: freed by a realloc, and its chain goes on"},
                [](const BlockRow& row) { return flag(row.block.moved); }},
    BlockColumn{{"transient", integer, "1: freed by the next heap call of its thread"},
                [](const BlockRow& row) { return flag(row.block.transient); }},
    BlockColumn{{"uncertain", integer, "1: began or ended in a gap, so a time is not exact"},
                [](const BlockRow& row) { return flag(row.block.uncertain); }},
    BlockColumn{{"chain_length", integer, "blocks in its chain"},
                [](const BlockRow& row) -> QueryValue { return int64_t{row.chain.length}; }},
    BlockColumn{
        {"chain_lifetime_ns", integer, "from the first allocation to the last end"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.chain.lifetime_ns()); }},
    BlockColumn{
        {"chain_first_size", integer, "size of the first block of its chain"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.chain.first_size); }},
    BlockColumn{
        {"chain_last_size", integer, "size of the last one"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.chain.last_size); }},
    BlockColumn{{"chain_leaked", integer, "1: the last block is leaked"},
                [](const BlockRow& row) { return flag(row.chain.leaked); }},
    BlockColumn{{"group_count", integer, "blocks that its stack allocated in the whole run"},
                [](const BlockRow& row) -> QueryValue { return query_integer(row.group().count); },
                BlockNeeds::groups},
    BlockColumn{{"group_leaked", integer, "how many of them leaked"},
                [](const BlockRow& row) -> QueryValue { return query_integer(row.group().leaked); },
                BlockNeeds::groups},
    BlockColumn{{"group_leaked_share", QueryType::real, "group_leaked / group_count"},
                [](const BlockRow& row) -> QueryValue {
                  const StackGroup& group = row.group();
                  if (group.count == 0) return {};
                  return static_cast<double>(group.leaked) / static_cast<double>(group.count);
                },
                BlockNeeds::groups},
    BlockColumn{
        {"group_span_ns", integer, "from its stack's first allocation to the last one"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.group().span_ns()); },
        BlockNeeds::groups},
    BlockColumn{
        {"group_peak_ns", integer, "when its stack first had the most live bytes"},
        [](const BlockRow& row) -> QueryValue { return query_integer(row.group().peak_ns); },
        BlockNeeds::group_peaks},
};

// A source whose readings end when the user wants that.
class InterruptedBlocks : public BlockSource {
 public:
  InterruptedBlocks(BlockSource& blocks, const std::atomic<bool>& stop)
      : blocks_(blocks), stop_(stop) {}

  RunFacts facts() const override { return blocks_.facts(); }
  bool has_addresses() override { return blocks_.has_addresses(); }
  bool has_free_stacks() override { return blocks_.has_free_stacks(); }
  void for_each_block(const VisitBlock& visit) override {
    blocks_.for_each_block([&](const Block& block, const Chain& chain) {
      if (stop_) throw Error("interrupted");
      visit(block, chain);
    });
  }
  bool for_each_change(const VisitChange& visit) override {
    return blocks_.for_each_change([&](const LiveChange& change) {
      if (stop_) throw Error("interrupted");
      visit(change);
    });
  }

 private:
  BlockSource& blocks_;
  const std::atomic<bool>& stop_;
};

class BlockRows : public QueryRows {
 public:
  BlockRows(BlockSource& blocks, const BlockFacts& facts) : stream_(blocks), facts_(facts) {}

  bool next() override { return (current_ = stream_.next()) != nullptr; }
  QueryValue value(size_t column) override {
    return blocks_columns[column].value({current_->block, current_->chain, facts_});
  }

 private:
  BlockStream stream_;
  const BlockFacts& facts_;
  const StreamedBlock* current_ = nullptr;
};

class BlocksTable : public QueryTable {
 public:
  explicit BlocksTable(QueryRun& run)
      : run_(run), facts_{run.recording(), run.history().threads, groups_} {
    for (const BlockColumn& column : blocks_columns) columns_.push_back(column.column);
  }

  std::string_view name() const override { return "blocks"; }
  std::string_view meaning() const override { return "every block that was allocated"; }
  const std::vector<QueryColumn>& columns() const override { return columns_; }
  std::string missing() const override {
    if (run_.blocks() != nullptr) return {};
    return "this recording has sums only; 'memflame record --detail events' keeps every block";
  }
  uint64_t expected_rows() const override {
    constexpr uint64_t usual_blocks = 10'000'000;
    return usual_blocks;
  }
  bool is_slow() const override { return true; }

  std::unique_ptr<QueryRows> rows(const WantedRows& wanted) override {
    if (run_.blocks() == nullptr) throw Error("blocks: " + missing(), ExitCode::usage);
    prepare(wanted);
    return std::make_unique<BlockRows>(*run_.blocks(), facts_);
  }

 private:
  void prepare(const WantedRows& wanted) {
    bool addresses = false, groups = false, peaks = false;
    for (size_t i = 0; i < blocks_columns.size(); ++i) {
      if (!wanted.has(i)) continue;
      addresses |= blocks_columns[i].needs == BlockNeeds::addresses;
      groups |= blocks_columns[i].needs >= BlockNeeds::groups;
      peaks |= blocks_columns[i].needs == BlockNeeds::group_peaks;
    }
    if (addresses) facts_.has_addresses = run_.blocks()->has_addresses();
    if ((!groups || !groups_.groups.empty()) && (!peaks || has_peaks_)) return;
    InterruptedBlocks blocks(*run_.blocks(), run_.stop());
    // Cursors that are open refer to groups_, whose other figures stay the same.
    groups_ = groups_of(blocks, {.groups = true, .group_peaks = peaks});
    has_peaks_ = peaks;
  }

  QueryRun& run_;
  std::vector<QueryColumn> columns_;
  RunGroups groups_;
  bool has_peaks_ = false;
  BlockFacts facts_;
};

}  // namespace

std::unique_ptr<QueryTable> blocks_table(QueryRun& run) {
  return std::make_unique<BlocksTable>(run);
}

}  // namespace memflame
