// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/caption.h"

#include <array>
#include <cstdio>

#include "core/difference.h"
#include "core/units.h"
#include "render/picture/column_words.h"

namespace memflame {
namespace {

constexpr size_t no_line_limit = 100;

std::string counted(uint64_t events, int64_t bytes) {
  std::string text = with_commas(static_cast<int64_t>(events));
  if (bytes == 0) return text;
  text += " (" + iec_bytes(bytes);
  if (bytes <= -1024 || bytes >= 1024) text += ", " + with_commas(bytes) + " B";
  return text + ")";
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), seconds < 10 ? "%.2f s" : "%.1f s", seconds);
  return text.data();
}

void append(std::string& list, std::string_view item, std::string_view separator) {
  if (item.empty()) return;
  if (!list.empty()) list += separator;
  list += item;
}

std::string origin(const Meta& meta) {
  std::string line;
  append(line, meta.command, "");
  if (!meta.host.empty()) append(line, "on " + meta.host, " · ");
  if (meta.seconds > 0) append(line, seconds_text(meta.seconds), " · ");
  return line;
}

// The meaning of widths that are not the shown value.
constexpr std::string_view widths(WidthOf width) {
  switch (width) {
    case WidthOf::larger:
      return "widths: the larger of before and after";
    case WidthOf::before:
      return "widths: before";
    case WidthOf::after:
      return "widths: after";
    case WidthOf::both:
      return "widths: before and after together";
    case WidthOf::change:
      return "widths: what has changed";
    case WidthOf::size:
      return "widths: figures without their sign";
    case WidthOf::shown:
      break;
  }
  return "";
}

std::string in_stacks(const Layout& layout) {
  return " in " + with_commas(static_cast<int64_t>(layout.stacks)) +
         (layout.stacks == 1 ? " stack" : " stacks");
}

// "before 5.0 KiB (5,120 B) · after 7.0 KiB (7,168 B) · change +2.0 KiB (+2,048 B), +40.0 %"
std::string states(const Profile& profile, const Difference& columns) {
  const ValueType& type = profile.types[columns.after];
  const int64_t before = profile.total(columns.before), after = profile.total(columns.after);
  std::string line = "before " + exact(before, type) + " · after " + exact(after, type);
  int64_t change = 0;
  if (__builtin_sub_overflow(after, before, &change)) return line;
  const std::string sign = change > 0 ? "+" : "";
  line += " · change " + sign + exact(change, type);
  if (before > 0)
    line += ", " + sign + percent(static_cast<double>(change), static_cast<double>(before));
  return line;
}

// Whether a note of `memflame diff` repeats states(). It is there for folded text, which has only
// notes.
bool repeats_totals(const Profile& profile, std::string_view note) {
  const auto columns = difference_of(profile);
  return columns &&
         note.starts_with("before " +
                          human(profile.total(columns->before), profile.types[columns->before]) +
                          ", after ");
}

std::string totals(const Profile& profile, const Layout& layout) {
  const ValueType& shown = profile.types[profile.shown];
  const auto difference = difference_of(profile);
  if (layout.total == 0 && !difference)
    return "nothing was captured: the total of " + shown.name + " is 0";
  std::string line =
      difference
          ? states(profile, *difference)
          : column_words(shown) + " " +
                figure(profile, profile.shown,
                       layout.width == WidthOf::shown ? layout.total : profile.total(profile.shown),
                       profile.total_error(profile.shown));
  line += in_stacks(layout);
  const auto told = [&](size_t i) {
    if (!difference) return i == profile.shown;
    return i == difference->before || i == difference->after || profile.types[i].name == "delta";
  };
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (!told(i) && profile.types[i].unit != Unit::variance)
      line += " · " + column_words(profile.types[i]) + " " +
              figure(profile, i, profile.total(i), profile.total_error(i));
  append(line, widths(layout.width), " · ");
  return line;
}

