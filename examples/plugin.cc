// SPDX-License-Identifier: BSD-2-Clause
// A library for loader, built twice with different NAME and SIZE: the same address means different
// code in each.
#include "examples/chains/event.h"

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)

namespace chain {

OWN_FRAME void JOIN(NAME, _pads)() {
  for (int i = 0; i < SIZE; ++i) {
    char block[SIZE * 16];
    keep(block);
  }
}

OWN_FRAME void JOIN(NAME, _inner)() { event(); }
OWN_FRAME void JOIN(NAME, _outer)() {
  char frame[SIZE * 8];
  keep(frame);
  JOIN(NAME, _inner)();
  keep(frame);
}
OWN_FRAME void JOIN(NAME, _calls_back)(char* (*back)(char*)) {
  char frame[SIZE * 24];
  keep(frame);
  fresh_page = back(fresh_page);
  keep(frame);
}

}  // namespace chain

// The function for dlsym(). Returns the page that was not written to yet.
extern "C" __attribute__((visibility("default"))) OWN_FRAME char* run_plugin(chain::Kind wanted,
                                                                             char* page,
                                                                             char* (*back)(char*)) {
  chain::kind = wanted;
  chain::fresh_page = page;
  chain::JOIN(NAME, _pads)();
  chain::JOIN(NAME, _outer)();
  chain::JOIN(NAME, _calls_back)(back);
  chain::keep();
  return chain::fresh_page;
}
