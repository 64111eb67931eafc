// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/function_figures.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/difference.h"
#include "core/error.h"
#include "render/picture/blame.h"
#include "render/picture/data_block.h"
#include "render/picture/looks.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// A function without a box costs its name: a thousand of them take some 20 KiB in a file.
constexpr size_t most_without_box = 1000;

using Row = std::span<const int64_t>;
using WidthOfRow = std::function<int64_t(Row)>;

struct Measure {
  std::string id;
  WidthOfRow width;
};

int64_t size_of(int64_t value) {
  if (value == INT64_MIN) sums_too_large();
  return value < 0 ? -value : value;
}

void add_changes(std::vector<Measure>& measures, const Difference& states) {
  for (const WidthOf of :
       {WidthOf::larger, WidthOf::after, WidthOf::before, WidthOf::both, WidthOf::change})
    measures.push_back({std::string(width_id(of)), Width{of, states.before, states.after}});
}

// The same as measuresOf() in viewer/measure.mjs.
std::vector<Measure> measures_of(const Profile& profile, const RenderOptions& options) {
  std::vector<Measure> found;
  const auto states = difference_of(profile);
  if (states) add_changes(found, *states);
  const bool net = !states && options.diff_width == WidthOf::size;
  uint64_t replaced = 0;
  for (size_t i = 0; i < profile.types.size(); ++i) {
    const ValueType& type = profile.types[i];
    const std::string id = clean_text(type.name, replaced);
    const bool taken = std::any_of(found.begin(), found.end(),
                                   [&](const Measure& other) { return other.id == id; });
    const bool is_state = states && (i == states->before || i == states->after);
    if (type.unit == Unit::variance || taken || is_state) continue;
    found.push_back(
        {id, [i, net](Row row) { return net ? size_of(row[i]) : std::max<int64_t>(row[i], 0); }});
    if (const size_t variance = type.variance; variance != no_column)
      found.push_back({id + "-error", [variance](Row row) { return row[variance]; }});
  }
  return found;
}

// A tree as both the profile and a picture have it; no frame: the root, or a merged box.
struct Tree {
  std::span<const FrameId> frame;
  std::span<const uint32_t> caller;
  std::span<const int64_t> own;
  size_t columns;
  std::vector<uint32_t> to;  // where own figures are drawn (blame.h)
};

// By FrameId::index.
struct Sums {
  std::vector<int64_t> own, total;
  int64_t largest = 0;
};

Sums sums_of(const Tree& tree, const WidthOfRow& width, size_t frames) {
  Sums out{std::vector<int64_t>(frames, 0), std::vector<int64_t>(frames, 0)};
  const size_t size = tree.frame.size();
  std::vector<int64_t> own(size, 0);
  for (size_t n = 0; n < size; ++n)
    own[tree.to[n]] =
        checked_sum(own[tree.to[n]], width(tree.own.subspan(n * tree.columns, tree.columns)));
  std::vector<int64_t> total = own;
  for (size_t n = size; n-- > 1;)
    total[tree.caller[n]] = checked_sum(total[tree.caller[n]], total[n]);
  std::vector<uint32_t> open(frames, 0), path;  // how often each frame is open; the open nodes
  for (uint32_t n = 1; n < size; ++n) {
    for (; !path.empty() && path.back() != tree.caller[n]; path.pop_back())
      --open[tree.frame[path.back()].index];
    const FrameId frame = tree.frame[n];
    path.push_back(n);
    const bool outermost = open[frame.index]++ == 0;
    out.largest = std::max(out.largest, size_of(total[n]));
    if (!frame) continue;
    out.own[frame.index] = checked_sum(out.own[frame.index], own[n]);
    if (outermost) out.total[frame.index] = checked_sum(out.total[frame.index], total[n]);
  }
  out.largest = std::max(out.largest, size_of(total[0]));
  return out;
}