std::string sampling(const Profile& profile) {
  if (profile.meta.sampling.empty()) return "";
  const bool errors_are_known = profile.types[profile.shown].variance != no_column;
  return "estimated from samples (" + profile.meta.sampling + ")" +
         (errors_are_known ? "; ± is one standard error" : "");
}

// Each value next to the OS's, then the losses.
std::string reconciliation(const Meta& meta, const Losses& losses) {
  std::string line;
  for (const Reconciliation& row : meta.reconciliation)
    if (row.os) append(line, in_words(row), "; ");
  append(line, "lost " + counted(losses.lost_events(), losses.lost_bytes()), "; ");
  const LossCount cut = losses.sum(LossKind::cut);
  if (cut.events != 0 || cut.bytes != 0)
    append(line, counted(cut.events, cut.bytes) + have_cut_stacks(cut.events), "; ");
  return line;
}

std::string counters(const char* what, const Losses& losses, LossKind kind) {
  std::string line;
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    if (loss_info[i].kind != kind || (count.events == 0 && count.bytes == 0)) continue;
    std::string item = std::string(loss_info[i].label) + " " + counted(count.events, count.bytes);
    if (!loss_info[i].remedy.empty()) item += " (" + std::string(loss_info[i].remedy) + ")";
    append(line, item, " · ");
  }
  return line.empty() ? line : what + line;
}

// "leak: 2.0 % of the blocks never come back, … – handle_request"
std::vector<Caption> leaks(const Profile& profile) {
  std::vector<Caption> lines;
  double rate = 0;
  int64_t more = 0;
  for (const StackMark& mark : profile.marks) {
    if (!mark.is_drawn) continue;
    if (lines.empty()) {
      lines.push_back({mark.sentence + " – " + mark.label, Tone::leak});
      continue;
    }
    ++more;
    rate += mark.bytes_per_second;
  }
  if (more == 0) return lines;
  std::string text = with_commas(more) + (more == 1 ? " more stack leaks" : " more stacks leak");
  if (rate >= 1 && rate < 9e15) text += ", " + iec_bytes(static_cast<int64_t>(rate)) + "/s";
  lines.push_back({text, Tone::leak});
  return lines;
}

// The processes that are drawn, the widest first: "server", "cc1plus and 2 more".
std::string processes(const Profile& profile, const Layout& layout) {
  const Box* widest = nullptr;
  int64_t more = -1;
  for (const Box& box : layout.boxes) {
    if (box.depth != 1 || !box.frame) continue;
    if (profile.frames[box.frame].kind != FrameKind::process) continue;
    ++more;
    if (widest == nullptr || box.total > widest->total) widest = &box;
  }
  if (widest == nullptr) return "";
  std::string name(profile.strings[profile.frames[widest->frame].function]);
  if (more > 0) name += " and " + with_commas(more) + " more";
  return name;
}

std::string undrawn(const Profile& profile, const Layout& layout) {
  if (layout.undrawn_stacks == 0) return "";
  return "not drawn: " + exact(layout.undrawn, profile.types[profile.shown]) + " in " +
         with_commas(static_cast<int64_t>(layout.undrawn_stacks)) +
         (layout.undrawn_stacks == 1 ? " stack" : " stacks") +
         " that gave back more than they took";
}

}  // namespace

std::string brief(int64_t value, const ValueType& type) {
  if (type.unit != Unit::pages) return human(value, type);
  return human(value, {type.name, Unit::count, no_column, 1, type.decimals}) +
         (value == 1 ? " page" : " pages");
}

std::string exact(int64_t value, const ValueType& type) {
  std::string text = brief(value, type);
  const bool short_of_digits = value <= -1024 || value >= 1024;
  const ValueType count{type.name, Unit::count, no_column, 1, type.decimals};
  if (type.unit == Unit::bytes && short_of_digits) text += " (" + human(value, count) + " B)";
  if (type.unit == Unit::nanoseconds && short_of_digits)
    text += " (" + human(value, count) + " ns)";
  int64_t bytes = 0;
  // A file may claim more pages than there are bytes in 64 bits.
  if (type.unit == Unit::pages && type.decimals == 0 &&
      !__builtin_mul_overflow(value, page_bytes, &bytes))
    text += " (" + iec_bytes(bytes) + ", " + with_commas(bytes) + " B)";
  return text;
}

