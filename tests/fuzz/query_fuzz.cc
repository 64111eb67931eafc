// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for SQL: a query of a run of a few blocks gives rows or an error with words, and ends
// when it is told to. Rows that are read are counted twice, and must be as many.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "tests/collapse/query/queried_run.h"

namespace memflame {
namespace {

// A query may go on for ever ("with recursive").
constexpr auto patience = std::chrono::milliseconds(200);
constexpr size_t most_rows = 1000;

struct FewRows {
  FewRows() : queried(&run) {
    const RawStackId load = run.stack({"main", "load"});
    const RawStackId store = run.stack({"main", "store;all"});
    const ThreadId worker = run.thread(813, "worker");
    run.add({.allocated_ns = 1,
             .freed_ns = 4,
             .address = 4096,
             .size = 10,
             .thread = worker,
             .freeing_thread = worker,
             .stack = load,
             .freeing_stack = store});
    run.add_chain({{.allocated_ns = 2, .size = 20, .thread = worker, .stack = load},
                   {.allocated_ns = 3, .size = 40, .thread = worker, .stack = store}});
    queried.history.recording = run.recording;
    queried.history.threads = run.threads;
    queried.ask("select 1");  // makes the database
  }
  MadeRun run;
  QueriedRun queried;
};

// Tells a query to end.
class Watchdog {
 public:
  explicit Watchdog(std::atomic<bool>& stop) : stop_(stop), thread_([this] { watch(); }) {}
  ~Watchdog() {
    ends_ = true;
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  void begin() {
    stop_ = false;
    begun_ = std::chrono::steady_clock::now().time_since_epoch().count();
  }

 private:
  void watch() {
    while (!ends_) {
      std::this_thread::sleep_for(patience / 10);
      const std::chrono::steady_clock::duration begun(begun_.load());
      if (std::chrono::steady_clock::now().time_since_epoch() - begun > patience) stop_ = true;
    }
  }
  std::atomic<bool>& stop_;
  std::atomic<bool> ends_ = false;
  std::atomic<std::chrono::steady_clock::rep> begun_ = 0;
  std::thread thread_;
};

size_t rows_of(QueryDatabase& database, const std::string& sql) {
  QueryResult result = database.run(sql);
  size_t rows = 0;
  for (; rows < most_rows && result.rows->next(); ++rows)
    for (size_t i = 0; i < result.columns.size(); ++i) (void)result.rows->value(i);
  return rows;
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  static FewRows few;
  static Watchdog watchdog(few.queried.stop);
  watchdog.begin();
  const std::string sql(reinterpret_cast<const char*>(data), size);
  const bool is_random = sql.find("andom") != std::string::npos;
  try {
    const size_t rows = rows_of(*few.queried.database, sql);
    const size_t again = rows_of(*few.queried.database, sql);
    if (rows != again && !is_random) {
      std::cerr << "query_fuzz: " << rows << " rows, then " << again << "\n";
      std::abort();
    }
  } catch (const Error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
