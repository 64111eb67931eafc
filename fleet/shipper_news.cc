// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/shipper_news.h"

#include <utility>

#include "core/units.h"

namespace memflame {
namespace {

using std::chrono::steady_clock;

// Another reason for one failure is worth a line, but not each time if it has a number that
// changes.
constexpr std::chrono::minutes between_reasons{5};

std::string counted(uint64_t number, const std::string& one, const std::string& many) {
  return with_commas(static_cast<int64_t>(number)) + " " + (number == 1 ? one : many);
}

std::string duration_text(steady_clock::duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

}  // namespace

std::string OutputNews::failed(const std::string& why) {
  const auto now = steady_clock::now();
  if (tries_++ == 0) since_ = now;
  const bool is_old = why == failure_ || (tries_ > 1 && now - said_ < between_reasons);
  if (is_old) return "";
  failure_ = why;
  said_ = now;
  return "output '" + output_ + "' takes no windows: " + why +
         " (they wait in the spool; memflame keeps trying)";
}

std::string OutputNews::good() {
  failure_.clear();
  const uint64_t tries = std::exchange(tries_, 0);
  if (tries == 0) return "";
  return "output '" + output_ + "' takes windows again, after " +
         counted(tries, "failed try", "failed tries") + " in " +
         duration_text(steady_clock::now() - since_);
}

std::string OutputNews::refused(const std::string& why) {
  if (why == refusal_) return "";
  refusal_ = why;
  return "output '" + output_ + "' refuses windows, which are lost for it: " + why;
}

std::string OutputNews::damaged(const std::string& why) {
  // More of them are in the metrics.
  if (damaged_++ != 0) return "";
  return "a damaged window for output '" + output_ + "' was thrown away: " + why;
}

std::vector<std::string> SpoolNews::of(const FleetFigures& figures) {
  const SpoolCounts& spool = figures.spool;
  std::vector<std::string> lines;
  failure_.clear();
  if (!std::exchange(began_, true)) {
    for (const auto& [name, output] : spool.outputs)
      if (output.waiting != 0 && !figures.outputs.contains(name))
        lines.push_back("" + counted(output.waiting, "window waits", "windows wait") +
                        " for output '" + name +
                        "', which the configuration does not have any more");
    dropped_full_ = spool.dropped_full;
    dropped_disk_ = spool.dropped_disk;
  }
  const bool full = std::exchange(dropped_full_, spool.dropped_full) != spool.dropped_full;
  if (full && !is_full_)
    lines.push_back("the spool is full (" +
                    iec_bytes(static_cast<int64_t>(figures.spool_most_bytes)) +
                    "): its oldest windows are dropped");
  const bool unwritable = std::exchange(dropped_disk_, spool.dropped_disk) != spool.dropped_disk;
  if (unwritable && !is_unwritable_)
    lines.emplace_back("windows cannot be written to the spool, and are dropped");
  // Drops come with windows, so a look without any does not say that they have ended.
  is_full_ = full || (is_full_ && spool.waiting_bytes > figures.spool_most_bytes / 2);
  is_unwritable_ = unwritable || (is_unwritable_ && spool.taken == taken_);
  taken_ = spool.taken;
  return lines;
}

std::string SpoolNews::failed(const std::string& why) {
  if (std::exchange(failure_, why) == why) return "";
  return "the spool cannot be read: " + why;
}

}  // namespace memflame
