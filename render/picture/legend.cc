// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/legend.h"

#include <algorithm>
#include <optional>

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
  const CodeOwners owners(profile);
  for (size_t i = 1; i < frames.size(); ++i) {
    if (!frames[i]) used[static_cast<size_t>(BoxKind::merged)] = true;
    if (!frames[i] || seen[frames[i].index]) continue;
    seen[frames[i].index] = true;
    const Frame& frame = profile.frames[frames[i]];
    const std::string_view name = profile.strings[frame.function];
    const BoxKind kind = box_kind(name, frame.kind);
    const Owner owner = palette.by_owner ? owners.of(frame).owner : Owner::unknown;
    const size_t rule = palette.rule_of(name, kind, owner);
    // Functions of the application and of libraries are explained by their shares.
    if (rule == palette.rules.size() && !palette.libraries.empty() &&
        (owner == Owner::library || kind == BoxKind::user))
      continue;
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
std::vector<int64_t> thousandths(std::span<const CodeShare> shares) {
  Wide total = 0;
  for (const CodeShare& share : shares) total += share.sum;
  std::vector<int64_t> out(shares.size());
  if (total == 0) return out;
  std::vector<Wide> rest(shares.size());
  int64_t missing = 1000;
  for (size_t i = 0; i < shares.size(); ++i) {
    const Wide product = static_cast<Wide>(shares[i].sum) * 1000;
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

// What the shares count.
LegendEntry heading(const CodeShares& shares) {
  if (shares.touched_first)
    return {{},
            "whose code:",
            "whose the function is that touched the memory first; where it is not known, whose the "
            "one is that asked the allocator for it"};
  if (shares.outside_containers)
    return {{},
            "who called the allocator:",
            "whose the innermost function outside of the allocator and of containers is"};
  if (shares.outside_allocator)
    return {{},
            "who called the allocator:",
            "whose the innermost function outside of the allocator is"};
  return {{}, "whose code:", "whose the innermost function is"};
}

// "libQt5Core.so.5" of its path.
std::string label_of(const CodeShare& share, bool modules_known) {
  if (share.owner == Owner::application && !modules_known) return "application or library";
  if (share.is_package) return share.path;
  if (share.owner == Owner::library) return share.path.substr(share.path.rfind('/') + 1);
  return std::string(owner_names[static_cast<size_t>(share.owner)]);
}

// That of its functions, if they have one of their own.
std::optional<Rgb> colour_of(const Palette& palette, const CodeShare& share) {
  for (const ColourRule& rule : palette.rules)
    if (rule.owner == share.owner && !rule.match && !rule.kind) return middle(rule.range);
  if (palette.libraries.empty()) return std::nullopt;
  const auto of_kind = [&](BoxKind kind) {
    return middle(palette.ranges[static_cast<size_t>(kind)]);
  };
  switch (share.owner) {
    case Owner::application:
      return of_kind(BoxKind::user);
    case Owner::library:
      return middle(share.is_package ? *palette.package(share.path) : *palette.library(share.path));
    case Owner::kernel:
      return of_kind(BoxKind::kernel);
    case Owner::jit:
      return of_kind(BoxKind::jit);
    case Owner::allocator:
    case Owner::unknown:
      break;
  }
  return std::nullopt;
}

std::string_view plural_of(const CodeShare& others, size_t count) {
  if (others.is_package) return count == 1 ? " other package" : " other packages";
  return count == 1 ? " other library" : " other libraries";
}

// Those that are shown one by one: the largest of libraries, and all other owners.
std::vector<CodeShare> shown(std::span<const CodeShare> shares, CodeShare& others, size_t& count) {
  constexpr size_t most_libraries = 6;  // or packages
  std::vector<CodeShare> out;
  size_t libraries = 0;
  for (const CodeShare& share : shares) {
    if (share.owner != Owner::library || libraries++ < most_libraries) {
      out.push_back(share);
    } else {
      others.is_package = (count == 0 || others.is_package) && share.is_package;
      others.sum += share.sum;  // of what adds up to a total that fits
      ++count;
    }
  }
  return out;
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
    // Entries of owners show their share, except where they have none.
    const bool has_share = rule.owner && rule.owner != Owner::allocator;
    if (used[box_kinds + i] && !has_share && !rule.legend.empty()) add(rule.range, rule.legend);
  }
  for (size_t i = 0; i < box_kinds; ++i)
    if (used[i]) add(palette.ranges[i], std::string(box_kind_info[i].legend));
  return entries;
}

std::vector<LegendEntry> code_colours(const Palette& palette) {
  if (palette.libraries.empty()) return {};
  return {{colour_of(palette, {.owner = Owner::application}), "application", ""},
          {{}, "each library in a colour of its own", ""}};
}

std::vector<LegendEntry> code_legend(const Profile& profile, const Palette& palette,
                                     const CodeShares& shares) {
  if (shares.shares.empty()) return {};
  CodeShare others{.owner = Owner::library};
  size_t other_count = 0;
  std::vector<CodeShare> parts = shown(shares.shares, others, other_count);
  // Its colour is not explained elsewhere.
  const auto is_application = [](const CodeShare& share) {
    return share.owner == Owner::application;
  };
  if (!palette.libraries.empty() && std::none_of(parts.begin(), parts.end(), is_application))
    parts.push_back({.owner = Owner::application});
  if (other_count != 0) parts.push_back(others);
  const std::vector<int64_t> share_of = thousandths(parts);
  std::vector<LegendEntry> entries;
  entries.push_back(heading(shares));
  for (size_t i = 0; i < parts.size(); ++i) {
    const CodeShare& part = parts[i];
    const bool is_rest = other_count != 0 && i + 1 == parts.size();
    const std::string share =
        std::to_string(share_of[i] / 10) + "." + std::to_string(share_of[i] % 10) + " %";
    const std::string label =
        is_rest ? std::to_string(other_count).append(plural_of(others, other_count))
                : label_of(part, shares.modules_known);
    uint64_t replaced = 0;
    entries.push_back({is_rest ? std::nullopt : colour_of(palette, part),
                       clean_text(label, replaced) + " " + share,
                       clean_text((part.path.empty() ? label : part.path) + ": " +
                                      exact(part.sum, profile.types[profile.shown]),
                                  replaced) +
                           ", " + share + " of all"});
  }
  return entries;
}

}  // namespace memflame
