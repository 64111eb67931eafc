// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/writer.h"

#include <sys/random.h>

#include <utility>

#include "collapse/input.h"
#include "core/error.h"
#include "fleet/output.h"

namespace memflame {
namespace {

// What is remembered is asked for again now and then: tables may have been emptied.
constexpr size_t most_known = 200'000;
constexpr std::chrono::hours longest_known{1};
// Samples that are sent at a time.
constexpr size_t most_bytes = size_t{16} << 20U;

Profile profile_in(const Window& window) {
  Source source = Source::of_memory(window.pprof, "window " + window.head.id);
  ReadOptions options;
  options.code = true;
  options.lines = true;
  options.symbols = false;
  return read_profile(source, "pprof", options);
}

// Those of the stacks that the store has.
std::unordered_set<uint64_t> stored(const ClickHouse& store, const std::string& hashes) {
  const BoundTable wanted{"wanted", "stack UInt64", hashes};
  const std::string reply =
      store.ask("SELECT DISTINCT stack FROM stacks WHERE stack IN (SELECT stack FROM wanted)",
                std::span(&wanted, 1));
  std::unordered_set<uint64_t> found;
  for (RowReader rows(reply); !rows.at_end();) found.insert(rows.number<uint64_t>());
  return found;
}

}  // namespace

uint64_t new_load() {
  uint64_t load = 0;
  if (::getrandom(&load, sizeof load, 0) != static_cast<ssize_t>(sizeof load))
    throw Error("the kernel gives no random numbers (getrandom)");
  return load;
}

void StoreWriter::send_stacks(const WindowRows& rows) {
  const auto now = std::chrono::steady_clock::now();
  if (known_.size() > most_known || now - known_since_ > longest_known) {
    known_.clear();
    known_since_ = now;
  }
  RowWriter unknown;
  for (const auto& [hash, row] : rows.stacks())
    if (!known_.contains(hash)) unknown.number(hash);
  if (unknown.empty()) return;
  const std::unordered_set<uint64_t> there = stored(store_, unknown.bytes());
  RowWriter missing;
  for (const auto& [hash, row] : rows.stacks()) {
    if (known_.contains(hash) || there.contains(hash)) continue;
    missing.number(hash);
    missing.raw(row);
  }
  store_.insert(stacks_columns, missing.bytes());
  for (const auto& [hash, row] : rows.stacks()) known_.insert(hash);
}

void StoreWriter::send(const WindowRows& rows) {
  send_stacks(rows);
  store_.insert(samples_columns, rows.samples());
  store_.insert(windows_columns, rows.windows());
}

void StoreWriter::send(std::span<const Window> windows) {
  WindowRows rows;
  std::string why;
  size_t unreadable = 0;
  for (const Window& window : windows) {
    try {
      rows.add(window.head, profile_in(window), new_load());
    } catch (const Error& error) {
      why = error.what();
      ++unreadable;
    }
    if (rows.samples().size() > most_bytes) send(std::exchange(rows, {}));
  }
  send(rows);
  if (unreadable != 0)
    throw Refused(std::to_string(unreadable) + " of " + std::to_string(windows.size()) +
                  " windows cannot be read: " + why);
}

}  // namespace memflame
