// SPDX-License-Identifier: BSD-2-Clause
// The subcommands. Each gets its own arguments (without the program and its own name) and returns
// the exit code; errors are thrown as Error.
#pragma once

#include <string>
#include <vector>

#include "cli/command_page.h"

namespace memflame {

struct Probe;

using Arguments = std::vector<std::string>;

int run_probe_command(const Probe& probe, const Arguments& arguments);
int run_leaks(const Arguments& arguments);
int run_record(const Arguments& arguments);
int run_render(const Arguments& arguments);
int run_collapse(const Arguments& arguments);
int run_diff(const Arguments& arguments);
int run_control(const Arguments& arguments);
int run_symbolize(const Arguments& arguments);
int run_report(const Arguments& arguments);
bool is_live_report(const Arguments& arguments);
int run_timeline(const Arguments& arguments);
int run_query(const Arguments& arguments);
int run_top(const Arguments& arguments);
int run_store(const Arguments& arguments);
int run_heap(const Arguments& arguments);
int run_watch(const Arguments& arguments);

// The commands' descriptions.
CommandPage probe_page(const Probe& probe);
CommandPage leaks_page();
CommandPage record_page();
CommandPage render_page();
CommandPage collapse_page();
CommandPage diff_page();
CommandPage control_page();
CommandPage symbolize_page();
CommandPage report_page();
CommandPage timeline_page();
CommandPage query_page();
CommandPage top_page();
CommandPage store_page();
CommandPage heap_page();
CommandPage watch_page();

}  // namespace memflame
