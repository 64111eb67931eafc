// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/selection.h"

#include <algorithm>

#include "core/error.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/window.h"

namespace memflame {
namespace {

constexpr size_t most_listed = 20;

// A value of the bound table of one row.
std::string asked(const std::string& column) { return "(SELECT " + column + " FROM asked)"; }

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (size_t i = 0; i < words.size() && i < most_listed; ++i)
    list += (i == 0 ? "'" : ", '") + words[i] + "'";
  return list + (words.size() > most_listed ? ", …" : "");
}

std::vector<std::string> texts_in(const std::string& reply) {
  std::vector<std::string> texts;
  for (RowReader rows(reply); !rows.at_end();) texts.emplace_back(rows.text());
  return texts;
}

std::string figure(const std::string& name) {
  return "any(figure_values[indexOf(figure_names, '" + name + "')]) AS " + name;
}

}  // namespace

bool is_state_type(const std::string& type) {
  const WindowType* const known = window_type(type);
  return known != nullptr ? known->is_state : type.starts_with("inuse");
}

StoreSelection::StoreSelection(const ClickHouse& store, StoreQuestion question)
    : store_(store), question_(std::move(question)) {
  if (question_.service.empty()) {
    std::string only;
    const std::string services = found_services(only);
    if (only.empty())
      throw Error(shown(store_.address()) + ": which service? " + services, ExitCode::usage);
    question_.service = only;
  }
  bind();
  read_facts();
  if (facts_.windows == 0) nothing_found();
  read_types();
}

void StoreSelection::bind() {
  const auto seconds = [](int64_t ns) { return static_cast<uint32_t>(ns / ns_a_second); };
  const uint32_t from = seconds(question_.from_ns), to = seconds(question_.to_ns);
  std::string columns =
      "service String, from_ns Int64, to_ns Int64, from_day Date, to_day Date, from_time "
      "DateTime('UTC'), to_time DateTime('UTC'), from_slot DateTime('UTC'), type String";
  RowWriter row;
  row.text(question_.service);
  row.number(question_.from_ns);
  row.number(question_.to_ns);
  row.number(static_cast<uint16_t>(from / seconds_a_day));
  row.number(static_cast<uint16_t>(to / seconds_a_day));
  row.number(from);
  row.number(to);
  row.number(static_cast<uint32_t>(from - from % slot_seconds));
  row.text(question_.type);
  for (size_t i = 0; i < question_.labels.size(); ++i) {
    const std::string number = std::to_string(i);
    columns += ", label" + number + " String, values" + number + " Array(String)";
    row.text(question_.labels[i].name);
    row.texts(question_.labels[i].values);
  }
  bound_ = {{"asked", columns, row.bytes()}};
}

std::string StoreSelection::windows_where() const {
  std::string where = "service = " + asked("service") + " AND day BETWEEN " + asked("from_day") +
                      " AND " + asked("to_day") + " AND ended BETWEEN " + asked("from_time") +
                      " AND " + asked("to_time") + " AND ended_ns > " + asked("from_ns") +
                      " AND ended_ns <= " + asked("to_ns");
  for (size_t i = 0; i < question_.labels.size(); ++i) {
    const std::string number = std::to_string(i);
    where += " AND has(" + asked("values" + number) + ", label_values[indexOf(label_names, " +
             asked("label" + number) + ")])";
  }
  return where;
}

// The store leaves out what lies elsewhere in its order: by service, type, slot and series.
std::string StoreSelection::samples_in_range() const {
  std::string where = "service = " + asked("service") + " AND day BETWEEN " + asked("from_day") +
                      " AND " + asked("to_day") + " AND slot BETWEEN " + asked("from_slot") +
                      " AND " + asked("to_time");
  if (!question_.labels.empty())
    where += " AND series IN (SELECT DISTINCT series FROM windows WHERE " + windows_where() + ")";
  return where;
}

std::string StoreSelection::samples_where_all() const {
  return samples_in_range() + " AND load IN (" + all_loads() + ")";
}

std::string StoreSelection::samples_where(const std::string& loads, int64_t most) const {
  std::string where = samples_in_range();
  const int64_t slots = (facts_.ended_ns - facts_.began_ns) / (slot_seconds * ns_a_second);
  const std::string length = std::to_string(slot_seconds);
  if (slots > most)
    where += " AND slot IN (SELECT DISTINCT toDateTime(intDiv(toUInt32(ended), " + length + ") * " +
             length + ", 'UTC') FROM windows WHERE " + windows_where() + " AND load IN (" + loads +
             "))";
  return where + " AND load IN (" + loads + ")";
}

// A window that was sent twice has two rows; its samples of one of them count.
std::string StoreSelection::all_loads() const {
  return "SELECT min(load) FROM windows WHERE " + windows_where() + " GROUP BY id";
}

// The last window of each series, unless the same host has later ones of the service: then what the
// series stood for (a version, a container) has gone before the end. Windows of a host end
// together, or nearly. ALL and ANY are the same here, but what ANY means has changed since 18.16. A
// query may ask for them twice, so that a window with two loads must have the same each time.
std::string StoreSelection::last_loads() const {
  return "SELECT last_load FROM (SELECT host, series, argMax(load, tuple(ended_ns, load)) AS "
         "last_load, "
         "max(ended_ns) AS last, argMax(ended_ns - began_ns, ended_ns) AS length FROM windows "
         "WHERE " +
         windows_where() +
         " GROUP BY host, series) ALL INNER JOIN (SELECT host, max(ended_ns) AS newest FROM "
         "windows WHERE " +
         windows_where() + " GROUP BY host) USING host WHERE last + length * 1.5 > newest";
}

