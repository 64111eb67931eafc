// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What floor.cc and floor.bpf.c share.
#pragma once

enum floor_function { floor_malloc, floor_calloc, floor_realloc, floor_free, floor_functions };

struct floor_record {
  unsigned long long address, size, stack, time;
};
