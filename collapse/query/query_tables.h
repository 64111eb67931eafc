// SPDX-License-Identifier: BSD-2-Clause
// All tables of a recording. A new one is a function here, its file, and a line in
// query_tables.cc.
#pragma once

#include <memory>
#include <vector>

#include "collapse/query/query_run.h"
#include "collapse/query/query_table.h"

namespace memflame {

std::unique_ptr<QueryTable> blocks_table(QueryRun& run);
std::unique_ptr<QueryTable> stacks_table(QueryRun& run);
std::unique_ptr<QueryTable> frames_table(QueryRun& run);
std::unique_ptr<QueryTable> readings_table(QueryRun& run);
std::unique_ptr<QueryTable> figures_table(QueryRun& run);
std::unique_ptr<QueryTable> markers_table(QueryRun& run);
std::unique_ptr<QueryTable> gaps_table(QueryRun& run);
std::unique_ptr<QueryTable> threads_table(QueryRun& run);
std::unique_ptr<QueryTable> processes_table(QueryRun& run);
std::unique_ptr<QueryTable> recording_table(QueryRun& run);

using QueryTables = std::vector<std::unique_ptr<QueryTable>>;

// `run` outlives them.
QueryTables tables_of(QueryRun& run);

// The tables with their columns, as rows: table, column, type, meaning. A table that the recording
// lacks has one row, which says why. `tables` outlives it.
QueryResult schema_of(const QueryTables& tables);

}  // namespace memflame
