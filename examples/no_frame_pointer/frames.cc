// SPDX-License-Identifier: BSD-2-Clause
// Frames of all kinds: deep recursion, variable size, realigned, in functions that never return,
// and by hand.
#include <alloca.h>

#include <csetjmp>
#include <cstring>

#include "examples/no_frame_pointer/by_hand.h"
#include "examples/no_frame_pointer/sites.h"

namespace chain {

OWN_FRAME void bottom_of_300() { event(); }
OWN_FRAME void bottom_of_900() { event(); }
OWN_FRAME void descends(int levels, void (*bottom)()) {
  if (levels > 1)
    descends(levels - 1, bottom);
  else
    bottom();
  keep();
}
OWN_FRAME void descends_300() {
  descends(300, bottom_of_300);
  keep();
}
OWN_FRAME void descends_900() {
  descends(900, bottom_of_900);
  keep();
}

// The frame's size is known only at run time, so its start is kept in rbp.
OWN_FRAME void under_variable_frame(char* block, size_t size) {
  event();
  std::memset(block, 1, size);
}
OWN_FRAME void has_variable_frame(size_t size) {
  char* const block = static_cast<char*>(alloca(size));
  under_variable_frame(block, size);
  keep(block);
}
OWN_FRAME void calls_variable_frame() {
  for (size_t size = 64; size <= 4096; size *= 4) has_variable_frame(size);
  keep();
}

// The stack is aligned more strictly than by its callers, and arguments lie on it: their address is
// kept in a register, and in the frame (DW_CFA_def_cfa_expression).
struct alignas(64) Line {
  char bytes[64];
};
OWN_FRAME void under_realigned(Line& line) {
  event();
  keep(&line);
}
OWN_FRAME long is_realigned(long a, long b, long c, long d, long e, long f, long g, long h) {
  Line line{};
  keep(alloca(static_cast<size_t>(a) * 100));
  under_realigned(line);
  return a + b + c + d + e + f + g + h + line.bytes[3];
}
OWN_FRAME void calls_realigned() {
  volatile long sum = is_realigned(1, 2, 3, 4, 5, 6, 7, 8);
  sum = sum + 1;
}

// The return address lies past the end of the calling function.
std::jmp_buf way_out;
[[noreturn]] OWN_FRAME void never_returns() {
  event();
  std::longjmp(way_out, 1);
}
OWN_FRAME void is_left() { never_returns(); }
OWN_FRAME void is_jumped_to() {
  if (setjmp(way_out) == 0) is_left();
  keep();
}

// Assembly with a frame pointer, without unwind information.
OWN_FRAME void under_assembly() { event(); }
OWN_FRAME void calls_assembly() {
  by_hand_with_frame_pointer(under_assembly);
  keep();
}

namespace {
constexpr Site list[] = {
    {"chain::bottom_of_300()",
     "300 x chain::descends(int, void (*)());chain::descends_300()" TO_MAIN, descends_300, 1},
    {"chain::bottom_of_900()",
     "900 x chain::descends(int, void (*)());chain::descends_900()" TO_MAIN, descends_900, 1},
    {"chain::under_variable_frame(char*, unsigned long)",
     "chain::has_variable_frame(unsigned long);chain::calls_variable_frame()" TO_MAIN,
     calls_variable_frame, 4},
    {"chain::under_realigned(chain::Line&)",
     "chain::is_realigned(long, long, long, long, long, long, long, long);"
     "chain::calls_realigned()" TO_MAIN,
     calls_realigned, 1},
    {"chain::never_returns()", "chain::is_left();chain::is_jumped_to()" TO_MAIN, is_jumped_to, 1},
    {"chain::under_assembly()", "by_hand_with_frame_pointer;chain::calls_assembly()" TO_MAIN,
     calls_assembly, 1},
};
}  // namespace

std::span<const Site> frame_sites() { return list; }

}  // namespace chain
