// SPDX-License-Identifier: BSD-2-Clause
// A ClickHouse by HTTP: statements, rows in, rows out. Nothing newer than 18.16 is required.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fleet/http.h"

namespace memflame {

struct StoreAddress {
  std::string url;  // "http://host:8123"
  std::string database = "memflame";
  HttpAccess access;
};

// "clickhouse://host:8123/memflame": for messages, without user and password.
std::string shown(const StoreAddress& address);

// A table that goes with a query and is gone after it. This is how values are bound: they are sent
// beside the text of the query, which consists of memflame's own words only.
struct BoundTable {
  std::string name;
  std::string columns;  // "service String, from Int64"
  std::string rows;     // RowBinary
};

class ClickHouse {
 public:
  explicit ClickHouse(StoreAddress address) : address_(std::move(address)) {}
  const StoreAddress& address() const { return address_; }

  // All throw Error with what the store says, and what to do about it.
  // A statement without rows, as CREATE. `in_database` is false where there may be none yet.
  void run(const std::string& statement, bool in_database = true) const;
  // Rows of a query, in RowBinary.
  std::string ask(const std::string& query, std::span<const BoundTable> bound = {}) const;
  // `into`: "samples (day, …)". Returns when the rows are in the table.
  void insert(const std::string& into, std::string_view rows) const;

 private:
  std::string request(const std::string& parameters, const std::string& body,
                      std::vector<std::string> headers, bool in_database, double patience) const;
  [[noreturn]] void fail(int status, const std::string& reply) const;

  StoreAddress address_;
};

}  // namespace memflame
