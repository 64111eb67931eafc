// SPDX-License-Identifier: BSD-2-Clause
// What `perf script` prints. A sample is a header line, one line per frame from the leaf on, and an
// empty line. Options of perf script and of `perf record` decide which columns the lines have.
// Blocks of whole samples are parsed by several threads, which share tables of names and stacks.
#include <algorithm>
#include <memory>

#include "collapse/inputs/perf/perf_script_compat.h"
#include "collapse/inputs/perf/perf_script_worker.h"
#include "collapse/inputs/readers.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using Workers = std::vector<std::unique_ptr<PerfWorker>>;

// Blocks end at the last empty line. If each sample is one line, they end before the last line that
// certainly begins a sample.
size_t whole_samples(std::string_view text) {
  if (const size_t end = whole_paragraphs(text); end != 0) return end;
  constexpr size_t far = size_t{64} << 10U;
  const size_t limit = text.size() > far ? text.size() - far : 0;
  size_t end = whole_lines(text);
  while (end > limit + 1) {
    const size_t begin = text.rfind('\n', end - 2) + 1;
    const auto header = parse_perf_header(text.substr(begin, end - 1 - begin));
    if (header && header->placed) return begin;
    end = begin;
  }
  return 0;
}

// The number of lines before each block, by its index.
std::vector<size_t> lines_before(const Workers& workers) {
  std::vector<size_t> before(1, 0);
  for (const auto& worker : workers)
    for (const auto& [block, lines] : worker->lines) {
      if (before.size() <= block + 1) before.resize(block + 2, 0);
      before[block + 1] = lines;
    }
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  return before;
}

void throw_first_failure(const Source& source, const Workers& workers,
                         const std::vector<size_t>& before) {
  const PerfWorker::Failure* first = nullptr;
  for (const auto& worker : workers)
    if (worker->failure && (first == nullptr || worker->failure->place < first->place))
      first = &*worker->failure;
  if (first != nullptr)
    source.fail(first->what,
                before[std::min(first->place.first, before.size() - 1)] + first->place.second);
}

Issues all_issues(const Workers& workers, const std::vector<size_t>& before) {
  std::vector<std::pair<size_t, const Issues*>> parts;
  for (const auto& worker : workers)
    for (const auto& [block, issues] : worker->issues) parts.emplace_back(block, &issues);
  std::sort(parts.begin(), parts.end());
  Issues all;
  for (const auto& [block, issues] : parts) all.add(*issues, before[block]);
  return all;
}

// The events in order of first appearance, with the counts of all threads.
std::vector<PerfWorker::Event> all_events(const Workers& workers, size_t count) {
  std::vector<PerfWorker::Event> all(count);
  std::vector<bool> known(count, false);
  for (const auto& worker : workers)
    for (const PerfWorker::Event& event : worker->events) {
      PerfWorker::Event& sum = all[event.number];
      if (!known[event.number]) {
        known[event.number] = true;
        sum = event;
        continue;
      }
      sum.samples += event.samples;
      sum.without_period += event.without_period;
      sum.without_field += event.without_field;
      sum.scaled |= event.scaled;
      sum.first = std::min(sum.first, event.first);
    }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

ValueType type_of(const PerfWorker::Event& event, const ReadOptions& options) {
  ValueType type{event.name.empty() ? "samples" : event.name, event.weight.unit};
  // Without periods, samples are counted instead of time.
  if (type.unit == Unit::nanoseconds && event.without_period != 0) type.unit = Unit::count;
  if (!options.weight.empty() && options.type) type.unit = options.type->unit;
  return type;
}

// The column to show: the first in bytes, else the first in pages, else the first.
size_t shown_of(const std::vector<ValueType>& types) {
  for (const Unit unit : {Unit::bytes, Unit::pages})
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i].unit == unit) return i;
  return 0;
}

void add_notes(Profile& profile, const PerfWorker::Event& event) {
  std::vector<std::string>& notes = profile.meta.notes;
  const auto number = [](uint64_t count) { return with_commas(static_cast<int64_t>(count)); };
  if (event.without_field != 0)
    notes.push_back(number(event.without_field) + " of " + number(event.samples) + " samples of " +
                    event.name + " have no number in a field '" + event.weight.field +
                    "' and are left out");
  if (event.scaled)
    notes.push_back(event.name +
                    ": each sample is multiplied by its period, because it stands for that many "
                    "events");
  const bool wants_period =
      event.weight.unit == Unit::pages || event.weight.unit == Unit::nanoseconds;
  if (wants_period && event.weight.from == PerfWeight::From::period && event.without_period != 0 &&
      event.name.find(':') == std::string::npos)
    notes.push_back(event.name + ": no periods in the input, each sample counts 1");
}

std::string names_of(const std::vector<PerfWorker::Event>& events) {
  std::string names;
  for (const PerfWorker::Event& event : events)
    names += (names.empty() ? "" : ", ") + (event.name.empty() ? "samples" : event.name);
  return names;
}

// Explains why there is nothing to show although there are samples.
[[noreturn]] void fail_without_figures(const Source& source, const ReadOptions& options,
                                       const std::vector<PerfWorker::Event>& events) {
  const auto wanted = [](const PerfWorker::Event& event) { return event.wanted; };
  if (std::none_of(events.begin(), events.end(), wanted))
    source.fail("it has none of the events asked for; it has " + names_of(events));
  source.fail("no event has a number in a field '" +
              (options.weight.empty() ? events.front().weight.field : options.weight) +
              "'; the events are " + names_of(events));
}

