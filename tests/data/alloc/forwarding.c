// SPDX-License-Identifier: BSD-2-Clause
// Operator new and delete as a C++ library has them: made of malloc and free of another file.
#include <stdlib.h>

void* _Znwm(size_t size) {
  void* block = malloc(size == 0 ? 1 : size);
  if (block == NULL) abort();
  return block;
}
void _ZdlPv(void* block) { free(block); }
