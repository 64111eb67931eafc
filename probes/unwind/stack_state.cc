// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/stack_state.h"

namespace memflame::unwind {
namespace {

constexpr int64_t word = 8, max_words = INT16_MAX;
constexpr row bad_row{0, 0, row_bad, 0};

// `words` minus `bytes`; nothing if that is not a whole number of words, or is far too large.
std::optional<int32_t> less(std::optional<int32_t> words, int64_t bytes) {
  if (!words || bytes % word != 0 || bytes / word > max_words || bytes / word < -max_words)
    return std::nullopt;
  const int64_t left = *words - bytes / word;
  if (left > max_words || left < -max_words) return std::nullopt;
  return static_cast<int32_t>(left);
}

bool meet_saved(StackState::Saved& a, const StackState::Saved& b) {
  const StackState::Saved both{a.slot == b.slot ? a.slot : 0, a.intact && b.intact};
  if (both == a) return false;
  a = both;
  return true;
}

template <typename T>
bool meet_known(std::optional<T>& a, const std::optional<T>& b) {
  if (a == b || !a) return false;
  a.reset();
  return true;
}

void pushed(StackState::Saved& saved, std::optional<int32_t> words) {
  if (saved.intact && saved.slot == 0 && words) saved.slot = *words;
}

}  // namespace

// Slots below rsp are lost, and so is the return address once rsp is above it.
void StackState::set_height(std::optional<int32_t> height) {
  words = height;
  if (!words) return;
  for (Saved* saved : {&rbp, &rbx})
    if (saved->slot > *words) saved->slot = 0;
  if (*words > 0 || (*words == 0 && holder != no_register)) return;
  words.reset();
  framed.reset();
}

void StackState::move(const StackEffect& effect) {
  const auto with = [&](uint8_t number) -> Saved* {
    return number == number_rbp ? &rbp : number == number_rbx ? &rbx : nullptr;
  };
  switch (effect.kind) {
    case StackEffect::push:
      if (words == 0 && effect.reg != holder) return set_height(-1);
      set_height(less(words, -effect.amount));
      holder = no_register;
      if (Saved* saved = with(effect.reg)) pushed(*saved, words);
      return;
    case StackEffect::pop: {
      Saved* saved = with(effect.reg);
      const bool restores = saved != nullptr && saved->slot != 0 && words == saved->slot;
      // A copy in rax does not count: system calls write rax.
      if (words == 1 && effect.reg != 0) holder = effect.reg;
      set_height(words == 0 ? std::optional(-1) : less(words, effect.amount));
      if (restores) *saved = {};
      return;
    }
    case StackEffect::add:
      return set_height(less(words, effect.amount));
    case StackEffect::from_rbp:
      return set_height(less(framed, effect.amount));
    case StackEffect::restore: {
      const bool restores = rbp.slot != 0 && framed == rbp.slot;
      set_height(less(framed, word));
      rbp = restores ? Saved{} : Saved{rbp.slot, false};
      framed.reset();
      return;
    }
    case StackEffect::unknown_stack:
      return set_height(std::nullopt);
    case StackEffect::none:
    case StackEffect::frame_base:
      return;
  }
}

void StackState::apply(const StackEffect& effect) {
  const bool written[] = {(effect.written >> number_rbp & 1) != 0,
                          (effect.written >> number_rbx & 1) != 0};
  if (effect.kind == StackEffect::restore) return move(effect);
  if (holder != no_register && (effect.written >> holder & 1) != 0) holder = no_register;
  if (words == 0 && (holder == no_register || effect.flow == StackEffect::call)) set_height(-1);
  if (written[0]) rbp.intact = false;
  if (written[1]) rbx.intact = false;
  move(effect);
  if (!written[0]) return;
  framed = effect.kind == StackEffect::frame_base ? less(words, effect.amount) : std::nullopt;
}

bool StackState::meet(const StackState& other) {
  bool changed = meet_known(words, other.words);
  changed |= meet_known(framed, other.framed);
  changed |= meet_saved(rbp, other.rbp);
  changed |= meet_saved(rbx, other.rbx);
  if (holder != other.holder && holder != no_register) {
    holder = no_register;
    changed = true;
  }
  if (outermost == other.outermost) return changed;
  // The stack begins here on one path, but not on the other.
  changed |= words || framed || outermost;
  words.reset();
  framed.reset();
  outermost = false;
  return changed;
}

row StackState::rule() const {
  if (outermost) return {0, 0, row_end, 0};
  if (rbp.slot > UINT8_MAX || (rbp.slot == 0 && !rbp.intact)) return bad_row;
  const unsigned rbx_slot = rbx.slot >= row_rbx_lost || (rbx.slot == 0 && !rbx.intact)
                                ? unsigned{row_rbx_lost}
                                : static_cast<unsigned>(rbx.slot);
  const std::optional<int32_t> cfa = words ? words : framed;
  if (!cfa || *cfa < 1) return bad_row;
  return {0, static_cast<row_u16>(*cfa),
          static_cast<row_u8>((words ? row_rsp : row_rbp) | rbx_slot << 4),
          static_cast<row_u8>(rbp.slot)};
}

}  // namespace memflame::unwind
