// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/export.h"

#include <sqlite3.h>

#include <cstring>

#include "collapse/query/fd_vfs.h"
#include "collapse/query/sqlite_handles.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr unsigned rows_between = 4096;  // two looks at whether to stop

class ExportedFile {
 public:
  ExportedFile(int fd, const std::string& name, const std::atomic<bool>& stop)
      : vfs_(fd), name_(name), stop_(stop) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2("database", &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs_.name());
    database_.reset(opened);
    require(code);
    // A failure leaves no file, so there is nothing to roll back.
    execute("pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive");
    execute("pragma cache_size = -32768");  // 32 MiB
    execute("begin");
  }

  void add(QueryTable& table) {
    create(table);
    const std::unique_ptr<QueryRows> rows = table.rows({});
    const size_t columns = table.columns().size();
    for (unsigned count = 0; rows->next(); ++count) {
      if (count % rows_between == 0 && stop_) throw Error("interrupted: " + name_ + " is not made");
      for (size_t i = 0; i < columns; ++i) bind(static_cast<int>(i + 1), rows->value(i));
      if (sqlite3_step(insert_.get()) != SQLITE_DONE) fail();
      sqlite3_reset(insert_.get());
    }
    if (table.key() && !table.is_unique_key())
      execute("create index " + std::string(table.name()) + "_by_key on " +
              std::string(table.name()) + "(" + std::string(table.columns()[*table.key()].name) +
              ")");
  }

  void finish() { execute("commit"); }

 private:
  void create(const QueryTable& table) {
    std::string columns, places;
    for (size_t i = 0; i < table.columns().size(); ++i) {
      const QueryColumn& column = table.columns()[i];
      columns +=
          (i == 0 ? "" : ", ") + std::string(column.name) + " " + std::string(name_of(column.type));
      if (table.is_unique_key() && table.key() == i) columns += " primary key";
      places += i == 0 ? "?" : ", ?";
    }
    const std::string name(table.name());
    execute("create table " + name + "(" + columns + ")");
    sqlite3_stmt* insert = nullptr;
    const std::string sql = "insert into " + name + " values(" + places + ")";
    require(sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &insert, nullptr));
    insert_.reset(insert);
  }

  void bind(int place, const QueryValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value))
      require(sqlite3_bind_int64(insert_.get(), place, *number));
    else if (const auto* real = std::get_if<double>(&value))
      require(sqlite3_bind_double(insert_.get(), place, *real));
    else if (const auto* text = std::get_if<std::string>(&value))
      require(sqlite3_bind_text64(insert_.get(), place, text->data(), text->size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
    else
      require(sqlite3_bind_null(insert_.get(), place));
  }

  void execute(const std::string& sql) {
    require(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  void require(int code) {
    if (code != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() {
    throw Error(
        "cannot write " + name_ + ": " +
        (vfs_.error() != 0 ? std::strerror(vfs_.error()) : sqlite3_errmsg(database_.get())));
  }

  FdVfs vfs_;
  const std::string& name_;
  const std::atomic<bool>& stop_;
  DatabaseHandle database_;
  StatementHandle insert_;
};

}  // namespace

std::vector<std::string> export_tables(const QueryTables& tables, int fd, const std::string& name,
                                       const std::atomic<bool>& stop) {
  std::vector<std::string> left_out;
  ExportedFile file(fd, name, stop);
  for (const std::unique_ptr<QueryTable>& table : tables) {
    if (const std::string why = table->missing(); !why.empty())
      left_out.push_back("the table " + std::string(table->name()) + " is left out: " + why);
    else
      file.add(*table);
  }
  file.finish();
  return left_out;
}

}  // namespace memflame
