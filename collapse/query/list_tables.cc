// SPDX-License-Identifier: BSD-2-Clause
// markers, gaps, threads, processes, recording.
#include "collapse/query/list_table.h"
#include "collapse/query/query_tables.h"

namespace memflame {
namespace {

// Ids of a recording count from 1; [0] is none.
int64_t id_of_row(size_t row) { return static_cast<int64_t>(row + 1); }
template <class Tag>
QueryValue id_or_null(Id<Tag> id) {
  return id ? QueryValue(int64_t{id.index}) : QueryValue();
}

const Space& space_of(QueryRun& run, SpaceId id) {
  const Paged<Space>& spaces = run.recording().spaces;
  return spaces[id.index < spaces.size() ? id.index : 0];
}

constexpr ListColumn marker_columns[] = {
    {{"time_ns", QueryType::integer, "since counting began"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return query_integer(run.history().marks[row].time_ns);
     }},
    {{"name", QueryType::text, "as 'memflame control PID mark NAME' gave it"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return run.clean(run.history().marks[row].name);
     }}};
constexpr ListTableInfo marker_info{
    .name = "markers",
    .meaning = "moments of the run that have a name",
    .columns = marker_columns,
    .rows = [](QueryRun& run) { return run.history().marks.size(); }};

constexpr ListColumn gap_columns[] = {
    {{"from_ns", QueryType::integer, "when the first event was lost"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return query_integer(run.history().gaps[row].from_ns);
     }},
    {{"until_ns", QueryType::integer, "when all was known again; NULL: never"},
     [](QueryRun& run, size_t row) -> QueryValue {
       const uint64_t until = run.history().gaps[row].until_ns;
       return until == EventGap::no_end ? QueryValue() : QueryValue(query_integer(until));
     }},
    {{"events", QueryType::integer, "how many were lost; NULL: not known"},
     [](QueryRun& run, size_t row) -> QueryValue {
       const uint64_t events = run.history().gaps[row].events;
       return events == 0 ? QueryValue() : QueryValue(query_integer(events));
     }}};
constexpr ListTableInfo gap_info{.name = "gaps",
                                 .meaning = "times in which events were lost",
                                 .columns = gap_columns,
                                 .rows = [](QueryRun& run) { return run.history().gaps.size(); }};

const Thread& thread_in(QueryRun& run, size_t row) { return run.history().threads[row + 1]; }
constexpr ListColumn thread_columns[] = {
    {{"id", QueryType::integer, "its number in this recording"},
     [](QueryRun&, size_t row) -> QueryValue { return id_of_row(row); }},
    {{"tid", QueryType::integer, "thread id of the system"},
     [](QueryRun& run, size_t row) -> QueryValue { return int64_t{thread_in(run, row).tid}; }},
    {{"name", QueryType::text, "its name"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.clean(thread_in(run, row).name); }},
    {{"process", QueryType::integer, "processes.id"},
     [](QueryRun& run, size_t row) -> QueryValue { return id_or_null(thread_in(run, row).space); }},
    {{"pid", QueryType::integer, "process id of the system"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return int64_t{space_of(run, thread_in(run, row).space).pid};
     }}};
constexpr ListTableInfo thread_info{
    .name = "threads",
    .meaning = "threads that allocated or freed blocks",
    .columns = thread_columns,
    .rows = [](QueryRun& run) { return run.history().threads.size() - 1; },
    .is_numbered = true};

const Space& space_in(QueryRun& run, size_t row) { return run.recording().spaces[row + 1]; }
constexpr ListColumn process_columns[] = {
    {{"id", QueryType::integer, "its number in this recording; exec makes a new one"},
     [](QueryRun&, size_t row) -> QueryValue { return id_of_row(row); }},
    {{"pid", QueryType::integer, "process id of the system"},
     [](QueryRun& run, size_t row) -> QueryValue { return int64_t{space_in(run, row).pid}; }},
    {{"name", QueryType::text, "its name"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.clean(space_in(run, row).comm); }},
    {{"cgroup", QueryType::text, "set if several cgroups were watched, else ''"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.clean(space_in(run, row).cgroup); }},
    {{"forked_from", QueryType::integer, "processes.id of its parent, if that is known"},
     [](QueryRun& run, size_t row) -> QueryValue {
       return id_or_null(space_in(run, row).forked_from);
     }}};
constexpr ListTableInfo process_info{
    .name = "processes",
    .meaning = "programs that were watched",
    .columns = process_columns,
    .rows = [](QueryRun& run) { return run.recording().spaces.size() - 1; },
    .is_numbered = true};

constexpr ListColumn fact_columns[] = {
    {{"name", QueryType::text, "title, command, host, seconds, complete (0 or 1), note, …"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.facts()[row].name; }},
    {{"value", QueryType::any, "a text or a number"},
     [](QueryRun& run, size_t row) -> QueryValue { return run.facts()[row].value; }}};
constexpr ListTableInfo fact_info{.name = "recording",
                                  .meaning = "what the recording says of itself, and what was lost",
                                  .columns = fact_columns,
                                  .rows = [](QueryRun& run) { return run.facts().size(); }};

}  // namespace

std::unique_ptr<QueryTable> markers_table(QueryRun& run) { return list_table(marker_info, run); }
std::unique_ptr<QueryTable> gaps_table(QueryRun& run) { return list_table(gap_info, run); }
std::unique_ptr<QueryTable> threads_table(QueryRun& run) { return list_table(thread_info, run); }
std::unique_ptr<QueryTable> processes_table(QueryRun& run) { return list_table(process_info, run); }
std::unique_ptr<QueryTable> recording_table(QueryRun& run) { return list_table(fact_info, run); }

}  // namespace memflame
