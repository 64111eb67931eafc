// SPDX-License-Identifier: BSD-2-Clause
// What SQL says of runs that are made by hand.
#include <doctest/doctest.h>

#include "collapse/query/block_stream.h"
#include "tests/collapse/query/queried_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t second = 1'000'000'000;

// Four blocks: one freed, one moved and then leaked, one of another stack and thread.
struct FourBlocks {
  FourBlocks() : queried(&run) {
    const RawStackId load = run.stack({"main", "load"});
    const RawStackId store = run.stack({"main", "store;all"});
    const ThreadId worker = run.thread(813, "worker");
    run.add({.allocated_ns = 1 * second,
             .freed_ns = 4 * second,
             .address = 4096,
             .size = 10,
             .thread = ThreadId{1},
             .freeing_thread = worker,
             .stack = load,
             .freeing_stack = store,
             .transient = true});
    run.add_chain({{.allocated_ns = 2 * second,
                    .address = 8192,
                    .size = 20,
                    .thread = ThreadId{1},
                    .stack = load},
                   {.allocated_ns = 3 * second,
                    .address = 16384,
                    .size = 40,
                    .thread = ThreadId{1},
                    .stack = load}});
    run.add({.allocated_ns = 5 * second,
             .size = 7,
             .weight = 700,
             .count = 100,
             .thread = worker,
             .stack = store,
             .uncertain = true});
    queried.history.recording = run.recording;
    queried.history.threads = run.threads;
  }
  std::string ask(const std::string& sql) { return queried.ask(sql); }

  MadeRun run;
  QueriedRun queried;
};

}  // namespace

TEST_CASE_FIXTURE(FourBlocks, "each column of blocks") {
  CHECK(ask("select number, first, position from blocks") == "1|1|1;2|2|1;3|2|2;4|4|1;");
  CHECK(ask("select allocated_ns / 1000000000, freed_ns / 1000000000, end_ns / 1000000000, "
            "lifetime_ns / 1000000000 from blocks") ==
        "1|4|4|3;2|3|3|1;3|NULL|100|97;5|NULL|100|95;");
  CHECK(ask("select size, bytes, count, address from blocks") ==
        "10|10|1|4096;20|20|1|8192;40|40|1|16384;7|700|100|0;");
  CHECK(ask("select thread, tid, process, pid, stack, free_stack, free_thread from blocks") ==
        "1|812|1|812|1|2|2;1|812|1|812|1|NULL|NULL;1|812|1|812|1|NULL|NULL;"
        "2|813|1|812|2|NULL|NULL;");
  CHECK(ask("select leaked, moved, transient, uncertain from blocks") ==
        "0|0|1|0;0|1|0|0;1|0|0|0;1|0|0|1;");
  CHECK(ask("select chain_length, chain_lifetime_ns / 1000000000, chain_first_size, "
            "chain_last_size, chain_leaked from blocks") ==
        "1|3|10|10|0;2|98|20|40|1;2|98|20|40|1;1|95|7|7|1;");
  CHECK(ask("select group_count, group_leaked, group_leaked_share, group_span_ns / 1000000000, "
            "group_peak_ns / 1000000000 from blocks where position = 1") ==
        "3|1|0.333333|2|3;3|1|0.333333|2|3;100|100|1.000000|0|5;");
}

TEST_CASE_FIXTURE(FourBlocks, "blocks are read once more only for what groups need") {
  ask("select sum(size), min(allocated_ns), count(address) from blocks");
  CHECK(run.passes == 1);
  ask("select max(group_count) from blocks");
  CHECK(run.passes == 3);
  ask("select max(group_count) from blocks");
  CHECK(run.passes == 4);
  ask("select * from blocks");
  CHECK(run.passes == 6);
}

TEST_CASE_FIXTURE(FourBlocks, "stacks and their frames") {
  CHECK(ask("select id, text, function, depth, process, pid from stacks") ==
        "1|server;main;load|load|2|1|812;2|server;main;store:all|store:all|2|1|812;");
  CHECK(ask("select stack, position, function, kind, module, file, line from frames") ==
        "1|1|load|native|/usr/bin/server|src/load.cc|NULL;"
        "1|2|main|native|/usr/bin/server|src/main.cc|NULL;1|3|server|process|||NULL;"
        "2|1|store;all|native|/usr/bin/server|src/store;all.cc|NULL;"
        "2|2|main|native|/usr/bin/server|src/main.cc|NULL;2|3|server|process|||NULL;");
  CHECK(ask("select text, sum(bytes) from blocks join stacks on stacks.id = stack group by 1") ==
        "server;main;load|70;server;main;store:all|700;");
  CHECK(ask("select function from frames where stack = 2 and position = 1") == "store;all;");
  for (const char* none : {"0", "3", "-1", "1.5", "null", "'x'", "1e300"})
    CHECK(ask(std::string("select count(*) from frames where stack = ") + none) == "0;");
  CHECK(ask("select id from stacks where id = '2'") == "2;");
}

