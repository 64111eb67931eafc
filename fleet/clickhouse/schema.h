// SPDX-License-Identifier: BSD-2-Clause
// The tables of the store, which `memflame store init` makes. docs/fleet.md describes them.
#pragma once

#include <string>
#include <vector>

#include "fleet/clickhouse/client.h"

namespace memflame {

inline constexpr int store_version = 1;

// A name that needs no quotes. Throws Error (usage).
void require_database_name(const std::string& name);

// Statements that may be run again and again. The first makes the database.
std::vector<std::string> store_statements(const std::string& database);

// Makes what is missing. Throws Error if the tables are of another version.
void make_store(const ClickHouse& store);

}  // namespace memflame
