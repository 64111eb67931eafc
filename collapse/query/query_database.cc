// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/query_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <list>
#include <string_view>
#include <utility>

#include "collapse/query/allowed.h"
#include "collapse/query/sqlite_handles.h"
#include "collapse/query/virtual_table.h"
#include "collapse/select/query.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr int most_text = 64 << 20, most_sql = 1 << 20;
// Instructions of SQLite's machine between two looks at whether to stop.
constexpr int instructions_between = 10'000;

std::string in_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace

class QueryDatabase::State {
 public:
  State(const QueryTables& tables, const std::atomic<bool>& stop) : stop_(stop) {
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(":memory:", &opened,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) throw Error(std::string("SQLite: ") + sqlite3_errstr(code));
    for (const std::unique_ptr<QueryTable>& table : tables) {
      tables_.push_back({*table, shared_});
      add_virtual_table(opened, tables_.back());
    }
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, most_text);
    sqlite3_limit(opened, SQLITE_LIMIT_SQL_LENGTH, most_sql);
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
    // A table of SQLite's own declares its columns at its first use, which no authorizer may
    // refuse.
    for (const char* own : {"select 1 from json_each('[]')", "select 1 from json_tree('[]')"})
      sqlite3_exec(opened, own, nullptr, nullptr, nullptr);
    sqlite3_set_authorizer(opened, authorize, this);
    sqlite3_progress_handler(
        opened, instructions_between,
        [](void* own) { return *static_cast<const std::atomic<bool>*>(own) ? 1 : 0; },
        const_cast<std::atomic<bool>*>(&stop_));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }

  StatementHandle prepare(const std::string& sql) {
    sql_ = sql;
    if (sql_.size() >= most_sql) throw Error("SQL: it is longer than 1 MiB", ExitCode::usage);
    StatementHandle statement = next_statement(0);
    if (!statement) throw Error("SQL: there is no statement in it", ExitCode::usage);
    if (sqlite3_stmt_readonly(statement.get()) == 0) refuse_writing();
    const size_t end = rest_;
    if (next_statement(end)) wrong(end, "there is a second statement, and a query is one");
    return statement;
  }

  // Whether there is a row. Throws Error.
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    throw_failure();
    if (code == SQLITE_INTERRUPT) throw Error("interrupted: the result is not complete");
    throw Error(std::string("SQL: ") + sqlite3_errmsg(database_.get()));
  }

 private:
  // The statement that begins at that place; null if there is none. `rest_` becomes its end.
  StatementHandle next_statement(size_t from) {
    sqlite3_stmt* prepared = nullptr;
    const char* rest = nullptr;
    refused_.clear();
    const int code = sqlite3_prepare_v2(database_.get(), sql_.c_str() + from, -1, &prepared, &rest);
    StatementHandle statement(prepared);
    if (code != SQLITE_OK) {
      throw_failure();
      if (!refused_.empty()) throw Error("SQL: " + refused_, ExitCode::usage);
      if (code == SQLITE_AUTH) refuse_writing();
      const int place = sqlite3_error_offset(database_.get());
      const std::string what = sqlite3_errmsg(database_.get());
      if (what == "not authorized")
        throw Error("SQL: a query reads the tables of the recording, json_each and json_tree only",
                    ExitCode::usage);
      if (place < 0) throw Error("SQL: " + what, ExitCode::usage);
      wrong(from + static_cast<size_t>(place), what);
    }
    rest_ = static_cast<size_t>(rest - sql_.c_str());
    return statement;
  }

  // A statement may read tables and call functions; all else is refused when it is prepared.
  static int authorize(void* own, int action, const char* one, const char* other, const char*,
                       const char*) {
    auto& state = *static_cast<State*>(own);
    if (state.shared_.is_declaring) return SQLITE_OK;
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_RECURSIVE:
        return SQLITE_OK;
      case SQLITE_READ:  // without a column's name `one` may be a name that the statement gives
        if (other == nullptr || *other == '\0' || state.is_own_table(one) || is_allowed_table(one))
          return SQLITE_OK;
        state.refused_ = "the table '" + std::string(one) + "' is not one of a recording";
        return SQLITE_DENY;
      case SQLITE_FUNCTION:
        if (is_allowed_function(other)) return SQLITE_OK;
        state.refused_ = "the function '" + std::string(other) +
                         "' is not one that a query may call: those of text, numbers, dates, "
                         "JSON, aggregates and windows are";
        return SQLITE_DENY;
      default:
        return SQLITE_DENY;
    }
  }

  bool is_own_table(std::string_view name) const {
    return std::ranges::any_of(
        tables_, [name](const VirtualTable& one) { return one.table.name() == name; });
  }

  [[noreturn]] void wrong(size_t at, const std::string& what) const {
    fail_at({.label = "SQL", .text = sql_}, at, what);
  }

  [[noreturn]] static void refuse_writing() {
    throw Error(
        "SQL: a query only reads the recording, so it is one 'select'; --export FILE makes a "
        "database that can be changed",
        ExitCode::usage);
  }

  // What a table has thrown.
  void throw_failure() {
    if (shared_.failure) std::rethrow_exception(std::exchange(shared_.failure, nullptr));
  }

  TableState shared_;
  std::list<VirtualTable> tables_;  // in their places: SQLite keeps pointers
  const std::atomic<bool>& stop_;
  DatabaseHandle database_;
  std::string sql_;
  size_t rest_ = 0;
  std::string refused_;  // what the statement may not use, and why
};

// Rows of a statement.
class QueryDatabase::Rows : public QueryRows {
 public:
  Rows(State& state, StatementHandle statement) : state_(state), statement_(std::move(statement)) {}

  bool next() override { return state_.step(statement_.get()); }

  QueryValue value(size_t column) override {
    const int at = static_cast<int>(column);
    sqlite3_stmt* row = statement_.get();
    switch (sqlite3_column_type(row, at)) {
      case SQLITE_NULL:
        return {};
      case SQLITE_INTEGER:
        return int64_t{sqlite3_column_int64(row, at)};
      case SQLITE_FLOAT:
        return sqlite3_column_double(row, at);
      default:
        break;
    }
    const bool is_blob = sqlite3_column_type(row, at) == SQLITE_BLOB;
    const void* bytes = is_blob ? sqlite3_column_blob(row, at) : sqlite3_column_text(row, at);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(row, at));
    const std::string_view text(size != 0 ? static_cast<const char*>(bytes) : "", size);
    return is_blob ? in_hex(text) : std::string(text);
  }

 private:
  State& state_;
  StatementHandle statement_;
};

QueryDatabase::QueryDatabase(const QueryTables& tables, const std::atomic<bool>& stop)
    : state_(std::make_unique<State>(tables, stop)) {}
QueryDatabase::~QueryDatabase() = default;

QueryResult QueryDatabase::run(const std::string& sql) {
  StatementHandle statement = state_->prepare(sql);
  QueryResult result;
  for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
    const char* name = sqlite3_column_name(statement.get(), i);
    result.columns.emplace_back(name != nullptr ? name : "");
  }
  result.rows = std::make_unique<Rows>(*state_, std::move(statement));
  return result;
}

}  // namespace memflame