TEST_CASE_FIXTURE(FourBlocks, "processes, threads, markers, gaps") {
  run.space(900, "child");
  queried.history.recording = run.recording;
  queried.history.recording.spaces.back().forked_from = SpaceId{1};
  queried.history.marks = {{.time_ns = 5, .name = "full"}, {.time_ns = 7, .name = "x'y"}};
  queried.history.gaps = {{.from_ns = 1, .until_ns = 2, .events = 3},
                          {.from_ns = 8, .until_ns = EventGap::no_end}};
  CHECK(ask("select * from processes") == "1|812|server||NULL;2|900|child||1;");
  CHECK(ask("select * from threads") == "1|812|server|1|812;2|813|worker|1|812;");
  CHECK(ask("select * from markers where name <> ''") == "5|full;7|x'y;");
  CHECK(ask("select * from gaps") == "1|2|3;8|NULL|NULL;");
  CHECK(ask("select value from recording where name = 'complete'") == "0;");
}

TEST_CASE("readings and figures of looks") {
  QueriedRun queried(nullptr);
  History& history = queried.history;
  history.recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  history.gauges = {{.name = "pressure", .unit = Unit::count, .decimals = 2}};
  history.tracks.push_back({.stack = RawStackId{3}, .space = {}, .group = ""});
  history.tracks.push_back({.stack = {}, .space = {}, .group = "[anon]"});
  Look& first = history.looks.emplace_back();
  first.time_ns = 10;
  first.gauges = {150};
  first.rows = {{TrackId{1}, {100, 1}}, {TrackId{2}, {5, 1}}};
  Look& second_look = history.looks.emplace_back();
  second_look.time_ns = 20;
  second_look.gauges = {no_reading};
  second_look.rows = {{TrackId{1}, {40, 1}}};
  CHECK(queried.ask("select * from readings") ==
        "10|pressure|1.500000|count|system;10|live|105|bytes|total;10|live-count|2|count|total;"
        "20|live|45|bytes|total;20|live-count|2|count|total;");
  CHECK(queried.ask("select * from figures") ==
        "10|3||live|100|100|bytes;10|3||live-count|1|1|count;10|NULL|[anon]|live|5|5|bytes;"
        "10|NULL|[anon]|live-count|1|1|count;20|3||live|40|-60|bytes;");
  CHECK(queried.ask("select stack, sum(change) from figures where name = 'live' and time_ns <= 20 "
                    "group by stack") == "NULL|5;3|40;");
}

TEST_CASE("a recording without events has no blocks") {
  QueriedRun queried(nullptr);
  CHECK(queried.refusal("select count(*) from blocks") ==
        "2: blocks: this recording has sums only; 'memflame record --detail events' keeps every "
        "block");
  CHECK(queried.ask("select count(*) from stacks") == "0;");
}

TEST_CASE_FIXTURE(FourBlocks, "what is not one statement that reads is refused") {
  const std::string only_reads =
      "2: SQL: a query only reads the recording, so it is one 'select'; --export FILE makes a "
      "database that can be changed";
  for (const char* sql : {"create table t(a)", "create temp table t(a)", "attach 'x' as y",
                          "pragma user_version", "pragma journal_mode = off", "begin", "vacuum",
                          "vacuum into 'x'", "detach main", "create view v as select 1", "analyze",
                          "savepoint a", "create virtual table t using blocks"})
    CHECK_MESSAGE(queried.refusal(sql) == only_reads, sql);
  for (const char* sql :
       {"delete from blocks", "insert into stacks values(1)", "drop table blocks",
        "update blocks set size = 1", "select load_extension('x')", "select 1; drop table blocks"})
    CHECK_MESSAGE(queried.refusal(sql).starts_with("2: SQL"), sql);
  CHECK(queried.refusal("select 1; select 2").starts_with("2: SQL, column 10: there is a second"));
  CHECK(queried.refusal("") == "2: SQL: there is no statement in it");
  CHECK(queried.refusal("-- nothing") == "2: SQL: there is no statement in it");
  CHECK(ask("select 1; -- and that is it") == "1;");
}

