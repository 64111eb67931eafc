// SPDX-License-Identifier: BSD-2-Clause
// Events from functions compiled as in distributions: no frame pointers, tail calls turned into
// jumps. For every site of an event the program states the exact chain of callers.
//
//   no_frame_pointer alloc|brk|mmap|fault|large [ROUNDS] [gap] [--wait]
//
// With "gap" the events come from below a function without unwind information and frame pointer.
#include <cstdlib>
#include <cstring>

#include "examples/no_frame_pointer/by_hand.h"
#include "examples/no_frame_pointer/prepare.h"
#include "examples/no_frame_pointer/sites.h"
#include "examples/truth/report.h"

namespace chain {

OWN_FRAME void under_gap() { event(); }
OWN_FRAME void calls_gap() {
  by_hand_without_anything(under_gap);
  keep();
}

namespace {

// Frames above the gap are known, those below are not.
constexpr Site gap_sites[] = {{"chain::under_gap()", "by_hand_without_anything", calls_gap, 1}};

std::span<const Site> gap() { return gap_sites; }

using Sites = std::span<const Site> (*)();
constexpr Sites all[] = {call_sites,   frame_sites, exception_sites, coroutine_sites,
                         signal_sites, tick_sites,  switch_sites};
constexpr Sites only_gap[] = {gap};

std::span<const Sites> lists = all;

}  // namespace

OWN_FRAME void one_round() {
  renew_pages();
  for (const Sites sites : lists)
    for (const Site& site : sites())
      if (site.run != nullptr) site.run();
}

}  // namespace chain

int main(int argc, char** argv) {
  using namespace chain;
  if (argc < 2) truth::fail("the first argument says what happens");
  const Kind wanted = kind_named(argv[1]);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): a word is not a number
  if (rounds <= 0) rounds = 1;
  for (int i = 2; i < argc; ++i)
    if (std::strcmp(argv[i], "gap") == 0) lists = only_gap;

  prepare_signals();
  prepare_ticks();
  choose(Kind::none);
  one_round();  // so that whatever happens once has happened
  choose(wanted);
  truth::begin(argc, argv);
  for (int i = 0; i < rounds; ++i) one_round();
  for (const Sites sites : lists)
    for (const Site& site : sites()) state(site.leaf, site.callers, site.events * rounds);
  return truth::end();
}
