#include "render/stack_rows.h"

#include <algorithm>
#include <numeric>

#include "render/name_order.h"
#include "render/ordered_stacks.h"

namespace memflame {
namespace {

// Equal names have one rank.
std::vector<uint32_t> ranks_of(std::span<const std::string_view> names) {
  const std::vector<uint32_t> order = name_order(names);
  std::vector<uint32_t> ranks(names.size());
  uint32_t rank = 0;
  for (size_t i = 1; i < order.size(); ++i)
    ranks[order[i]] = rank += names[order[i]] == names[order[i - 1]] ? 0U : 1U;
  return ranks;
}

}  // namespace

StackRows::StackRows(const Profile& profile, std::span<const std::string_view> names,
                     char separator)
    : profile_(profile),
      names_(names),
      separator_(separator),
      ranks_(ranks_of(names)),
      touched_(touched_stacks(profile)),
      values_(profile.types.size()) {
  list_callees();
  levels_.emplace_back();
  level_ends_.push_back(1);
  list_pending(0);
}

// Sorted by their callers.
void StackRows::list_callees() {
  const auto count = static_cast<uint32_t>(profile_.stacks.size());
  const auto caller = [&](uint32_t i) { return profile_.stacks[StackId{i}].caller.index; };
  first_.assign(count + 1, 0);
  for (uint32_t i = 1; i < count; ++i) ++first_[caller(i)];
  // From the last to the first, so that first_[] ends up where it has to be.
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  callees_.resize(first_.back());
  for (uint32_t i = count; i-- > 1;) callees_[--first_[caller(i)]] = i;
}

// The callees of the stacks of a depth, the first to come last.
void StackRows::list_pending(size_t depth) {
  const size_t begin = pending_.size();
  for (const StackId stack : stacks(depth))
    for (uint32_t i = first_[stack.index]; i < first_[stack.index + 1]; ++i)
      pending_.push_back({StackId{callees_[i]}, static_cast<uint32_t>(depth)});
  const auto rank = [&](const Pending& p) { return ranks_[profile_.stacks[p.stack].frame.index]; };
  std::sort(pending_.begin() + static_cast<ptrdiff_t>(begin), pending_.end(),
            [&](const Pending& a, const Pending& b) { return rank(a) > rank(b); });
}

std::span<const StackId> StackRows::stacks(size_t depth) const {
  const size_t begin = depth == 0 ? 0 : level_ends_[depth - 1];
  return std::span(levels_).subspan(begin, level_ends_[depth] - begin);
}

// One frame more in the path, or another one.
void StackRows::enter() {
  const Pending next = pending_.back();
  const FrameId frame = profile_.stacks[next.stack].frame;
  const uint32_t rank = ranks_[frame.index];
  const size_t depth = next.depth;  // frames before this one
  ends_.resize(depth);
  path_.resize(depth == 0 ? 0 : ends_.back());
  if (depth != 0) path_ += separator_;
  path_ += names_[frame.index];
  ends_.push_back(path_.size());
  kept_ = std::min(kept_, depth);
  level_ends_.resize(depth + 1);
  levels_.resize(level_ends_.back());
  while (!pending_.empty() && pending_.back().depth == depth &&
         ranks_[profile_.stacks[pending_.back().stack].frame.index] == rank) {
    levels_.push_back(pending_.back().stack);
    pending_.pop_back();
  }
  level_ends_.push_back(levels_.size());
  list_pending(depth + 1);
}

// The own values of what is in the path; false when there are none.
bool StackRows::take_values() {
  std::fill(values_.begin(), values_.end(), 0);
  bool any = false;
  for (const StackId stack : stacks(depth())) {
    any = any || touched_[stack.index];
    const std::span<const int64_t> more = profile_.values(stack);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!add_to(values_[i], more[i], profile_.types[i].unit))
        throw Error("a sum of values leaves the range of 64 bits; the profile cannot be right");
    }
  }
  return any;
}

bool StackRows::next() {
  kept_ = depth();
  if (!begun_) {
    begun_ = true;
    if (take_values()) return true;  // of the stack without a frame
  }
  while (!pending_.empty()) {
    enter();
    if (take_values()) return true;
  }
  return false;
}

}  // namespace memflame
