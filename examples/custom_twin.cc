// SPDX-License-Identifier: BSD-2-Clause
// The other function of the name custom_twin in this library.
#include "examples/custom_pairs.h"

extern "C" {

[[gnu::noinline, gnu::used]] static void* custom_twin(size_t size) {
  return custom_alloc(2 * size);
}

void* custom_call_other_twin(size_t size) {
  void* block = custom_twin(size);
  custom_counter += block != nullptr ? 1 : 0;
  return block;
}

}  // extern "C"
