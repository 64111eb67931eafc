// SPDX-License-Identifier: BSD-2-Clause
// The words of a picture: figures, the title and the lines below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "render/picture/layout.h"

namespace memflame {

// For people and exact: "1.5 GiB (1,610,612,736 B)", "812 B", "3 pages (12.0 KiB, 12,288 B)",
// "1,204", "1.250 s (1,250,000,000 ns)".
std::string exact(int64_t value, const ValueType& type);

// For people: "1.5 GiB", "3 pages", "1,204".
std::string brief(int64_t value, const ValueType& type);

// An estimate with its standard error: "12.3 MiB (± 0.8 MiB)"; an exact value as exact() prints it.
std::string figure(const Profile& profile, size_t column, int64_t value, double error);

// The profile's own title, or one made from what is shown: "Flame graph of live bytes".
std::string default_title(const Profile& profile, bool icicle);

// What a page says first: "live 4.3 MiB", and "leaky · 12.0 s · lost 0". layout: has the boxes of
// processes.
struct Headline {
  std::string figure, run;
};
Headline headline(const Profile& profile, const Layout& layout, const Losses& losses);

enum class Tone : uint8_t { detail, figure, warning, leak };
struct Caption {
  std::string text;
  Tone tone = Tone::detail;
  size_t max_lines = 3;  // losses are never cut; the rest of a long command is in a tooltip
};

// What every picture of a run says: what was watched, `figures`, reconciliation and losses. Lines
// may be empty.
std::vector<Caption> run_captions(const Meta& meta, const std::vector<Caption>& figures,
                                  const Losses& losses);

// In this order: leaks that are pointed out, what was watched, totals, sampling, whose frames are
// hidden (blame_note()), reconciliation and losses, values without a box, notes.
std::vector<Caption> captions(const Profile& profile, const Layout& layout, const Losses& losses,
                              const std::string& hidden = {});

// The largest width of a line in the usual proportional fonts, in px.
double text_width(std::string_view clean, double font_size);

// Lines of at most `width` px, broken at blanks if possible. At most `limit` lines: the last one
// then ends in "…".
std::vector<std::string> wrap(std::string_view clean, double font_size, double width, size_t limit);

}  // namespace memflame
