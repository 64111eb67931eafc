// SPDX-License-Identifier: BSD-2-Clause
// What a user asks a store, as an address:
// clickhouse://USER@HOST:PORT/DATABASE?service=checkout&type=inuse_space&from=-1h&version=1.4
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/clickhouse/client.h"

namespace memflame {

// Windows whose label has one of these values; "" also stands for windows without it.
struct LabelFilter {
  std::string name;
  std::vector<std::string> values;
};

struct StoreQuestion {
  StoreAddress store;
  std::string service;  // "" = not said
  std::string type;     // "" = all
  std::vector<LabelFilter> labels;
  int64_t from_ns = 0, to_ns = 0;  // windows that ended after the first, and not after the second
};

// Whether it begins as such an address; clickhouses:// goes by TLS.
bool is_store_address(std::string_view text);

// Throws Error (usage). `now_ns`: CLOCK_REALTIME. A password in the address is refused: other users
// of the host can see command lines.
StoreQuestion question_of(const std::string& address, int64_t now_ns);
// An address that asks nothing: ends with the database.
StoreAddress store_address_of(const std::string& address);

// "2026-11-26 10:00:00"
std::string utc_text(int64_t ns);
// "from 2026-11-26 10:00:00 to 2026-11-26 11:00:00 UTC"
std::string range_text(int64_t from_ns, int64_t to_ns);
// "service=checkout, version=1.4": without the store and the times.
std::string asked_text(const StoreQuestion& question);

}  // namespace memflame
