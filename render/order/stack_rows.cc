// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/stack_rows.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/hash.h"
#include "core/hash_index.h"
#include "core/together.h"
#include "render/order/name_order.h"
#include "render/order/ordered_stacks.h"

namespace memflame {
namespace {

// Equal names have one rank. Many frames share the text of their name, which is compared once.
std::vector<uint32_t> ranks_of(std::span<const std::string_view> names) {
  std::vector<std::string_view> texts(1);
  std::vector<uint32_t> text_of(names.size());
  HashIndex known;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    const uint64_t hash = mix(reinterpret_cast<uintptr_t>(name.data()), name.size());
    const auto same = [&](uint32_t text) {
      return texts[text].data() == name.data() && texts[text].size() == name.size();
    };
    text_of[i] = known.find(hash, same);
    if (text_of[i] != 0) continue;
    text_of[i] = static_cast<uint32_t>(texts.size());
    known.insert(hash, text_of[i]);
    texts.push_back(name);
  }
  const std::vector<uint32_t> order = name_order(texts);
  std::vector<uint32_t> ranks(texts.size());
  uint32_t rank = 0;
  for (size_t i = 1; i < order.size(); ++i)
    ranks[order[i]] = rank += texts[order[i]] == texts[order[i - 1]] ? 0U : 1U;
  for (uint32_t& text : text_of) text = ranks[text];
  return text_of;
}

}  // namespace

StackOrder::StackOrder(const Profile& profile, std::span<const std::string_view> names,
                       unsigned threads)
    : profile_(profile), names_(names) {
  const auto follow_tree = [this] {
    touched_ = touched_stacks(profile_);
    list_callees();
    weigh();
  };
  together(
      threads, [this] { ranks_ = ranks_of(names_); }, follow_tree);
}

// Lists the callees of all stacks, grouped by caller.
void StackOrder::list_callees() {
  const auto count = static_cast<uint32_t>(profile_.stacks.size());
  const auto caller = [&](uint32_t i) { return profile_.stacks[StackId{i}].caller.index; };
  first_.assign(count + 1, 0);
  for (uint32_t i = 1; i < count; ++i) ++first_[caller(i)];
  // From the last to the first, so that first_[] ends up at the beginnings.
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  callees_.resize(first_.back());
  for (uint32_t i = count; i-- > 1;) callees_[--first_[caller(i)]] = i;
}

// Callers have smaller ids than callees (see StackTable), so one reverse pass is enough.
void StackOrder::weigh() {
  weights_.assign(size(), 1);
  for (auto i = static_cast<uint32_t>(size()); i-- > 1;)
    weights_[profile_.stacks[StackId{i}].caller.index] += weights_[i];
}

StackRows::StackRows(std::shared_ptr<const StackOrder> order, char separator)
    : order_(std::move(order)), separator_(separator), values_(order_->profile_.types.size()) {
  levels_.emplace_back();
  level_ends_.push_back(1);
}

// Adds the callees of the stacks at a depth to pending_, in reverse order: the next one is the
// last.
void StackRows::list_pending(size_t depth) {
  const std::vector<uint32_t>& first = order_->first_;
  const size_t begin = pending_.size();
  for (const StackId stack : stacks(depth))
    for (uint32_t i = first[stack.index]; i < first[stack.index + 1]; ++i)
      pending_.push_back({StackId{order_->callees_[i]}, static_cast<uint32_t>(depth)});
  std::sort(pending_.begin() + static_cast<ptrdiff_t>(begin), pending_.end(),
            [&](const Pending& a, const Pending& b) { return rank(a.stack) > rank(b.stack); });
  if (pending_.empty()) return;
  // Names are in the cache when they are written: the stacks that are written soon after this one
  // mostly come after it in the tree, too.
  constexpr uint32_t texts_ahead = 4, names_ahead = 8;
  const auto last = static_cast<uint32_t>(order_->size() - 1);
  const auto after = [&](uint32_t count) {
    return frame(StackId{std::min(pending_.back().stack.index + count, last)}).index;
  };
  __builtin_prefetch(order_->names_[after(texts_ahead)].data());
  const uint32_t far = after(names_ahead);
  __builtin_prefetch(&order_->names_[far]);
  __builtin_prefetch(&order_->ranks_[far]);
}

std::span<const StackId> StackRows::stacks(size_t depth) const {
  const size_t begin = depth == 0 ? 0 : level_ends_[depth - 1];
  return std::span(levels_).subspan(begin, level_ends_[depth] - begin);
}

// The stacks that are entered or skipped together: those that read the same.
std::span<const StackRows::Pending> StackRows::upcoming() const {
  const Pending& last = pending_.back();
  const uint32_t last_rank = rank(last.stack);
  size_t begin = pending_.size() - 1;
  while (begin > 0 && pending_[begin - 1].depth == last.depth &&
         rank(pending_[begin - 1].stack) == last_rank)
    --begin;
  return std::span(pending_).subspan(begin);
}

void StackRows::skip() { pending_.resize(pending_.size() - upcoming().size()); }

// Adds a frame to the path, or replaces the last one.
void StackRows::enter() {
  const std::span<const Pending> stacks = upcoming();
  const size_t depth = stacks.front().depth;  // frames before this one
  ends_.resize(depth);
  path_.resize(depth == 0 ? 0 : ends_.back());
  if (depth != 0) path_ += separator_;
  path_ += order_->names_[frame(stacks.front().stack).index];
  ends_.push_back(path_.size());
  kept_ = std::min(kept_, depth);
  level_ends_.resize(depth + 1);
  levels_.resize(level_ends_.back());
  for (const Pending& pending : stacks) levels_.push_back(pending.stack);
  level_ends_.push_back(levels_.size());
  pending_.resize(pending_.size() - stacks.size());
  list_pending(depth + 1);
}

// The own values of the stacks in the path; false if there are none.
bool StackRows::take_values() {
  std::fill(values_.begin(), values_.end(), 0);
  bool any = false;
  for (const StackId stack : stacks(depth())) {
    if (!order_->touched_[stack.index]) continue;
    any = true;
    const std::span<const int64_t> more = order_->profile_.values(stack);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!add_to(values_[i], more[i], order_->profile_.types[i].unit))
        throw Error("a sum of values leaves the range of 64 bits; the profile cannot be right");
    }
  }
  return any;
}

bool StackRows::next_in(size_t begin, size_t end) {
  kept_ = depth();
  if (place_ == 0 && end != 0) {
    ++place_;
    list_pending(0);
    if (begin == 0 && take_values()) return true;  // of the stack without a frame
  }
  while (!pending_.empty() && place_ < end) {
    const size_t place = place_;
    size_t behind = place;
    if (place < begin)
      for (const Pending& pending : upcoming()) behind += order_->weights_[pending.stack.index];
    if (place < begin && behind <= begin) {
      place_ = behind;
      skip();
      continue;
    }
    place_ += upcoming().size();
    enter();
    if (place >= begin && take_values()) return true;
  }
  return false;
}

}  // namespace memflame