// Nothing if a sum does not fit in 64 bits.
std::optional<std::pair<Sums, Sums>> both_sums(const Tree& all, const Tree& kept,
                                               const WidthOfRow& width, size_t frames) {
  try {
    return std::pair(sums_of(all, width, frames), sums_of(kept, width, frames));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void subtract(std::vector<int64_t>& from, const std::vector<int64_t>& what) {
  // Modulo 2^64: both fit, but if their signs differ, their difference may not.
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<int64_t>(static_cast<uint64_t>(from[i]) - static_cast<uint64_t>(what[i]));
}

// Functions without a node in `kept`, those with the largest totals in `by` first.
std::vector<FrameId> without_node(const Tree& all, const Tree& kept,
                                  const std::vector<int64_t>& by) {
  enum : uint8_t { unknown, listed, has_node };
  std::vector<uint8_t> state(by.size(), unknown);
  for (const FrameId frame : kept.frame) state[frame.index] = has_node;
  std::vector<FrameId> found;
  for (const FrameId frame : all.frame)
    if (frame && state[frame.index] == unknown) {
      state[frame.index] = listed;
      found.push_back(frame);
    }
  std::stable_sort(found.begin(), found.end(),
                   [&](FrameId a, FrameId b) { return by[a.index] > by[b.index]; });
  return found;
}

std::vector<uint32_t> callers_of(const DataNodes& nodes) {
  std::vector<uint32_t> callers(nodes.size(), 0), path;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    path.resize(nodes.depth[n]);
    if (!path.empty()) callers[n] = path.back();
    path.push_back(n);
  }
  return callers;
}

// The measure a picture starts with: its totals decide which functions are the largest.
std::string first_measure(const Profile& profile, const RenderOptions& options) {
  uint64_t replaced = 0;
  return difference_of(profile) ? std::string(width_id(options.diff_width))
                                : clean_text(profile.types[profile.shown].name, replaced);
}

// The columns of FunctionFigures::beyond for one of its blames.
class Columns {
 public:
  Columns(FunctionFigures& out, const Profile& profile, const Tree& all, const Tree& kept)
      : out_(out), frames_(profile.frames.size()), all_(all), kept_(kept) {}

  // False if a sum does not fit in 64 bits.
  bool add(const WidthOfRow& width, bool totals_only = false) {
    auto sums = both_sums(all_, kept_, width, frames_);
    if (!sums) return false;
    auto& [whole, part] = *sums;
    out_.largest = std::max({out_.largest, whole.largest, part.largest});
    totals_ = whole.total;
    subtract(whole.own, part.own);
    subtract(whole.total, part.total);
    if (!totals_only) out_.beyond.push_back(std::move(whole.own));
    out_.beyond.push_back(std::move(whole.total));
    return true;
  }

  // The totals of all functions in the measure that was added last.
  const std::vector<int64_t>& totals() const { return totals_; }

 private:
  FunctionFigures& out_;
  const size_t frames_;
  const Tree& all_;
  const Tree& kept_;
  std::vector<int64_t> totals_;
};

}  // namespace

FunctionFigures function_figures(const FrameTree& tree, const DataNodes& nodes,
                                 const Profile& profile, const RenderOptions& options) {
  FunctionFigures out;
  const std::vector<uint32_t> callers = callers_of(nodes);
  Tree all{tree.frame, tree.caller, tree.own, tree.columns, {}};
  Tree kept{nodes.frame, callers, nodes.own, nodes.columns, {}};
  std::vector<int64_t> order(profile.frames.size(), 0);
  const std::string first = first_measure(profile, options);
  // Sums of other blames may be larger, so each measure is tried with all of them.
  std::vector<Blame> blames{Blame::all};
  if (!nodes.inner.empty() && !options.reversed)
    blames.insert(blames.end(), {Blame::caller, Blame::user});
  InnerFrames inner(profile);
  std::vector<Measure> measures = measures_of(profile, options);
  for (const Blame blame : blames) {
    all.to = blamed_nodes({all.frame, all.caller, all.own, all.columns}, profile, blame, inner);
    kept.to =
        blamed_nodes({kept.frame, kept.caller, kept.own, kept.columns}, profile, blame, inner);
    Columns columns(out, profile, all, kept);
    std::vector<Measure> fit;
    for (Measure& measure : measures) {
      if (!columns.add(measure.width)) {
        if (blame != Blame::all) return {};
        continue;
      }
      if (blame == Blame::all && (measure.id == first || fit.empty())) order = columns.totals();
      fit.push_back(std::move(measure));
    }
    measures = std::move(fit);
    if (const auto states = difference_of(profile))
      for (const size_t column : {states->before, states->after})
        if (!columns.add([=](Row row) { return row[column]; }, true)) return {};
    out.blames.emplace_back(word_for<Blame>(blame_words, blame));
  }
  for (const Measure& measure : measures) out.measures.push_back(measure.id);
  out.more = without_node(all, kept, order);
  for (size_t i = most_without_box; i < out.more.size(); ++i)
    for (auto& column : out.beyond) column[0] += column[out.more[i].index];
  out.left = out.more.size() - std::min(out.more.size(), most_without_box);
  out.more.resize(out.more.size() - out.left);
  return out;
}

}  // namespace memflame