void StoreSelection::read_facts() {
  const std::string reply = store_.ask(
      "SELECT count(), uniqExact(of_host), uniqExact(of_series), "
      "arraySlice(arraySort(groupUniqArray(of_version)), 1, " +
          std::to_string(most_listed) +
          "), min(begin), max(end), max(end - begin), sum(lost_events), sum(lost_bytes), "
          "sum(cut_stacks), min(sample_bytes), max(sample_bytes) FROM (SELECT any(host) AS "
          "of_host, "
          "any(series) AS of_series, any(version) AS of_version, any(began_ns) AS begin, "
          "any(ended_ns) AS end, " +
          figure("lost_events") + ", " + figure("lost_bytes") + ", " + figure("cut_stacks") + ", " +
          figure("sample_bytes") + " FROM windows WHERE " + windows_where() + " GROUP BY id)",
      bound_);
  RowReader rows(reply);
  if (rows.at_end()) return;
  facts_.windows = rows.number<uint64_t>();
  facts_.hosts = rows.number<uint64_t>();
  facts_.series = rows.number<uint64_t>();
  facts_.versions = rows.texts();
  facts_.began_ns = rows.number<int64_t>();
  facts_.ended_ns = rows.number<int64_t>();
  facts_.longest_ns = rows.number<int64_t>();
  for (double* figure : {&facts_.lost_events, &facts_.lost_bytes, &facts_.cut_stacks,
                         &facts_.least_sample_bytes, &facts_.most_sample_bytes})
    *figure = rows.number<double>();
}

void StoreSelection::read_types() {
  const std::string reply = store_.ask(
      "SELECT name, any(unit), min(place), sumIf(rows, load IN (" + all_loads() +
          ")), sumIf(rows, load IN (" + last_loads() +
          ")) FROM windows ARRAY JOIN type_names AS name, type_units AS unit, type_rows AS rows, "
          "arrayEnumerate(type_names) AS place WHERE " +
          windows_where() + " GROUP BY name ORDER BY min(place), name",
      bound_);
  std::vector<std::string> names;
  for (RowReader rows(reply); !rows.at_end();) {
    StoreType type;
    type.name = rows.text();
    const std::string unit(rows.text());
    rows.number<uint32_t>();  // its place
    const auto of_all = rows.number<uint64_t>(), of_last = rows.number<uint64_t>();
    if (!parse_unit(unit, type.unit))
      throw Error(shown(store_.address()) + ": type '" + type.name + "' has the unknown unit '" +
                  unit + "'");
    type.is_state = is_state_type(type.name);
    type.rows = type.is_state ? of_last : of_all;
    names.push_back(type.name);
    if (question_.type.empty() || question_.type == type.name) types_.push_back(std::move(type));
  }
  if (types_.empty())
    throw Error(shown(store_.address()) + ": there is no type '" + question_.type +
                    "' in these windows; there are " + listed(names),
                ExitCode::usage);
}

std::string StoreSelection::found_services(std::string& only) const {
  const std::vector<std::string> services =
      texts_in(store_.ask("SELECT DISTINCT service FROM windows ORDER BY service LIMIT " +
                          std::to_string(most_listed + 1)));
  if (services.size() == 1) only = services.front();
  return services.empty() ? "there are no windows yet: 'memflame watch' sends them"
                          : "there are " + listed(services) + "; give service=NAME";
}

void StoreSelection::nothing_found() const {
  const std::string begin = shown(store_.address()) + ": ";
  const std::string reply = store_.ask(
      "SELECT count(), min(began_ns), max(ended_ns) FROM windows "
      "WHERE service = " +
          asked("service"),
      bound_);
  RowReader rows(reply);
  const uint64_t windows = rows.at_end() ? 0 : rows.number<uint64_t>();
  std::string only;
  if (windows == 0)
    throw Error(begin + "there is no service '" + question_.service + "'; " + found_services(only));
  const auto began = rows.number<int64_t>(), ended = rows.number<int64_t>();
  for (size_t i = 0; i < question_.labels.size(); ++i) {
    const LabelFilter& label = question_.labels[i];
    const std::string value =
        "label_values[indexOf(label_names, " + asked("label" + std::to_string(i)) + ")]";
    const std::vector<std::string> values = texts_in(store_.ask(
        "SELECT DISTINCT " + value + " AS v FROM windows WHERE service = " + asked("service") +
            " AND day BETWEEN " + asked("from_day") + " AND " + asked("to_day") +
            " ORDER BY v LIMIT " + std::to_string(most_listed + 1),
        bound_));
    const bool is_known =
        std::any_of(label.values.begin(), label.values.end(), [&](const std::string& each) {
          return std::find(values.begin(), values.end(), each) != values.end();
        });
    if (is_known || values.empty()) continue;
    const bool has_label = values.size() > 1 || !values.front().empty();
    throw Error(begin + "no window of '" + question_.service + "' has " + label.name + "=" +
                label.values.front() + "; " +
                (has_label ? "there is " + listed(values) : "it has no such label"));
  }
  throw Error(begin + "no window of " + asked_text(question_) + " ended " +
              range_text(question_.from_ns, question_.to_ns) + "; the service has windows " +
              range_text(began, ended) + ": choose with from= and to=");
}

}  // namespace memflame
