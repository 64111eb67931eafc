// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/schema.h"

#include "core/error.h"
#include "fleet/clickhouse/row_binary.h"

namespace memflame {
namespace {

// Rows beside each other are alike, so they pack well: within ten minutes (a slot) the windows of a
// stack on a host follow each other, and most have the same value. Longer slots would pack better,
// but of the in-use types only the last windows are read, and with them the rest of their slot.
constexpr const char* samples_table =
    "CREATE TABLE IF NOT EXISTS samples (\n"
    "  day Date,\n"
    "  service String,\n"
    "  type String,\n"
    "  slot DateTime('UTC'),\n"
    "  series UInt64,\n"
    "  time DateTime('UTC'),\n"
    "  load UInt64,\n"
    "  host String,\n"
    "  stack UInt64,\n"
    "  value Int64\n"
    ") ENGINE = MergeTree PARTITION BY day\n"
    "ORDER BY (service, type, slot, series, stack, time, load)\n"
    "SETTINGS index_granularity = 8192";

// A window counts once its row is here. If it was sent again, the samples of each time have another
// `load`, and queries take one of them.
constexpr const char* windows_table =
    "CREATE TABLE IF NOT EXISTS windows (\n"
    "  day Date,\n"
    "  service String,\n"
    "  host String,\n"
    "  version String,\n"
    "  series UInt64,\n"
    "  began DateTime('UTC'),\n"
    "  ended DateTime('UTC'),\n"
    "  began_ns Int64,\n"
    "  ended_ns Int64,\n"
    "  id String,\n"
    "  load UInt64,\n"
    "  label_names Array(String),\n"
    "  label_values Array(String),\n"
    "  figure_names Array(String),\n"
    "  figure_values Array(Float64),\n"
    "  type_names Array(String),\n"
    "  type_units Array(String),\n"
    "  type_totals Array(Int64),\n"
    "  type_rows Array(UInt64),\n"
    "  top_functions Array(String),\n"
    "  top_stacks Array(String),\n"
    "  top_inuse_bytes Array(Int64),\n"
    "  top_growth_bytes Array(Int64),\n"
    "  top_verdicts Array(String),\n"
    "  top_bytes_per_hour Array(Float64)\n"
    ") ENGINE = MergeTree PARTITION BY day\n"
    "ORDER BY (service, ended, series, id)\n"
    "SETTINGS index_granularity = 1024";

// A query looks for some thousand stacks that lie anywhere, so it reads few rows beside each.
constexpr const char* stacks_table =
    "CREATE TABLE IF NOT EXISTS stacks (\n"
    "  stack UInt64,\n"
    "  names Array(String),\n"
    "  kinds Array(String),\n"
    "  modules Array(String),\n"
    "  files Array(String),\n"
    "  lines Array(UInt32),\n"
    "  start_lines Array(UInt32),\n"
    "  build_ids Array(String),\n"
    "  addresses Array(UInt64),\n"
    "  code_files Array(String),\n"
    "  code_starts Array(UInt64),\n"
    "  code_limits Array(UInt64),\n"
    "  code_offsets Array(UInt64),\n"
    "  code_is_program Array(UInt8)\n"
    ") ENGINE = ReplacingMergeTree ORDER BY stack\n"
    "SETTINGS index_granularity = 256";

constexpr const char* schema_table =
    "CREATE TABLE IF NOT EXISTS memflame_schema (\n"
    "  version UInt32,\n"
    "  made DateTime('UTC')\n"
    ") ENGINE = ReplacingMergeTree ORDER BY version";

std::string schema_row() {
  const std::string version = std::to_string(store_version);
  return "INSERT INTO memflame_schema SELECT toUInt32(" + version +
         "), now() FROM system.one\nWHERE (SELECT count() FROM memflame_schema WHERE version = " +
         version + ") = 0";
}

void require_version(const ClickHouse& store) {
  const std::string reply = store.ask("SELECT max(version), count() FROM memflame_schema");
  RowReader rows(reply);
  const auto version = rows.number<uint32_t>();
  const auto known = rows.number<uint64_t>();
  if (known != 0 && version != static_cast<uint32_t>(store_version))
    throw Error(shown(store.address()) + ": its tables have version " + std::to_string(version) +
                ", and this memflame knows version " + std::to_string(store_version) +
                "; give another database, or use a memflame of the same version");
}

}  // namespace

void require_database_name(const std::string& name) {
  constexpr size_t longest = 64;
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const bool is_good = !name.empty() && name.size() <= longest &&
                       name.find_first_not_of(allowed) == std::string::npos &&
                       (name[0] < '0' || name[0] > '9');
  if (!is_good)
    throw Error(
        "the name of a database has letters, digits and '_', at most 64, and no digit at "
        "its beginning; this is '" +
            name + "'",
        ExitCode::usage);
}

std::vector<std::string> store_statements(const std::string& database) {
  require_database_name(database);
  return {"CREATE DATABASE IF NOT EXISTS " + database,
          schema_table,
          stacks_table,
          samples_table,
          windows_table,
          schema_row()};
}

void make_store(const ClickHouse& store) {
  const std::vector<std::string> statements = store_statements(store.address().database);
  bool in_database = false;
  for (const std::string& statement : statements) {
    store.run(statement, in_database);
    // Before anything else is made in it.
    if (statement == schema_table) require_version(store);
    in_database = true;
  }
}

}  // namespace memflame
