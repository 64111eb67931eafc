// SPDX-License-Identifier: BSD-2-Clause
#include "cli/report_shared.h"

#include <string>

#include "cli/options.h"
#include "collapse/report/report_of.h"
#include "core/error.h"
#include "core/secrets.h"

namespace po = boost::program_options;

namespace memflame {

void add_report_options(po::options_description& options) {
  auto add = options.add_options();
  add("icicle", po::bool_switch(), "root at the top");
  add("anonymise", po::bool_switch(),
      "leave out the command line, the host and the folders of sources; values that look like "
      "secrets are always hidden");
  add("bins", po::value<size_t>()->value_name("N"),
      "largest number of parts that the time of the run is divided into (default: 256)");
}

size_t bins_of(const po::variables_map& values) {
  size_t bins = Report::most_bins;
  take(values, "bins", bins);
  if (bins < ReportOptions::least_bins || bins > Report::most_bins)
    throw Error("--bins takes a number from " + std::to_string(ReportOptions::least_bins) + " to " +
                    std::to_string(Report::most_bins) + ", not " + std::to_string(bins),
                ExitCode::usage);
  return bins;
}

}  // namespace memflame
