// SPDX-License-Identifier: BSD-2-Clause
// Tables in a database of SQLite.
#include "collapse/query/export.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "collapse/query/sqlite_handles.h"
#include "tests/collapse/history/history_run.h"
#include "tests/collapse/query/queried_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// What a file that was exported answers.
std::string answer(const std::string& path, const std::string& sql) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const DatabaseHandle database(opened);
  REQUIRE(code == SQLITE_OK);
  sqlite3_stmt* prepared = nullptr;
  const int wrong = sqlite3_prepare_v2(opened, sql.c_str(), -1, &prepared, nullptr);
  const StatementHandle statement(prepared);
  if (wrong != SQLITE_OK) return sqlite3_errmsg(opened);
  std::string text;
  while (sqlite3_step(prepared) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(prepared); ++i) {
      const auto* cell = reinterpret_cast<const char*>(sqlite3_column_text(prepared, i));
      text += (i == 0 ? "" : "|") + std::string(cell != nullptr ? cell : "NULL");
    }
    text += ';';
  }
  return text;
}

struct Exported {
  Exported() {
    const RawStackId load = run.stack({"main", "load"});
    for (uint64_t i = 0; i < 10'000; ++i)
      run.add({.allocated_ns = i, .size = i, .thread = ThreadId{1}, .stack = load});
    queried.history.recording = run.recording;
    queried.history.threads = run.threads;
    queried.ask("select 1");
  }
  std::vector<std::string> export_to(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    const struct Close {
      int fd;
      ~Close() { ::close(fd); }
    } close{fd};
    return export_tables(queried.tables, fd, path, queried.stop);
  }

  MadeRun run;
  QueriedRun queried{&run};
  const RecordingFile folder;  // for its path
};

}  // namespace

TEST_CASE_FIXTURE(Exported, "a database has what queries see") {
  const std::string path = folder.path();
  CHECK(export_to(path).empty());
  CHECK(answer(path, "pragma integrity_check") == "ok;");
  for (const char* sql :
       {"select count(*), sum(size), max(number), min(group_count), count(freed_ns) from blocks",
        "select * from stacks", "select * from frames", "select * from threads",
        "select * from processes",
        "select text, sum(size) from blocks join stacks on id = stack group by id"})
    CHECK_MESSAGE(answer(path, sql) == queried.ask(sql), sql);
  CHECK(answer(path,
               "select group_concat(name) from (select name from sqlite_schema where type = "
               "'table' order by name)") ==
        "blocks,figures,frames,gaps,markers,processes,readings,recording,stacks,threads;");
}

TEST_CASE_FIXTURE(Exported, "a full disk, and an interruption, are errors") {
  CHECK_THROWS_WITH(export_to("/dev/full"), "cannot write /dev/full: No space left on device");
  queried.stop = true;
  CHECK_THROWS_WITH(export_to(folder.path()),
                    ("interrupted: " + folder.path() + " is not made").c_str());
}

TEST_CASE("without events the other tables are there") {
  QueriedRun queried(nullptr);
  queried.ask("select 1");
  const RecordingFile folder;
  const std::string path = folder.path();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<std::string> left_out = export_tables(queried.tables, fd, path, queried.stop);
  ::close(fd);
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].starts_with("the table blocks is left out: this recording has sums only"));
  CHECK(answer(path, "select count(*) from blocks") == "no such table: blocks");
  CHECK(answer(path, "select count(*) from stacks") == "0;");
}
