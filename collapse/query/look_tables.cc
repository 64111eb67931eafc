// SPDX-License-Identifier: BSD-2-Clause
// readings, figures: what the looks at a run have.
#include <cmath>

#include "collapse/query/query_tables.h"
#include "core/error.h"

namespace memflame {
namespace {

QueryValue figure_of(int64_t value, uint8_t decimals) {
  if (decimals == 0) return value;
  return static_cast<double>(value) / std::pow(10.0, decimals);
}

// A figure that looks have: a gauge, or the column of a probe.
struct LookFigure {
  std::string name, unit;
  uint8_t decimals = 0;
  size_t index = 0;  // of History::gauges, or of Recording::types
  bool is_gauge = false;
};

std::vector<LookFigure> figures_of_types(QueryRun& run) {
  std::vector<LookFigure> figures;
  const std::vector<ValueType>& types = run.recording().types;
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i].unit != Unit::variance)
      figures.push_back({.name = run.clean(types[i].name),
                         .unit = std::string(name(types[i].unit)),
                         .decimals = types[i].decimals,
                         .index = i});
  return figures;
}

std::vector<LookFigure> figures_of_looks(QueryRun& run) {
  std::vector<LookFigure> figures;
  const std::vector<Gauge>& gauges = run.history().gauges;
  for (size_t i = 0; i < gauges.size(); ++i)
    figures.push_back({.name = run.clean(gauges[i].name),
                       .unit = std::string(name(gauges[i].unit)),
                       .decimals = gauges[i].decimals,
                       .index = i,
                       .is_gauge = true});
  for (LookFigure& figure : figures_of_types(run)) figures.push_back(std::move(figure));
  return figures;
}

// What each track had at the look before.
class TrackFigures {
 public:
  explicit TrackFigures(QueryRun& run)
      : columns_(run.recording().types.size()), last_(run.history().tracks.size() * columns_) {}

  // The change since then; `value` becomes the last one.
  int64_t take(const Look::Row& row, size_t column) {
    int64_t& last = last_.at(row.track.index * columns_ + column);
    int64_t change = 0;
    if (__builtin_sub_overflow(row.values[column], last, &change))
      throw Error("the recording is damaged: a figure changes by more than 63 bits hold");
    last = row.values[column];
    return change;
  }

 private:
  size_t columns_;
  std::vector<int64_t> last_;
};

const std::vector<QueryColumn> reading_columns{
    {"time_ns", QueryType::integer, "when it was read, since counting began"},
    {"name", QueryType::text, "resident, live, total, … as 'memflame timeline' shows them"},
    {"value", QueryType::any, "a number; with a fraction if the figure has one"},
    {"unit", QueryType::text, "bytes, pages, count or nanoseconds"},
    {"source", QueryType::text, "system, or total: the sum of a probe's column over all stacks"}};

class ReadingRows : public QueryRows {
 public:
  explicit ReadingRows(QueryRun& run)
      : looks_(run.history().looks),
        figures_(figures_of_looks(run)),
        columns_(run.recording().types.size()),
        tracks_(run),
        totals_(columns_) {}

  bool next() override {
    while (true) {
      if (at_ == figures_.size()) {
        if (look_ == looks_.size()) return false;
        take(looks_[look_++]);
        at_ = 0;
      } else {
        ++at_;
      }
      if (at_ < figures_.size() && is_read()) return true;
    }
  }

  QueryValue value(size_t column) override {
    const LookFigure& figure = figures_[at_];
    switch (column) {
      case 0:
        return query_integer(look().time_ns);
      case 1:
        return figure.name;
      case 2:
        return figure_of(number(), figure.decimals);
      case 3:
        return figure.unit;
      default:
        return std::string(figure.is_gauge ? "system" : "total");
    }
  }

 private:
  const Look& look() const { return looks_[look_ - 1]; }
  int64_t number() const {
    const LookFigure& figure = figures_[at_];
    if (!figure.is_gauge) return totals_[figure.index];
    return figure.index < look().gauges.size() ? look().gauges[figure.index] : no_reading;
  }
  bool is_read() const { return !figures_[at_].is_gauge || number() != no_reading; }

  void take(const Look& look) {
    for (const Look::Row& row : look.rows)
      for (size_t i = 0; i < columns_; ++i)
        if (__builtin_add_overflow(totals_[i], tracks_.take(row, i), &totals_[i]))
          throw Error("the recording is damaged: a total does not fit in 63 bits");
  }

