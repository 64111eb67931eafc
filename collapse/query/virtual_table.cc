// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/virtual_table.h"

#include <charconv>
#include <new>
#include <string>

#include "core/error.h"

namespace memflame {
namespace {

// SQLite's structs come first, so a pointer to one is a pointer to the other.
struct ConnectedTable : sqlite3_vtab {
  explicit ConnectedTable(VirtualTable& own) : sqlite3_vtab{}, shared(own) {}
  VirtualTable& shared;
};
struct OpenCursor : sqlite3_vtab_cursor {
  OpenCursor() : sqlite3_vtab_cursor{} {}
  std::unique_ptr<QueryRows> rows;
  bool is_at_end = true;
  sqlite3_int64 row = 0;
};

VirtualTable& shared_of(sqlite3_vtab* table) { return static_cast<ConnectedTable*>(table)->shared; }

// The result of `work`, or the code for what it throws. `message` gets the words.
template <class Work>
int caught(std::exception_ptr& failure, char*& message, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    failure = std::current_exception();
    sqlite3_free(message);
    message = sqlite3_mprintf("%s", error.what());
  }
  return SQLITE_ERROR;
}

std::string declaration(const QueryTable& table) {
  std::string text;
  for (const QueryColumn& column : table.columns())
    text += (text.empty() ? "" : ", ") + std::string(column.name) + " " +
            std::string(name_of(column.type));
  return "create table " + std::string(table.name()) + "(" + text + ")";
}

int connect_table(sqlite3* database, void* own, int, const char* const*, sqlite3_vtab** into,
                  char** message) {
  VirtualTable& shared = *static_cast<VirtualTable*>(own);
  return caught(shared.state.failure, *message, [&] {
    if (const std::string why = shared.table.missing(); !why.empty())
      throw Error(std::string(shared.table.name()) + ": " + why, ExitCode::usage);
    shared.state.is_declaring = true;
    const int code = sqlite3_declare_vtab(database, declaration(shared.table).c_str());
    shared.state.is_declaring = false;
    if (code != SQLITE_OK) return code;
    *into = new ConnectedTable(shared);
    return SQLITE_OK;
  });
}

int disconnect_table(sqlite3_vtab* table) {
  delete static_cast<ConnectedTable*>(table);
  return SQLITE_OK;
}

constexpr int by_key = 1;

// idxNum says whether there is a key, idxStr which columns are used.
int choose_plan(sqlite3_vtab* table, sqlite3_index_info* plan) {
  const QueryTable& rows = shared_of(table).table;
  const auto count = static_cast<double>(rows.expected_rows());
  // A scan that takes long should be the outermost loop of a join.
  plan->estimatedCost = rows.is_slow() ? count * 1000 : count + 1;
  plan->estimatedRows = static_cast<sqlite3_int64>(rows.expected_rows());
  for (int i = 0; rows.key() && i < plan->nConstraint; ++i) {
    const auto& constraint = plan->aConstraint[i];
    if (constraint.usable == 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ ||
        constraint.iColumn != static_cast<int>(*rows.key()))
      continue;
    // SQLite still compares, so a value that is not a whole number finds nothing.
    plan->aConstraintUsage[i].argvIndex = 1;
    plan->idxNum = by_key;
    plan->estimatedRows = rows.is_unique_key() ? 1 : 20;
    plan->estimatedCost = static_cast<double>(plan->estimatedRows);
    if (rows.is_unique_key()) plan->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    break;
  }
  plan->idxStr = sqlite3_mprintf("%llu", plan->colUsed);
  plan->needToFreeIdxStr = 1;
  return plan->idxStr != nullptr ? SQLITE_OK : SQLITE_NOMEM;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** into) {
  *into = new (std::nothrow) OpenCursor;
  return *into != nullptr ? SQLITE_OK : SQLITE_NOMEM;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<OpenCursor*>(cursor);
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* at) {
  auto& cursor = *static_cast<OpenCursor*>(at);
  return caught(shared_of(at->pVtab).state.failure, at->pVtab->zErrMsg, [&] {
    cursor.is_at_end = !cursor.rows->next();
    ++cursor.row;
    return SQLITE_OK;
  });
}

int begin_rows(sqlite3_vtab_cursor* at, int plan, const char* columns, int, sqlite3_value** key) {
  auto& cursor = *static_cast<OpenCursor*>(at);
  cursor.rows.reset();
  cursor.is_at_end = true;
  WantedRows wanted;
  const std::string_view digits(columns);
  std::from_chars(digits.data(), digits.data() + digits.size(), wanted.columns);
  if (plan == by_key) {
    if (sqlite3_value_type(key[0]) == SQLITE_NULL) return SQLITE_OK;  // equals nothing
    wanted.key = sqlite3_value_int64(key[0]);
  }
  VirtualTable& shared = shared_of(at->pVtab);
  const int code = caught(shared.state.failure, at->pVtab->zErrMsg, [&] {
    cursor.rows = shared.table.rows(wanted);
    return SQLITE_OK;
  });
  return code == SQLITE_OK ? next_row(at) : code;
}

int is_at_end(sqlite3_vtab_cursor* cursor) {
  return static_cast<OpenCursor*>(cursor)->is_at_end ? 1 : 0;
}

int give_value(sqlite3_vtab_cursor* at, sqlite3_context* into, int column) {
  return caught(shared_of(at->pVtab).state.failure, at->pVtab->zErrMsg, [&] {
    const QueryValue value = static_cast<OpenCursor*>(at)->rows->value(static_cast<size_t>(column));
    if (const auto* number = std::get_if<int64_t>(&value))
      sqlite3_result_int64(into, *number);
    else if (const auto* real = std::get_if<double>(&value))
      sqlite3_result_double(into, *real);
    else if (const auto* text = std::get_if<std::string>(&value))
      sqlite3_result_text64(into, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
  });
}

int give_row_number(sqlite3_vtab_cursor* cursor, sqlite3_int64* into) {
  *into = static_cast<OpenCursor*>(cursor)->row;
  return SQLITE_OK;
}

sqlite3_module table_module() {
  sqlite3_module module{};
  // Without xCreate a table is there under its module's name, and no other can be made.
  module.xConnect = connect_table;
  module.xDisconnect = disconnect_table;
  module.xBestIndex = choose_plan;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = begin_rows;
  module.xNext = next_row;
  module.xEof = is_at_end;
  module.xColumn = give_value;
  module.xRowid = give_row_number;
  return module;
}

const sqlite3_module the_module = table_module();

}  // namespace

void add_virtual_table(sqlite3* database, VirtualTable& table) {
  const std::string name(table.table.name());
  if (sqlite3_create_module(database, name.c_str(), &the_module, &table) != SQLITE_OK)
    throw Error("SQLite refuses the table " + name + ": " + sqlite3_errmsg(database));
}

}  // namespace memflame