// The columns: events that have values.
std::vector<size_t> add_columns(PerfTables& tables, const std::vector<PerfWorker::Event>& events,
                                const ReadOptions& options) {
  std::vector<bool> has_rows(events.size(), false);
  for (size_t i = 1; i < tables.rows.size(); ++i) has_rows[tables.rows[i].event] = true;
  std::vector<size_t> column_of(events.size(), no_column);
  for (const PerfWorker::Event& event : events) {
    if (event.wanted) add_notes(tables.profile, event);
    if (!has_rows[event.number]) continue;
    column_of[event.number] = tables.profile.types.size();
    tables.profile.types.push_back(type_of(event, options));
  }
  tables.profile.shown = shown_of(tables.profile.types);
  return column_of;
}

void add_figures(PerfTables& tables, const Workers& workers, const std::vector<size_t>& column_of) {
  std::vector<int64_t> values(tables.profile.types.size(), 0);
  for (const PerfWorker::Sample& sample : workers.front()->sequence) {
    int64_t& value = values[column_of[tables.rows[sample.row].event]];
    value = sample.value;
    if (value != 0) tables.profile.add(tables.rows[sample.row].stack, values);
    value = 0;
  }
  if (tables.profile.in_order()) return;
  for (size_t row = 1; row < tables.rows.size(); ++row) {
    int64_t& value = values[column_of[tables.rows[row].event]];
    for (const auto& worker : workers) {
      value = row < worker->sums.size() ? worker->sums[row] : 0;
      if (value != 0) tables.profile.add(tables.rows[row].stack, values);
    }
    value = 0;
  }
}

void add_losses(Profile& profile, const Workers& workers, const ReadOptions& options) {
  uint64_t replaced = 0;
  for (const auto& worker : workers) {
    if (worker->lost != 0) profile.losses.add(Loss::ring_full, worker->lost);
    if (worker->free_misses != 0)
      profile.losses.add(Loss::free_miss, worker->free_misses, worker->free_miss_bytes);
    replaced += worker->net.replaced();
    if (!worker->command.empty()) profile.meta.command = worker->command;
    if (!worker->host.empty()) profile.meta.host = worker->host;
  }
  if (options.net) profile.meta.notes.emplace_back("allocations less what was freed later");
  if (replaced != 0)
    profile.meta.notes.push_back(with_commas(static_cast<int64_t>(replaced)) +
                                 " blocks were allocated again at the address of one whose free "
                                 "was not seen; it counts as freed");
}

}  // namespace

bool is_perf_script(std::string_view head) {
  while (!head.empty()) {
    const size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::optional<PerfHeader> header = parse_perf_header(line);
    if (line.front() == '#' && !(header && header->placed)) {
      if (line.starts_with("# perf version : ")) return true;
      continue;
    }
    if (!header) return false;
    if (header->placed && !header->event.empty()) return true;
    // "java 123 cycles:" alone could be anything.
    const std::string_view next = head.substr(0, std::min(head.find('\n'), head.size()));
    const std::optional<PerfFrame> frame = parse_perf_frame(next);
    return frame && (!frame->module.empty() || frame->kind == FrameKind::inlined);
  }
  return false;
}

Profile read_perf_script(Source& source, const ReadOptions& options) {
  if (options.compat) return read_perf_script_compat(source, options);
  // One thread if frees must follow their allocations, or if the order is kept; a small input is
  // not worth more.
  const bool alone = options.net || options.in_order || source.head().size() < Source::head_size;
  const unsigned threads = alone ? 1 : std::max(options.threads, 1U);
  PerfTables tables(threads > 1);
  if (options.in_order) tables.profile.keep_order();
  Workers workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<PerfWorker>(tables, options));
  Blocks blocks(source, whole_samples);
  for_each_block(blocks, threads, [&](unsigned worker, const InputBlock& block) {
    return workers[worker]->take(block, whole_samples(block.text) != block.text.size());
  });

  tables.settle();
  const std::vector<size_t> before = lines_before(workers);
  throw_first_failure(source, workers, before);
  const std::vector<PerfWorker::Event> events = all_events(workers, tables.events.size());
  const Issues issues = all_issues(workers, before);
  if (events.empty()) {
    const std::vector<std::string> texts = issues.texts();
    source.fail("there is no sample of perf script in it" +
                (texts.empty() ? "" : "; " + texts.front()));
  }
  if (options.net && std::none_of(workers.begin(), workers.end(),
                                  [](const auto& worker) { return worker->net.any(); }))
    source.fail("no event tells a block that was allocated or freed (ptr=, pfn=); it has " +
                names_of(events));
  if (tables.rows.size() == 1 && !options.net) fail_without_figures(source, options, events);
  add_figures(tables, workers, add_columns(tables, events, options));
  Profile& profile = tables.profile;
  if (profile.types.empty()) profile.types.push_back(type_of(events.front(), options));
  add_losses(profile, workers, options);
  for (const auto& worker : workers) {
    if (!worker->truncated) continue;
    if (options.refuse_truncated)
      source.fail("the last stack has no end",
                  before[worker->truncated->first] + worker->truncated->second);
    profile.meta.notes.emplace_back("the last stack has no end: frames may be missing");
  }
  issues.finish(profile);
  return std::move(tables.profile);
}

}  // namespace memflame
