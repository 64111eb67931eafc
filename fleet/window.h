// SPDX-License-Identifier: BSD-2-Clause
// A window: what `memflame watch` saw of one service in a stretch of time. It is what waits in the
// spool, what goes into stores, and what comes back from them.
//
// Its stacks are a profile in pprof's format, packed with gzip, as every store takes it. All else
// is in its head, so that who only sends a window, or counts it, need not read the stacks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

// A column of a window's profile.
struct WindowType {
  std::string_view name;
  Unit unit;
  // True: what there is at the end of the window; windows of one service must not be added up along
  // time. False: what came in the window; negative if more went than came.
  bool is_state;
};
// The first four have pprof's own names.
inline constexpr std::array window_types{WindowType{"inuse_space", Unit::bytes, true},
                                         WindowType{"inuse_objects", Unit::count, true},
                                         WindowType{"alloc_space", Unit::bytes, false},
                                         WindowType{"alloc_objects", Unit::count, false},
                                         WindowType{"brk_space", Unit::bytes, false},
                                         WindowType{"mmap_space", Unit::bytes, false},
                                         WindowType{"resident_space", Unit::bytes, false}};
const WindowType* window_type(std::string_view name);  // null: there is none

// A stack that holds or grows much; for those who show a few, like metrics and alerts.
struct WindowStack {
  std::string function;       // the code that wanted the memory
  std::string stack;          // folded: root first, without the process
  int64_t inuse_bytes = 0;    // at the end of the window
  int64_t growth_bytes = 0;   // of these, in the window
  std::string verdict;        // "leak", …: name(VerdictKind); "" = none yet
  double bytes_per_hour = 0;  // of the verdict
  friend bool operator==(const WindowStack&, const WindowStack&) = default;
};

struct WindowHead {
  std::string id;  // 32 hex digits; a window that comes twice has the same
  // CLOCK_REALTIME. Windows of one service follow each other without a gap, unless memflame did not
  // run.
  int64_t began_ns = 0, ended_ns = 0;
  // "service" and "host" at least; "version", "unit", "container", "namespace", and the user's own.
  std::map<std::string, std::string> labels;
  // Numbers beside the stacks: "resident_bytes", "processes", "overhead_percent", "lost_events",
  // "lost_bytes", "cut_stacks", "sample_bytes" (mean distance of samples; 0 = exact).
  std::map<std::string, double> figures;
  std::vector<WindowStack> top;  // the most wrong first, then the largest
  friend bool operator==(const WindowHead&, const WindowHead&) = default;
};

struct Window {
  WindowHead head;
  std::string pprof;  // gzip
};

// A line of JSON, without its end. from_json() throws Error that says what is wrong with it.
std::string to_json(const WindowHead& head);
WindowHead head_from_json(std::string_view line);

// The window as a file: the head's line, then the profile's bytes.
std::string to_bytes(const Window& window);
Window window_from_bytes(std::string_view bytes);

std::string new_window_id();

}  // namespace memflame
