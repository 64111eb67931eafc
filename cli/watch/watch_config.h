// SPDX-License-Identifier: BSD-2-Clause
// The configuration of `memflame watch`, as values. docs/watch.md describes the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/watch/window_draft.h"
#include "fleet/settings.h"

namespace memflame {

struct WatchRule {
  std::string name;
  std::vector<std::string>
      arguments;  // which processes, which probes: as memflame record takes them
  double window_seconds = 60;
  Labels labels;  // templates, see process_labels.h; "service" and "host" are always there
  std::vector<std::string> outputs;
  bool is_governed = false;  // its rate of samples follows from a budget
  bool names = true;         // of functions; without, profiles have addresses only
  uint64_t memory = 0;       // bytes, of its process and its tables in the kernel
  friend bool operator==(const WatchRule&, const WatchRule&) = default;
};

struct WatchConfig {
  uint64_t memory = uint64_t{128} << 20U;  // of all of memflame, with the kernel's tables
  double most_cpu = 1;                     // percent of the host's processors
  std::string spool_folder = "/var/lib/memflame/spool";
  uint64_t spool_bytes = uint64_t{1} << 30U;
  std::map<std::string, Setting> outputs;
  std::vector<WatchRule> rules;  // the first is the last to be given up
};

// Throws Error with the line of the file, what is wrong, and what would be right. `check_rule` is
// handed each rule's arguments and throws Error if they are wrong. Reaches no store.
WatchConfig read_watch_config(std::string_view text, const std::string& name,
                              const std::string& host,
                              const std::function<void(const WatchRule&)>& check_rule);

}  // namespace memflame
