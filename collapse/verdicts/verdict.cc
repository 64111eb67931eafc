// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/verdict.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "core/units.h"

namespace memflame {
namespace {

std::string number(double value, int decimals) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// "0.4 s", "58 s", "12 min", "3.2 h", "5.1 days"
std::string time_in_words(double seconds) {
  if (seconds < 1) return number(std::max(seconds, 0.1), 1) + " s";
  if (seconds < 120) return number(seconds, 0) + " s";
  if (seconds < 7200) return number(seconds / 60, 0) + " min";
  if (seconds < 172800) return number(seconds / 3600, 1) + " h";
  return number(seconds / 86400, 1) + " days";
}

std::string blocks(int64_t count) {
  return with_commas(count) + (count == 1 ? " block" : " blocks");
}

// "19.1 KiB/s (18.6–19.7)": the interval in the unit of the value. Slow rates are per hour.
std::string rate_in_words(const Interval& rate) {
  const bool slow = rate.value < 100;
  const double scale = slow ? 3600 : 1;
  const auto value = static_cast<int64_t>(std::llround(rate.value * scale));
  std::string text = iec_bytes(value);
  const std::string unit = text.substr(text.find(' '));
  text += slow ? "/h" : "/s";
  if (!std::isfinite(rate.low) || !std::isfinite(rate.high)) return text;
  double divisor = 1;
  int decimals = 0;
  for (const char* larger : {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}) {
    if (unit == larger) break;
    divisor *= 1024;
    decimals = 1;
  }
  return text + " (" + number(std::max(rate.low, 0.0) * scale / divisor, decimals) + "–" +
         number(rate.high * scale / divisor, decimals) + ")";
}

std::string share_in_words(double share) {
  if (share >= 0.9995) return "no block ever comes back";
  if (share < 0.0005) return "fewer than 0.1 % of the blocks never come back";
  return percent(share, 1) + " of the blocks never come back";
}

std::string leak_in_words(const Verdict& verdict) {
  std::string text = "leak: ";
  if (verdict.ended)
    text += "the process ended and left " + blocks(verdict.survivors) + ", " +
            iec_bytes(verdict.survivor_bytes) + ", " + percent(verdict.leaked_share, 1) +
            " of all from here";
  else
    text += share_in_words(verdict.leaked_share);
  if (verdict.is_steady) text += ", " + rate_in_words(verdict.rate);
  if (!verdict.ended) text += ", " + with_commas(verdict.survivors) + " survivors";
  text += ", oldest " + time_in_words(verdict.oldest_s);
  if (verdict.any_freed && verdict.others_live_at_most_s > 0)
    text += "; others from here live at most " + time_in_words(verdict.others_live_at_most_s);
  else if (!verdict.any_freed)
    text += "; nothing from here has been freed";
  if (!verdict.any_freed && !verdict.ended) text += " (a cache that fills looks the same)";
  return text;
}

std::string unknown_in_words(const Verdict& verdict) {
  std::string text = verdict.live_growth.low > 0 ? "growing, " : "";
  text += "cannot tell yet: ";
  if (!verdict.any_freed)
    text += "nothing from here has been freed";
  else if (verdict.survivors > 0)
    text += percent(verdict.leaked_share, 1) + " of the blocks have not come back so far";
  else
    text += "blocks from here live up to " + time_in_words(verdict.others_live_at_most_s);
  return text + "; look again in " + time_in_words(verdict.wait_s);
}

std::string cache_in_words(const Verdict& verdict) {
  const std::string what =
      verdict.replaced_share >= 0.9995 ? "everything" : percent(verdict.replaced_share, 1);
  return "cache or pool: full since " + time_in_words(verdict.since_s) + ", " + what +
         " is replaced within " + time_in_words(verdict.replaced_within_s);
}

std::string return_in_words(const Verdict& verdict) {
  const std::string what =
      verdict.survivors == 0 ? "everything" : "everything but " + blocks(verdict.survivors);
  return "comes back: " + what + " is freed within " + time_in_words(verdict.replaced_within_s);
}

std::string collected_in_words(const Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::leak:
      return "leak: in use grows by " + rate_in_words(verdict.rate) + ", " +
             iec_bytes(verdict.survivor_bytes) + " in " + time_in_words(verdict.watched_s) +
             ", through garbage collections" +
             (verdict.any_freed ? "" : "; nothing from here has been freed") +
             " (a cache that fills looks the same)";
    case VerdictKind::cache:
      return "level: in use has not grown for " + time_in_words(verdict.since_s) +
             ", while new blocks came";
    case VerdictKind::kept:
      return "kept: nothing new since " + time_in_words(verdict.since_s) + ", " +
             iec_bytes(verdict.live_bytes) + " in " + blocks(verdict.live_blocks);
    case VerdictKind::comes_back:
      return "comes back: nothing from here is in use";
    default:
      break;
  }
  std::string text = verdict.live_growth.low > 0 ? "growing, " : "";
  return text + "cannot tell yet: too few garbage collections or samples so far; look again in " +
         time_in_words(verdict.wait_s);
}

}  // namespace

std::string_view name(GrowthClass growth) {
  switch (growth) {
    case GrowthClass::none:
      return "";
    case GrowthClass::constant:
      return "constant";
    case GrowthClass::logarithmic:
      return "logarithmic";
    case GrowthClass::linear:
      return "linear";
    case GrowthClass::exponential:
      return "exponential";
  }
  return "";
}

bool is_worse(const Verdict& a, const Verdict& b) {
  const auto key = [](const Verdict& verdict) {
    const bool counts_survivors = verdict.kind == VerdictKind::leak;
    return std::tuple(verdict.kind, counts_survivors && !verdict.is_steady,
                      -(counts_survivors ? verdict.survivor_bytes : verdict.live_bytes),
                      -verdict.total_bytes, verdict.track);
  };
  return key(a) < key(b);
}

std::string in_words(const Verdict& verdict) {
  if (verdict.is_collected) return collected_in_words(verdict);
  switch (verdict.kind) {
    case VerdictKind::leak:
      return leak_in_words(verdict);
    case VerdictKind::cannot_tell:
      return unknown_in_words(verdict);
    case VerdictKind::cache:
      return cache_in_words(verdict);
    case VerdictKind::kept:
      if (!verdict.one_time_blocks.empty())
        return "kept: " + std::string(verdict.one_time_blocks) + ", allocated once by a library, " +
               iec_bytes(verdict.survivor_bytes) + " in " + blocks(verdict.survivors);
      return "kept: nothing new since " + time_in_words(verdict.since_s) + ", " +
             iec_bytes(verdict.survivor_bytes) + " in " + blocks(verdict.survivors);
    case VerdictKind::freed_at_end:
      return "freed at the end: " + iec_bytes(verdict.maximum_bytes) + " at most, at " +
             time_in_words(verdict.maximum_at_s);
    case VerdictKind::comes_back:
      return return_in_words(verdict);
  }
  return "";
}

}  // namespace memflame