  const std::vector<Look>& looks_;
  const std::vector<LookFigure> figures_;
  const size_t columns_;
  TrackFigures tracks_;
  std::vector<int64_t> totals_;
  size_t look_ = 0;  // the next one
  size_t at_ = figures_.size();
};

const std::vector<QueryColumn> figure_columns{
    {"time_ns", QueryType::integer, "when it was read, since counting began"},
    {"stack", QueryType::integer, "stacks.id"},
    {"part", QueryType::text, "a part of the stack's memory, like '[anon]', or ''"},
    {"name", QueryType::text, "the probe's column: live, total, …"},
    {"value", QueryType::any, "a number, from then on"},
    {"change", QueryType::any, "since the look before; their sum until a time is the value then"},
    {"unit", QueryType::text, "bytes, pages, count or nanoseconds"}};

class FigureRows : public QueryRows {
 public:
  explicit FigureRows(QueryRun& run)
      : run_(run), looks_(run.history().looks), figures_(figures_of_types(run)), tracks_(run) {}

  bool next() override {
    while (go_on()) {
      change_ = tracks_.take(row(), figure().index);
      if (change_ != 0) return true;
    }
    return false;
  }

  QueryValue value(size_t column) override {
    const LookFigure& figure = this->figure();
    const Track& track = run_.history().tracks.at(row().track.index);
    switch (column) {
      case 0:
        return query_integer(looks_[look_].time_ns);
      case 1:
        return track.stack ? QueryValue(int64_t{track.stack.index}) : QueryValue();
      case 2:
        return run_.clean(track.group);
      case 3:
        return figure.name;
      case 4:
        return figure_of(row().values[figure.index], figure.decimals);
      case 5:
        return figure_of(change_, figure.decimals);
      default:
        return figure.unit;
    }
  }

 private:
  bool go_on() {
    if (is_begun_) ++at_;
    is_begun_ = true;
    while (look_ < looks_.size() && at_ >= looks_[look_].rows.size() * figures_.size()) {
      ++look_;
      at_ = 0;
    }
    return look_ < looks_.size();
  }
  Look::Row row() const { return looks_[look_].rows[at_ / figures_.size()]; }
  const LookFigure& figure() const { return figures_[at_ % figures_.size()]; }

  QueryRun& run_;
  const std::vector<Look>& looks_;
  const std::vector<LookFigure> figures_;
  TrackFigures tracks_;
  bool is_begun_ = false;
  size_t look_ = 0;
  size_t at_ = 0;  // among the figures of all rows of the look
  int64_t change_ = 0;
};

struct LookTableInfo {
  std::string_view name, meaning;
  const std::vector<QueryColumn>& columns;
  std::unique_ptr<QueryRows> (*rows)(QueryRun& run);
};

class LookTable : public QueryTable {
 public:
  LookTable(const LookTableInfo& info, QueryRun& run) : info_(info), run_(run) {}

  std::string_view name() const override { return info_.name; }
  std::string_view meaning() const override { return info_.meaning; }
  const std::vector<QueryColumn>& columns() const override { return info_.columns; }
  uint64_t expected_rows() const override {
    constexpr uint64_t usual_rows = 50;
    return usual_rows * run_.history().looks.size();
  }
  std::unique_ptr<QueryRows> rows(const WantedRows&) override { return info_.rows(run_); }

 private:
  const LookTableInfo& info_;
  QueryRun& run_;
};

template <class Rows>
std::unique_ptr<QueryRows> rows_of(QueryRun& run) {
  return std::make_unique<Rows>(run);
}
const LookTableInfo reading_info{.name = "readings",
                                 .meaning = "figures of the system, and totals, at each look",
                                 .columns = reading_columns,
                                 .rows = rows_of<ReadingRows>};
const LookTableInfo figure_info{
    .name = "figures",
    .meaning = "figures of stacks, at each look at which they had changed",
    .columns = figure_columns,
    .rows = rows_of<FigureRows>};

}  // namespace

std::unique_ptr<QueryTable> readings_table(QueryRun& run) {
  return std::make_unique<LookTable>(reading_info, run);
}
std::unique_ptr<QueryTable> figures_table(QueryRun& run) {
  return std::make_unique<LookTable>(figure_info, run);
}

}  // namespace memflame