std::string figure(const Profile& profile, size_t column, int64_t value, double error) {
  const ValueType& type = profile.types[column];
  if (type.variance == no_column) return exact(value, type);
  return brief(value, type) + " (± " + brief(rounded_up(error), type) + ")";
}

std::string default_title(const Profile& profile, bool icicle) {
  if (!profile.meta.title.empty()) return profile.meta.title;
  const ValueType& shown = profile.types[profile.shown];
  const std::string graph = icicle ? "Icicle graph" : "Flame graph";
  const std::string unit(name(shown.unit));
  if (difference_of(profile)) return graph + " of what has changed, in " + unit;
  if (shown.unit == Unit::count)
    return shown.name == unit ? graph : graph + " of " + column_words(shown);
  return graph + " of " + (shown.name == unit ? "" : shown.name + " ") + unit;
}

std::vector<Caption> run_captions(const Meta& meta, const std::vector<Caption>& figures,
                                  const Losses& losses) {
  std::vector<Caption> lines{{origin(meta)}};
  lines.insert(lines.end(), figures.begin(), figures.end());
  lines.push_back({reconciliation(meta, losses), Tone::figure});
  lines.push_back({counters("lost: ", losses, LossKind::missing), Tone::warning, no_line_limit});
  lines.push_back({counters("cut stacks: ", losses, LossKind::cut), Tone::warning, no_line_limit});
  lines.push_back(
      {counters("also counted: ", losses, LossKind::news), Tone::detail, no_line_limit});
  return lines;
}

Headline headline(const Profile& profile, const Layout& layout, const Losses& losses) {
  const ValueType& shown = profile.types[profile.shown];
  Headline out;
  if (const auto columns = difference_of(profile)) {
    const int64_t before = profile.total(columns->before), after = profile.total(columns->after);
    int64_t change = 0;
    out.figure = "after " + brief(after, shown);
    if (!__builtin_sub_overflow(after, before, &change)) {
      const std::string sign = change > 0 ? "+" : "";
      out.figure = "change " + sign + brief(change, shown);
      if (before > 0)
        out.figure +=
            ", " + sign + percent(static_cast<double>(change), static_cast<double>(before));
    }
  } else {
    out.figure =
        column_words(shown) + " " +
        brief(layout.width == WidthOf::shown ? layout.total : profile.total(profile.shown), shown);
  }
  append(out.run, processes(profile, layout), " · ");
  if (profile.meta.seconds > 0) append(out.run, seconds_text(profile.meta.seconds), " · ");
  const int64_t bytes = losses.lost_bytes();
  append(out.run, "lost " + with_commas(static_cast<int64_t>(losses.lost_events())), " · ");
  if (bytes != 0) out.run += " (" + iec_bytes(bytes) + ")";
  return out;
}

std::vector<Caption> captions(const Profile& profile, const Layout& layout, const Losses& losses,
                              const std::string& hidden) {
  std::vector<Caption> lines = run_captions(profile.meta,
                                            {{totals(profile, layout), Tone::figure},
                                             {sampling(profile), Tone::figure},
                                             {hidden, Tone::figure}},
                                            losses);
  const std::vector<Caption> first = leaks(profile);
  lines.insert(lines.begin(), first.begin(), first.end());
  lines.push_back({undrawn(profile, layout), Tone::warning});
  for (const std::string& note : profile.meta.notes)
    if (!repeats_totals(profile, note)) lines.push_back({note});
  std::erase_if(lines, [](const Caption& line) { return line.text.empty(); });
  return lines;
}

}  // namespace memflame
