// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/fold/diff.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/merge_stacks.h"
#include "core/units.h"

namespace memflame {
namespace {

__extension__ using Wide = __int128;

bool is_hex_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string without_hex(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const size_t at = name.find("0x");
    size_t end = at == std::string_view::npos ? at : at + 2;
    if (end != std::string_view::npos)
      while (end < name.size() && is_hex_letter(name[end])) ++end;
    if (at == std::string_view::npos) return text += name;
    text += name.substr(0, at);
    text += end == at + 2 ? "0x" : "0x...";
    name.remove_prefix(end);
  }
  return text;
}

// The shown values of a profile, by their place among touched().
std::vector<int64_t> shown_values(const Profile& profile) {
  std::vector<int64_t> values;
  values.reserve(profile.touched().size());
  for (const StackId stack : profile.touched())
    values.push_back(profile.values(stack)[profile.shown]);
  return values;
}

// value * numerator / denominator, rounded down; the remainder goes to `rest`.
int64_t scaled(int64_t value, int64_t numerator, int64_t denominator, int64_t& rest) {
  const Wide product = static_cast<Wide>(value) * numerator;
  Wide quotient = product / denominator;
  if (product % denominator < 0) --quotient;
  rest = static_cast<int64_t>(product - quotient * denominator);
  if (quotient > INT64_MAX || quotient < INT64_MIN)
    throw Error("--normalize: a scaled value leaves the range of 64 bits");
  return static_cast<int64_t>(quotient);
}

// Scales values with the sum `from` to the sum `to`. Each is rounded down first; as many as the
// total still lacks are then rounded up, those with the largest remainders first.
void scale(std::vector<int64_t>& values, int64_t from, int64_t to, bool truncate) {
  if (from <= 0 || to <= 0)
    throw Error("--normalize needs totals above 0; they are " + with_commas(from) + " before and " +
                with_commas(to) + " after");
  std::vector<int64_t> rests(values.size());
  int64_t missing = to;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = scaled(values[i], to, from, rests[i]);
    if (truncate && values[i] < 0 && rests[i] != 0) ++values[i];  // towards 0
    if (__builtin_sub_overflow(missing, values[i], &missing))
      throw Error("--normalize: the scaled values add up to more than 64 bits");
  }
  if (truncate || missing == 0) return;
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto lost_more = [&](size_t a, size_t b) {
    return rests[a] != rests[b] ? rests[a] > rests[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + missing, order.end(), lost_more);
  for (size_t i = 0; i < static_cast<size_t>(missing); ++i) ++values[order[i]];
}

int64_t difference(int64_t after, int64_t before) {
  int64_t delta = 0;
  if (__builtin_sub_overflow(after, before, &delta))
    throw Error("a difference leaves the range of 64 bits");
  return delta;
}

Profile empty_difference(const ValueType& type) {
  Profile out;
  for (const char* column : {"before", "after", "delta"})
    out.types.push_back({column, type.unit, no_column, 1, type.decimals});
  out.shown = 1;
  return out;
}

// Gives both the larger number of decimals.
void align(Profile& a, Profile& b) {
  const uint8_t decimals = std::max(a.types[a.shown].decimals, b.types[b.shown].decimals);
  for (Profile* profile : {&a, &b}) profile->set_decimals(profile->shown, decimals);
}

// Adds the stacks of `from` to `out`, and returns their ids there.
std::vector<StackId> stacks_in(Profile& out, const Profile& from, bool strip_hex) {
  std::vector<FrameId> frames(from.frames.size());
  for (uint32_t i = 1; i < frames.size(); ++i) {
    Frame frame = frame_from(out, from, FrameId{i});
    const std::string_view name = out.strings[frame.function];
    if (strip_hex && name.find("0x") != std::string_view::npos)
      frame.function = out.strings.intern(without_hex(name));
    frames[i] = out.frames.intern(frame);
  }
  return merge_stacks(out.stacks, from.stacks, frames);
}

void add_values(Profile& out, std::span<const StackId> stacks, std::span<const StackId> places,
                std::span<const int64_t> values, bool is_after) {
  for (size_t i = 0; i < values.size(); ++i) {
    const StackId place = places.empty() ? stacks[i] : places[stacks[i].index];
    const std::array<int64_t, 3> row =
        is_after ? std::array<int64_t, 3>{0, values[i], values[i]}
                 : std::array<int64_t, 3>{values[i], 0, difference(0, values[i])};
    out.add(place, row);
  }
}

std::string totals_note(const Profile& profile) {
  const int64_t before = profile.total(0), after = profile.total(1);
  const int64_t delta = difference(after, before);
  const ValueType& type = profile.types[0];
  std::string note = "before " + human(before, type) + ", after " + human(after, type) + ": " +
                     (delta < 0 ? "" : "+") + human(delta, type);
  if (before != 0)
    note += std::string(" (") + (delta < 0 ? "" : "+") +
            percent(static_cast<double>(delta), static_cast<double>(before)) + ")";
  return note;
}

// The note on stacks that `after` lacks.
std::string vanished_note(const Profile& profile) {
  int64_t count = 0, sum = 0;
  for (const StackId stack : profile.touched()) {
    const std::span<const int64_t> row = profile.values(stack);
    if (row[0] == 0 || row[1] != 0) continue;
    ++count;
    if (!add_to(sum, row[0], profile.types[0].unit)) return "";
  }
  if (count == 0) return "";
  return "gone: " + human(sum, profile.types[0]) + " in " + with_commas(count) +
         (count == 1 ? " stack" : " stacks");
}

// Whether `before` is an earlier picture of the run that `after` shows: their losses only grow.
bool is_same_run(const Profile& before, const Profile& after) {
  const Meta &old = before.meta, &now = after.meta;
  if (old.began_ns != 0 && now.began_ns != 0 && old.began_ns != now.began_ns) return false;
  if (old.command.empty() || old.command != now.command || old.title != now.title ||
      old.host != now.host || old.seconds >= now.seconds ||
      std::ranges::find(old.notes, so_far_note) == old.notes.end())
    return false;
  for (size_t i = 0; i < loss_info.size(); ++i)
    if (before.losses[static_cast<Loss>(i)].events > after.losses[static_cast<Loss>(i)].events)
      return false;
  return true;
}

// Counters of one run: the later state includes the earlier one.
Losses larger_of(const Losses& one, const Losses& other) {
  Losses losses;
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const auto loss = static_cast<Loss>(i);
    losses.add(loss, std::max(one[loss].events, other[loss].events),
               std::max(one[loss].bytes, other[loss].bytes));
  }
  return losses;
}

