// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/legend.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/difference.h"
#include "render/picture/caption.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

__extension__ using Wide = __int128;

Rgb middle(const ColourRange& range) {
  const auto between = [](uint8_t a, uint8_t b) { return static_cast<uint8_t>((a + b) / 2); };
  return {between(range.low.red, range.high.red), between(range.low.green, range.high.green),
          between(range.low.blue, range.high.blue)};
}

// Which kinds and, after them, which rules of the palette colour some frame.
std::vector<bool> used_colours(const Profile& profile, const Palette& palette,
                               std::span<const FrameId> frames) {
  std::vector<bool> used(box_kinds + palette.rules.size(), false);
  std::vector<bool> seen(profile.frames.size(), false);
  for (size_t i = 1; i < frames.size(); ++i) {
    if (!frames[i]) used[static_cast<size_t>(BoxKind::merged)] = true;
    if (!frames[i] || seen[frames[i].index]) continue;
    seen[frames[i].index] = true;
    const Frame& frame = profile.frames[frames[i]];
    const std::string_view name = profile.strings[frame.function];
    const BoxKind kind = box_kind(name, frame.kind);
    const size_t rule =
        palette.rule_of(name, kind, palette.by_owner ? owner_of(profile, frame) : Owner::unknown);
    used[rule < palette.rules.size() ? box_kinds + rule : static_cast<size_t>(kind)] = true;
  }
  return used;
}

std::vector<LegendEntry> change_legend(const Palette& palette) {
  return {{palette.change_colour(-1), "− gone", ""},
          {palette.change_colour(-0.5), "− to the half", ""},
          {palette.change_colour(0), "= as before", ""},
          {palette.change_colour(0.5), "+ to twice as much", ""},
          {palette.change_colour(1), "+ new ★", ""}};
}

// Signed values drawn by their size: a box's colour is its net sum as a share of that size.
std::vector<LegendEntry> net_legend(const Palette& palette) {
  return {{palette.change_colour(-1), "− only below 0", ""},
          {palette.change_colour(0), "= as much above as below", ""},
          {palette.change_colour(1), "+ only above 0", ""}};
}

// Shares of 1,000 with that sum: rounded down, and up for those that lose most.
std::array<int64_t, owner_count> thousandths(const std::array<int64_t, owner_count>& sums) {
  const Wide total = std::accumulate(sums.begin(), sums.end(), Wide{0});
  std::array<int64_t, owner_count> out{};
  if (total == 0) return out;
  std::array<Wide, owner_count> rest{};
  int64_t missing = 1000;
  for (size_t i = 0; i < owner_count; ++i) {
    const Wide product = static_cast<Wide>(sums[i]) * 1000;
    out[i] = static_cast<int64_t>(product / total);
    rest[i] = product % total;
    missing -= out[i];
  }
  for (; missing > 0; --missing) {
    const auto most =
        static_cast<size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    ++out[most];
    rest[most] = -1;
  }
  return out;
}

std::string label_of(Owner owner, const OwnerShares& shares) {
  if (owner == Owner::application && !shares.modules_known) return "application or library";
  return std::string(owner_names[static_cast<size_t>(owner)]);
}

std::optional<Rgb> colour_of(const Palette& palette, Owner owner) {
  for (const ColourRule& rule : palette.rules)
    if (rule.owner == owner && !rule.match) return middle(rule.range);
  return std::nullopt;
}

}  // namespace

std::vector<LegendEntry> legend(const Profile& profile, const Palette& palette,
                                std::span<const FrameId> frames, bool by_change) {
  if (by_change && palette.change)
    return difference_of(profile) ? change_legend(palette) : net_legend(palette);
  const std::vector<bool> used = used_colours(profile, palette, frames);
  std::vector<LegendEntry> entries;
  const auto add = [&](const ColourRange& range, std::string label) {
    for (const LegendEntry& entry : entries)
      if (entry.label == label) return;
    entries.push_back({middle(range), std::move(label), ""});
  };
  for (size_t i = 0; i < palette.rules.size(); ++i) {
    const ColourRule& rule = palette.rules[i];
    // Entries of owners show their share.
    if (used[box_kinds + i] && !rule.owner && !rule.legend.empty()) add(rule.range, rule.legend);
  }
  for (size_t i = 0; i < box_kinds; ++i)
    if (used[i]) add(palette.ranges[i], std::string(box_kind_info[i].legend));
  return entries;
}

std::vector<LegendEntry> owner_legend(const Profile& profile, const Palette& palette,
                                      const OwnerShares& shares) {
  const std::array<int64_t, owner_count> parts = thousandths(shares.sum);
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < owner_count; ++i) {
    if (shares.sum[i] == 0) continue;
    const auto owner = static_cast<Owner>(i);
    const std::string share =
        std::to_string(parts[i] / 10) + "." + std::to_string(parts[i] % 10) + " %";
    const std::string label = label_of(owner, shares);
    uint64_t replaced = 0;
    entries.push_back(
        {colour_of(palette, owner), label + " " + share,
         clean_text(label + ": " + exact(shares.sum[i], profile.types[profile.shown]), replaced) +
             ", " + share + " of all"});
  }
  if (entries.empty()) return entries;
  entries.insert(entries.begin(),
                 shares.outside_allocator
                     ? LegendEntry{{},
                                   "who called the allocator:",
                                   "all stacks end in functions of an allocator; whose the "
                                   "innermost function outside of it is"}
                     : LegendEntry{{}, "whose code:", "whose the innermost function is"});
  return entries;
}

}  // namespace memflame
