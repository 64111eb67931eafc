// SPDX-License-Identifier: BSD-2-Clause
// Rows, code lists and stacks that a hostile program brings about, in the agent's own code.
#include <algorithm>
#include <cstddef>

#include "tests/probes/inside/agent/hostile.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): a program of its own
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FakeProcess process;
  size_t at = 0;
  // A number takes as many bytes as its limit needs.
  Hostile hostile(process, [&](uint64_t limit) {
    uint64_t number = 0;
    for (uint64_t most = limit - 1; most != 0 && at < size; most >>= 8)
      number = number << 8 | data[at++];
    return limit == 0 ? 0 : number % limit;
  });
  hostile.run();
  return 0;
}
