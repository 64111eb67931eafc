// SPDX-License-Identifier: BSD-2-Clause
#include "cli/store_input.h"

#include <array>

#include "cli/options.h"
#include "collapse/tidy/depth.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/sums.h"
#include "fleet/clickhouse/store_profile.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

// Options that change how bytes are read; a store has none.
constexpr std::array others{"from",  "snapshot", "at",   "between", "view",
                            "event", "weight",   "unit", "columns", "compat"};

void refuse_other_options(const po::variables_map& values, const ReadOptions& options) {
  for (const char* name : others)
    if (values.count(name) != 0 && !values[name].defaulted())
      throw Error("--" + std::string(name) +
                      " does not go with a store; its address says which windows: "
                      "?service=NAME&type=inuse_space&from=-1h&to=now",
                  ExitCode::usage);
  if (!options.selection.empty())
    throw Error(
        options.selection.where.front().label + " selects single blocks, but a store has sums",
        ExitCode::usage);
  if (options.in_order)
    throw Error("a store adds up, so its stacks have no order in time (--flamechart)",
                ExitCode::usage);
}

}  // namespace

Profile read_store(const std::string& address, const po::variables_map& values,
                   const ReadOptions& options) {
  refuse_other_options(values, options);
  const StoreQuestion question = question_of(address, real_time_ns());
  Profile profile = limit_frames(store_profile(question, options.code), options.max_frames);
  require_sums(profile);
  return profile;
}

}  // namespace memflame
