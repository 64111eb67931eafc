// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/copied_stack.h"

#include <algorithm>
#include <cstring>

#include "core/units.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {
namespace {

using namespace bpf;  // NOLINT(google-build-using-namespace): the words of step.h

struct Reading;
long read_copy(Reading* reading, void* to, size_t size, uint64_t address);
uint64_t true_return(const Reading* reading, uint64_t slot, uint64_t address);

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what step.h asks for
#define UNWIND_READ(frame, to, size, address) \
  read_copy(reinterpret_cast<Reading*>(frame), to, size, address)
#define UNWIND_RETURN(frame, slot, value) \
  true_return(reinterpret_cast<const Reading*>(frame), slot, value)
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/unwind/step.h"

struct Reading {
  frame at{};  // first, as step.h knows only this
  const CopiedStack* stack = nullptr;
  bool ended = false;  // a read went beyond the copy
};

long read_copy(Reading* reading, void* to, size_t size, uint64_t address) {
  const CopiedStack& stack = *reading->stack;
  const uint64_t offset = address - stack.sp;
  if (address < stack.sp || offset > stack.memory.size() || size > stack.memory.size() - offset) {
    reading->ended = address >= stack.sp;
    return -1;
  }
  const uint64_t page = address / page_bytes - stack.sp / page_bytes;
  const uint64_t last = (address + size - 1) / page_bytes - stack.sp / page_bytes;
  if (((stack.missing >> page | stack.missing >> last) & 1) != 0) return -1;
  std::memcpy(to, stack.memory.data() + offset, size);
  return 0;
}

uint64_t true_return(const Reading* reading, uint64_t slot, uint64_t address) {
  for (const CopiedStack::Pending& pending : reading->stack->pending)
    if (pending.slot == slot) address = pending.address;
  return address;
}

// Puts the functions of interpreters between native frames, as take_frame() of bpf/user_stack.h
// does.
class Placing {
 public:
  Placing(const CopiedStack& stack, std::vector<Pc>& pcs) : stack_(stack), pcs_(pcs) {}

  // The last frame of `pcs` has the stack between these addresses.
  void at(uint64_t sp, uint64_t cfa) {
    if (stack_.language == language_php) {
      const Pc& last = pcs_.back();
      if (is_php_loop(&stack_.loop, last.addr, last.is_return ? 0 : 1) == 0) return;
      ++loops_;
      if (!next()) return;
    } else if (!next() || *next() < sp || *next() >= cfa) {
      return;
    }
    const Pc loop = pcs_.back();
    pcs_.pop_back();
    ++next_;
    for (; next() && script_language(*next()) != language_none; ++next_)
      pcs_.push_back({*next(), false});
    pcs_.push_back(loop);
  }
  // Marks a stack whose functions are not all here. `made_code`: it has frames of such code.
  bool mark(uint32_t stop, bool made_code) {
    const script_end end = stack_.scripts_end;
    if (is_met_by_frame(stack_.language) != 0) {
      if (made_code) pcs_.push_back({script_word(stack_.language, 0, script_unreadable), false});
      return made_code;
    }
    if (stack_.language == language_php && end != script_none &&
        are_php_loops(end, stack_.runs, loops_, stop == stop_too_deep ? 1 : 0) == 0) {
      std::erase_if(pcs_, [](const Pc& pc) { return script_language(pc.addr) != language_none; });
      pcs_.push_back({script_word(language_php, 0, script_unreadable), false});
      return true;
    }
    const bool left = next() && *next() != 0;
    if (end != script_unreadable && end != script_too_long && (stop != stop_end || !left))
      return false;
    pcs_.push_back({script_word(stack_.language, 0, end), false});
    return true;
  }

 private:
  const uint64_t* next() const {
    return next_ < stack_.scripts.size() ? &stack_.scripts[next_] : nullptr;
  }

  const CopiedStack& stack_;
  std::vector<Pc>& pcs_;
  size_t next_ = 0;
  uint32_t loops_ = 0;  // PHP: those that were met
};

}  // namespace

WalkedStack walk(const CopiedStack& stack, uint32_t max_depth, const FindRow& find) {
  WalkedStack result;
  Reading reading;
  reading.stack = &stack;
  reading.at.ip = stack.ip;
  reading.at.sp = stack.sp;
  reading.at.bp = stack.bp;
  reading.at.bx = stack.bx;
  reading.at.exact = stack.returned ? 0 : 1;
  reading.at.stop = stop_too_deep;
  bool entry = stack.at_entry;
  Placing placing(stack, result.pcs);
  bool made_code = false;
  while (result.pcs.size() < max_depth) {
    FoundRow found;
    found.rule = {.pc = 0, .cfa = 1, .kind = row_rsp, .rbp = 0};
    if (!entry) found = find(row_address(&reading.at));
    entry = false;
    if (found.stop != stop_end) {
      result.unknown = row_address(&reading.at);
      reading.at.stop = reading.at.guessed != 0 ? stop_no_frame_pointer : found.stop;
      if (reading.at.guessed == 0) result.pcs.push_back({reading.at.ip, reading.at.exact == 0});
      break;
    }
    result.pcs.push_back({reading.at.ip, is_exact(&reading.at, found.rule) == 0});
    const uint64_t sp = reading.at.sp;
    if (unwind_step(&reading.at, found.rule) == 0) break;
    made_code = made_code || reading.at.guessed != 0;
    placing.at(sp, reading.at.sp);
    reading.at.stop = stop_too_deep;
  }
  if (reading.at.stop == stop_unreadable && reading.ended) reading.at.stop = stop_copy_ended;
  result.scripts_unread = placing.mark(reading.at.stop, made_code);
  result.stop = static_cast<StopReason>(reading.at.stop);
  return result;
}

}  // namespace memflame::unwind
