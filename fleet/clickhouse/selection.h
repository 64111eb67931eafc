// SPDX-License-Identifier: BSD-2-Clause
// Which windows a question is about, as conditions of SQL with their values bound, and what these
// windows say beside their stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"
#include "fleet/clickhouse/client.h"
#include "fleet/clickhouse/question.h"

namespace memflame {

struct StoreFacts {
  uint64_t windows = 0, hosts = 0, series = 0;
  std::vector<std::string> versions;                   // at most 20
  int64_t began_ns = 0, ended_ns = 0, longest_ns = 0;  // the last is the length of a window
  double lost_events = 0, lost_bytes = 0, cut_stacks = 0;
  double least_sample_bytes = 0, most_sample_bytes = 0;  // 0 = exact
};

struct StoreType {
  std::string name;
  Unit unit = Unit::count;
  bool is_state = false;
  uint64_t rows = 0;  // how many the windows say that there are
};

class StoreSelection {
 public:
  // Asks the store. Throws Error with what there is, if there is nothing that fits.
  StoreSelection(const ClickHouse& store, StoreQuestion question);

  const StoreQuestion& question() const { return question_; }
  const StoreFacts& facts() const { return facts_; }
  const std::vector<StoreType>& types() const { return types_; }  // of the question

  // The tables that go with all queries that use the texts below.
  const std::vector<BoundTable>& bound() const { return bound_; }
  // Conditions on rows of `windows`, and on rows of `samples` of all these windows, or of at most
  // `most` of each series, whose loads are the result of the query `loads`.
  std::string windows_where() const;
  std::string samples_where_all() const;
  std::string samples_where(const std::string& loads, int64_t most) const;
  // Loads of samples of the last window of each series.
  std::string last_loads() const;

 private:
  std::string all_loads() const;
  std::string samples_in_range() const;
  void bind();
  void read_facts();
  void read_types();
  [[noreturn]] void nothing_found() const;
  std::string found_services(std::string& only) const;

  const ClickHouse& store_;
  StoreQuestion question_;
  std::vector<BoundTable> bound_;
  StoreFacts facts_;
  std::vector<StoreType> types_;
};

// Whether windows of this type must not be added up along time.
bool is_state_type(const std::string& type);

}  // namespace memflame
