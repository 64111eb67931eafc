// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/batch.h"

#include <algorithm>

#include "core/hash.h"
#include "fleet/clickhouse/stack_row.h"

namespace memflame {
namespace {

std::string label_of(const WindowHead& head, const std::string& name) {
  const auto at = head.labels.find(name);
  return at == head.labels.end() ? "" : at->second;
}

// A DateTime has 32 bits.
uint32_t seconds_of(int64_t ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(ns / ns_a_second, 0, UINT32_MAX));
}

uint16_t day_of(int64_t ns) { return static_cast<uint16_t>(seconds_of(ns) / seconds_a_day); }

}  // namespace

const char* const samples_columns =
    "samples (day, service, type, slot, series, time, load, host, stack, value)";
const char* const windows_columns =
    "windows (day, service, host, version, series, began, ended, began_ns, ended_ns, id, load, "
    "label_names, label_values, figure_names, figure_values, type_names, type_units, type_totals, "
    "type_rows, top_functions, top_stacks, top_inuse_bytes, top_growth_bytes, top_verdicts, "
    "top_bytes_per_hour)";

const char* const stacks_columns =
    "stacks (stack, names, kinds, modules, files, lines, start_lines, build_ids, addresses, "
    "code_files, code_starts, code_limits, code_offsets, code_is_program)";

uint64_t series_of(const WindowHead& head) {
  RowWriter text;
  for (const auto& [name, value] : head.labels) {
    text.text(name);
    text.text(value);
  }
  return lasting_hash(text.bytes());
}

void WindowRows::add(const WindowHead& head, const Profile& profile, uint64_t load) {
  Columns columns;
  add_samples(head, profile, load, columns);
  add_window(head, load, columns);
}

void WindowRows::add_samples(const WindowHead& head, const Profile& profile, uint64_t load,
                             Columns& columns) {
  std::vector<uint64_t> hashes;
  for (const StackId stack : profile.touched()) {
    std::string row = stack_row(profile, stack);
    const uint64_t hash = lasting_hash(row);
    hashes.push_back(hash);
    stacks_.try_emplace(hash, std::move(row));
  }
  // What all rows of a column begin with.
  const std::string service = label_of(head, "service"), host = label_of(head, "host");
  const uint64_t series = series_of(head);
  const uint32_t ended = seconds_of(head.ended_ns);
  for (size_t column = 0; column < profile.types.size(); ++column) {
    const ValueType& type = profile.types[column];
    if (type.unit == Unit::variance) continue;
    RowWriter begin;
    begin.number(day_of(head.ended_ns));
    begin.text(service);
    begin.text(type.name);
    begin.number(static_cast<uint32_t>(ended - ended % slot_seconds));
    begin.number(series);
    begin.number(ended);
    begin.number(load);
    begin.text(host);
    uint64_t rows = 0;
    for (size_t i = 0; i < hashes.size(); ++i) {
      const int64_t value = profile.values(profile.touched()[i])[column];
      if (value == 0) continue;
      samples_.raw(begin.bytes());
      samples_.number(hashes[i]);
      samples_.number(value);
      ++rows;
    }
    columns.names.push_back(type.name);
    columns.units.emplace_back(name(type.unit));
    columns.totals.push_back(profile.total(column));
    columns.rows.push_back(rows);
  }
}

void WindowRows::add_window(const WindowHead& head, uint64_t load, const Columns& columns) {
  RowWriter& row = windows_;
  row.number(day_of(head.ended_ns));
  for (const char* label : {"service", "host", "version"}) row.text(label_of(head, label));
  row.number(series_of(head));
  row.number(seconds_of(head.began_ns));
  row.number(seconds_of(head.ended_ns));
  row.number(head.began_ns);
  row.number(head.ended_ns);
  row.text(head.id);
  row.number(load);
  std::vector<std::string> names, values, functions, stacks, verdicts;
  for (const auto& [name, value] : head.labels) {
    names.push_back(name);
    values.push_back(value);
  }
  row.texts(names);
  row.texts(values);
  names.clear();
  std::vector<double> figures, rates;
  for (const auto& [name, value] : head.figures) {
    names.push_back(name);
    figures.push_back(value);
  }
  row.texts(names);
  row.numbers(figures);
  row.texts(columns.names);
  row.texts(columns.units);
  row.numbers(columns.totals);
  row.numbers(columns.rows);
  std::vector<int64_t> in_use, growth;
  for (const WindowStack& stack : head.top) {
    functions.push_back(stack.function);
    stacks.push_back(stack.stack);
    in_use.push_back(stack.inuse_bytes);
    growth.push_back(stack.growth_bytes);
    verdicts.push_back(stack.verdict);
    rates.push_back(stack.bytes_per_hour);
  }
  row.texts(functions);
  row.texts(stacks);
  row.numbers(in_use);
  row.numbers(growth);
  row.texts(verdicts);
  row.numbers(rates);
}

}  // namespace memflame