void merge_meta(Profile& out, const Profile& before, const Profile& after, bool one_run) {
  out.meta = after.meta;
  out.meta.seconds = 0;
  out.meta.began_ns = 0;
  out.meta.reconciliation.clear();  // each concerns only one of the two
  for (const auto field : {&Meta::title, &Meta::command, &Meta::host, &Meta::sampling}) {
    const std::string &old = before.meta.*field, &now = after.meta.*field;
    if (now.empty())
      out.meta.*field = old;
    else if (!old.empty() && old != now)
      out.meta.*field = old + " → " + now;
  }
  out.meta.notes.clear();
  for (const auto& [profile, when] :
       {std::pair{&before, "before: "}, std::pair{&after, "after: "}}) {
    for (const std::string& note : profile->meta.notes) out.meta.notes.push_back(when + note);
  }
  out.losses = before.losses;
  if (one_run)
    out.losses = larger_of(before.losses, after.losses);
  else
    out.losses.add(after.losses);
}

}  // namespace

Profile diff(Profile before, Profile after, const DiffOptions& options) {
  const ValueType old = before.types[before.shown], type = after.types[after.shown];
  if (old.unit != type.unit)
    throw Error("figures of " + old.name + " (" + std::string(name(old.unit)) + ") before and of " +
                type.name + " (" + std::string(name(type.unit)) +
                ") after cannot be compared; name others with --value");
  align(before, after);
  std::vector<int64_t> old_values = shown_values(before);
  const std::vector<int64_t> new_values = shown_values(after);
  Profile out = empty_difference(after.types[after.shown]);
  merge_meta(out, before, after, options.one_run || is_same_run(before, after));
  if (options.normalize) {
    const int64_t from = before.total(before.shown), to = after.total(after.shown);
    scale(old_values, from, to, options.truncate);
    out.meta.notes.push_back("before is scaled by " + human(to, after.types[after.shown]) + " / " +
                             human(from, before.types[before.shown]) +
                             ", so that both totals are the same");
  }
  const std::vector<StackId> new_stacks(after.touched().begin(), after.touched().end());
  std::vector<StackId> places;
  if (options.strip_hex) {
    places = stacks_in(out, after, true);
  } else {  // the result takes over its tables
    out.strings = std::move(after.strings);
    out.frames = std::move(after.frames);
    out.code = std::move(after.code);
    out.stacks = std::move(after.stacks);
  }
  add_values(out, new_stacks, places, new_values, true);
  places = stacks_in(out, before, options.strip_hex);
  add_values(out, before.touched(), places, old_values, false);
  out.meta.notes.push_back(totals_note(out));
  if (std::string gone = vanished_note(out); !gone.empty())
    out.meta.notes.push_back(std::move(gone));
  return out;
}

}  // namespace memflame
