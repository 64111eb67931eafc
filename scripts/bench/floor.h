// What floor.cc and floor.bpf.c share.
#pragma once

enum floor_function { floor_malloc, floor_calloc, floor_realloc, floor_free, floor_functions };

struct floor_record {
  unsigned long long address, size, stack, time;
};
