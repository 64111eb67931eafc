// SPDX-License-Identifier: BSD-2-Clause
// Puts windows into the store. A window that is sent twice, as a whole or in part, counts once:
// each time its samples get another number (`load`), and only those count whose number is in the
// table of windows, one for each window.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>

#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/client.h"
#include "fleet/window.h"

namespace memflame {

class StoreWriter {
 public:
  explicit StoreWriter(StoreAddress address) : store_(std::move(address)) {}

  // Returns when all are in the store. Throws Error; Refused if one of them cannot be read, when
  // all others are there.
  void send(std::span<const Window> windows);
  // The rows of windows that are made otherwise.
  void send(const WindowRows& rows);

 private:
  void send_stacks(const WindowRows& rows);

  ClickHouse store_;
  std::unordered_set<uint64_t> known_;  // stacks that are in the store
  std::chrono::steady_clock::time_point known_since_;
};

// A number that nobody else has used.
uint64_t new_load();

}  // namespace memflame
