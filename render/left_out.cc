// SPDX-License-Identifier: BSD-2-Clause
// Names what a format cannot hold.
#include <algorithm>

#include "core/folded.h"
#include "render/output.h"

namespace memflame {
namespace {

bool any_frame(const Profile& profile, const auto& has) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i)
    if (has(profile.frames[FrameId{i}])) return true;
  return false;
}

// Whether folded text would read a function with this name, "f_[k]", as f of the kernel. If the
// frame has a mark too, that one is read.
bool ends_as_marked(std::string_view name, FrameKind kind) {
  const auto marks_it = [&](const FoldedSuffix& mark) { return mark.kind == kind; };
  const auto ends_it = [&](const FoldedSuffix& mark) { return name.ends_with(mark.text); };
  return std::none_of(folded_suffixes.begin(), folded_suffixes.end(), marks_it) &&
         std::any_of(folded_suffixes.begin(), folded_suffixes.end(), ends_it);
}

bool any_type(const Profile& profile, const auto& has) {
  return std::any_of(profile.types.begin(), profile.types.end(), has);
}

bool any_value(const Profile& profile, const auto& has) {
  const auto has_one = [&](StackId stack) {
    const std::span<const int64_t> values = profile.values(stack);
    for (size_t i = 0; i < values.size(); ++i)
      if (profile.types[i].unit != Unit::variance && has(values[i])) return true;
    return false;
  };
  return std::any_of(profile.touched().begin(), profile.touched().end(), has_one);
}

std::string other_columns(const Profile& profile) {
  std::string list;
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (i != profile.shown && profile.types[i].unit != Unit::variance)
      list += (list.empty() ? "" : ", ") + profile.types[i].name;
  return list;
}

bool has_notes(const Profile& profile) {
  const Meta& meta = profile.meta;
  return !meta.title.empty() || !meta.notes.empty() || !meta.sampling.empty() ||
         profile.losses.any();
}

}  // namespace

std::vector<std::string> left_out(const Output& output, const Profile& profile) {
  std::vector<std::string> texts;
  const auto check = [&](Holds what, const auto& has, const std::string& text) {
    if ((output.holds & what) == 0 && has()) texts.push_back(text);
  };
  const std::string others = other_columns(profile);
  check(
      columns, [&] { return !others.empty(); }, "the columns " + others);
  check(
      modules, [&] { return any_frame(profile, [](const Frame& f) { return bool{f.module}; }); },
      "the modules of frames");
  check(
      places, [&] { return any_frame(profile, [](const Frame& f) { return bool{f.file}; }); },
      "source files and lines");
  check(
      kinds,
      [&] {
        return any_frame(profile, [](const Frame& f) {
          return f.kind == FrameKind::kernel || f.kind == FrameKind::inlined ||
                 f.kind == FrameKind::jit;
        });
      },
      "which frames are kernel, inlined or JIT code");
  check(
      marks,
      [&] {
        return any_frame(profile, [&](const Frame& f) {
          return ends_as_marked(profile.strings[f.function], f.kind);
        });
      },
      "names that end as its marks do: 'f_[k]' is read back as f of the kernel, _[i] as inlined, "
      "_[j] as made at run time");
  check(
      errors,
      [&] { return any_type(profile, [](const ValueType& t) { return t.variance != no_column; }); },
      "the errors of estimates");
  check(
      fractions,
      [&] { return any_type(profile, [](const ValueType& t) { return t.decimals != 0; }); },
      "fractions: figures are rounded");
  constexpr int64_t exact = int64_t{1} << 53U;
  check(
      large, [&] { return any_value(profile, [](int64_t v) { return v > exact || v < -exact; }); },
      "figures beyond 2^53, which its readers round");
  check(
      negative, [&] { return any_value(profile, [](int64_t v) { return v < 0; }); },
      "negative figures");
  check(
      notes, [&] { return has_notes(profile); }, "title, notes and losses");
  return texts;
}

}  // namespace memflame