TEST_CASE_FIXTURE(FourBlocks, "functions and tables of SQLite are those of a list") {
  const auto names = [&](const std::string& sql, const std::string& name) {
    const std::string refusal = queried.refusal(sql);
    CHECK_MESSAGE(refusal.starts_with("2: SQL: the "), refusal);
    CHECK_MESSAGE(refusal.find('\'' + name + "' is not one") != std::string::npos, refusal);
  };
  names("select hex(fts3_tokenizer('simple'))", "fts3_tokenizer");
  names("select FTS3_tokenizer('x', x'4141414141414141')", "fts3_tokenizer");
  names("select size from blocks where sqlite_log(1, 'x') is null", "sqlite_log");
  names("with a as (select load_extension('x') as b) select b from a", "load_extension");
  names("select sqlite_compileoption_get(0)", "sqlite_compileoption_get");
  names("select size from blocks order by total_changes()", "total_changes");
  for (const char* sql : {"select name from pragma_module_list", "select name from dbstat",
                          "select token from fts3tokenize('simple', 'a b')"})
    CHECK_MESSAGE(queried.refusal(sql).starts_with("2: SQL: "), sql);
  for (const char* sql :
       {"select sum(size), avg(size), total(size), max(size), group_concat(size) from blocks",
        "select rank() over (order by size), lag(size) over (order by size), sum(size) over (order "
        "by size rows 1 preceding), ntile(2) over (order by size) from blocks",
        "select pow(2, 3), sqrt(4), ln(size), log2(size), round(size / 3.0, 1), size % 3 from "
        "blocks",
        "select upper('a'), substr('abc', 2), printf('%d', 1), instr('ab', 'b'), 'a' like 'A', 'a' "
        "glob 'a*', hex('a'), trim(' a '), replace('a', 'a', 'b')",
        "select datetime(0, 'unixepoch'), strftime('%Y', 0), current_timestamp, julianday('now')",
        "select json_extract('[1]', '$[0]'), '[1]' -> 0, '[1]' ->> 0, json_group_array(1)",
        "select sum(value) from json_each('[1,2]')", "select count(name) from sqlite_schema",
        "with a as materialized (select size from blocks) select count(*) from a"})
    CHECK_MESSAGE(!ask(sql).empty(), sql);
}

TEST_CASE_FIXTURE(FourBlocks, "errors show their place") {
  CHECK(queried.refusal("select sise from blocks") ==
        "2: SQL, column 8: no such column: sise\n  select sise from blocks\n         ^");
  CHECK(queried.refusal("select 1 from").starts_with("2: SQL: incomplete input"));
  CHECK(queried.refusal("select * from block").ends_with("no such table: block"));
  CHECK(queried.refusal("select abs(-9223372036854775808)") == "1: SQL: integer overflow");
  CHECK(queried.refusal("select zeroblob(100000000)") == "1: SQL: string or blob too big");
}

TEST_CASE("a number that SQL does not have is an error") {
  MadeRun run;
  run.add({.size = UINT64_MAX, .stack = run.stack({"main"})});
  QueriedRun queried(&run);
  queried.history.recording = run.recording;
  CHECK(queried.refusal("select sum(size) from blocks") ==
        "1: the recording is damaged: it has a number that does not fit in 63 bits");
  CHECK(queried.ask("select count(*) from blocks") == "1;");
}

TEST_CASE("what reading throws reaches the caller, and what is not needed is not read") {
  struct Failing : MadeRun {
    void for_each_block(const VisitBlock& visit) override {
      for (uint64_t i = 0; i < most; ++i, ++read) {
        Block block;
        block.size = i;
        visit(block, {});
      }
      throw Error("byte 7 is wrong");
    }
    uint64_t most = 5000;
    uint64_t read = 0;
  };
  Failing run;
  QueriedRun queried(&run);
  CHECK(queried.refusal("select sum(size) from blocks") == "1: byte 7 is wrong");
  run.most = 100'000'000;
  run.read = 0;
  CHECK(queried.ask("select size from blocks limit 3") == "0;1;2;");
  CHECK(run.read < 100'000);
  queried.stop = true;
  CHECK(queried.refusal("select sum(size) from blocks") ==
        "1: interrupted: the result is not complete");
  CHECK(queried.refusal("select group_count from blocks") == "1: interrupted");
}

TEST_CASE("a stream hands out all blocks in their order") {
  for (const size_t count : {0U, 1U, 1023U, 1024U, 1025U, 40'000U}) {
    MadeRun run;
    for (size_t i = 0; i < count; ++i) run.add({.size = i});
    BlockStream stream(run);
    size_t next = 0;
    while (const StreamedBlock* block = stream.next())
      if (block->block.size == next) ++next;
    CHECK(next == count);
  }
}

TEST_CASE_FIXTURE(FourBlocks, "a block may be joined with others") {
  CHECK(ask("with b as materialized (select * from blocks) select x.number, y.number from b x join "
            "b y on y.first = x.first and y.position = x.position + 1") == "2|3;");
}

TEST_CASE_FIXTURE(FourBlocks, "the tables say what they have") {
  ask("select 1");
  const std::string schema = rows_text(schema_of(queried.tables));
  CHECK(schema.starts_with("blocks|||every block that was allocated;blocks|number|integer|"));
  CHECK(schema.find("recording|value||a text or a number;") != schema.npos);
  QueriedRun without(nullptr);
  without.ask("select 1");
  CHECK(rows_text(schema_of(without.tables))
            .starts_with("blocks|||every block that was allocated (this recording has sums only; "
                         "'memflame record --detail events' keeps every block);stacks|||"));
}
