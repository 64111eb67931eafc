// SPDX-License-Identifier: BSD-2-Clause
#include "core/reach.h"

#include "core/units.h"

namespace memflame {

ReachCount& ReachCount::operator+=(const ReachCount& other) {
  bytes += other.bytes;
  blocks += other.blocks;
  return *this;
}

void ReachSums::add(Reach reach, const ReachCount& count) {
  ReachCount& sum = reach == Reach::lost        ? direct
                    : reach == Reach::indirect  ? indirect
                    : reach == Reach::reachable ? reachable
                                                : unknown;
  sum += count;
}

ReachSums& ReachSums::operator+=(const ReachSums& other) {
  direct += other.direct;
  indirect += other.indirect;
  reachable += other.reachable;
  unknown += other.unknown;
  is_exact = is_exact && other.is_exact;
  if (why_unknown.empty()) why_unknown = other.why_unknown;
  return *this;
}

ReachCount ReachSums::lost() const {
  ReachCount sum = direct;
  return sum += indirect;
}

std::string in_words(const ReachCount& count, bool exact) {
  return with_commas(count.blocks) + (count.blocks == 1 ? " block, " : " blocks, ") +
         (exact ? with_commas(count.bytes) + " B" : iec_bytes(count.bytes));
}

std::vector<std::string> in_words(const ReachSums& sums, bool exact) {
  std::vector<std::string> lines;
  if (const ReachCount lost = sums.lost(); lost.blocks != 0) {
    const char* them = lost.blocks == 1 ? "it" : "them";
    std::string line = "lost: " + in_words(lost, exact);
    if (sums.indirect.blocks == 0)
      line += std::string(", no pointer to ") + them;
    else if (sums.direct.blocks == 0)
      line += std::string(", only other lost blocks point to ") + them + " (indirect)";
    else
      line += ", no pointer to them; only other lost blocks point to " +
              in_words(sums.indirect, exact) + " of these (indirect)";
    lines.push_back(std::move(line));
  }
  if (sums.reachable.blocks != 0)
    lines.push_back((sums.is_exact ? "reachable: " : "probably reachable: ") +
                    in_words(sums.reachable, exact));
  if (sums.unknown.blocks != 0)
    lines.push_back("cannot tell: " + in_words(sums.unknown, exact) + ": " + sums.why_unknown);
  return lines;
}

}  // namespace memflame
