# SPDX-License-Identifier: BSD-2-Clause
"""The program that the heap profilers watch: what it keeps is known to the byte."""

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

static void* kept[300000];
static size_t count;

__attribute__((noinline)) void keep_small(int n) {
  for (int i = 0; i < n; ++i) { kept[count] = malloc(64); memset(kept[count++], 1, 64); }
}
__attribute__((noinline)) void keep_large(int n) {
  for (int i = 0; i < n; ++i) { kept[count] = malloc(10000); memset(kept[count++], 1, 10000); }
}
__attribute__((noinline)) void churn(int n) {
  for (int i = 0; i < n; ++i) { void* p = malloc(3000); asm volatile("" : : "r"(p) : "memory"); free(p); }
}
static void* work(void*) { churn(5000); keep_large(100); return nullptr; }

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  pthread_join(thread, nullptr);
  keep_small(200000);
  keep_large(2000);
  churn(10000);
}
"""

KEPT_SMALL = 200000 * 64
KEPT_LARGE = 2100 * 10000
CHURNED = 15000 * 3000


def library(work, name):
    """Path of a shared library by its file name."""
    lines, _ = work.run(["ldconfig", "-p"])
    for line in lines.splitlines():
        if line.split() and line.split()[0] == name:
            return line.split()[-1]
    return None


def of_function(work, name, function, value, *options):
    """Sum of the stacks with a frame of that name."""
    rows = work.collapse(name, "--value", value, *options)
    return sum(int(row.rsplit(" ", 1)[1]) for row in rows
               if any(frame.startswith(function + "(") or frame == function
                      for frame in row.rsplit(" ", 1)[0].split(";")))
