# SPDX-License-Identifier: BSD-2-Clause
"""Stacks go through musl's own code, which has no unwind information: callbacks, signal handlers, threads,
system calls. All are complete, and agree with the program's own figures and with gdb."""
import os
import re
import shutil
import subprocess
import sys

from lib import Memflame, check, equal, path

if not shutil.which("musl-gcc"):
    print("SKIPPED: no musl-gcc")
    sys.exit(77)

# Exactly one path leads from a thread's start to each function that allocates.
SOURCE = r"""
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
enum { rounds = 50, page = 4096, huge = 1 << 20 };
void *volatile kept;
APART void take(void) { kept = malloc(100); free(kept); __asm__ volatile(""); }
APART void touch(void) {
  char *pages = mmap(0, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; ++i) *(volatile char *)(pages + i * page) = 1;
  munmap(pages, 4 * page);
  __asm__ volatile("");
}
APART void large(void) {
  char *block = malloc(huge);
  block[0] = 1;
  kept = block;
  free(block);
  __asm__ volatile("");
}
APART void work(void) { take(); touch(); large(); __asm__ volatile(""); }
APART int compared(const void *a, const void *b) { work(); return *(const int *)a - *(const int *)b; }
APART void visited(const void *node, VISIT visit, int depth) {
  if (visit == leaf || visit == postorder) work();
}
APART void handled(int number) { work(); __asm__ volatile(""); }
APART void *threaded(void *unused) { for (int i = 0; i < rounds; ++i) work(); return 0; }
APART void ended(void) { work(); __asm__ volatile(""); }
APART void sorts(void) {
  int two[2] = {2, 1};
  for (int i = 0; i < rounds; ++i) qsort(two, 2, sizeof *two, compared);
  __asm__ volatile("");
}
static int by_place(const void *a, const void *b) { return (a > b) - (a < b); }
APART void walks(void) {
  static char nodes[rounds];
  void *root = 0;
  for (int i = 0; i < rounds; ++i) tsearch(nodes + i, &root, by_place);
  twalk(root, visited);
}
APART void raises(void) {
  signal(SIGUSR1, handled);
  for (int i = 0; i < rounds; ++i) raise(SIGUSR1);
  __asm__ volatile("");
}
APART void starts(void) {
  pthread_t thread;
  pthread_create(&thread, 0, threaded, 0);
  pthread_join(thread, 0);
}
APART void alternates(void) {
  static char stack[65536];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = handled, .sa_flags = SA_ONSTACK};
  sigaltstack(&other, 0);
  sigaction(SIGUSR2, &action, 0);
  for (int i = 0; i < rounds; ++i) kill(getpid(), SIGUSR2);
}
int main(void) {
  atexit(ended);
  sorts();
  walks();
  raises();
  alternates();
  starts();
  return 0;
}
"""
ROUNDS = 50
# Paths through the program's functions, outermost first, and how often each occurs.
WAYS = {
    ("main", "sorts", "compared"): None,  # how often qsort compares is its own
    ("main", "walks", "visited"): ROUNDS,
    ("main", "raises", "handled"): ROUNDS,
    ("main", "alternates", "handled"): ROUNDS,
    ("threaded",): ROUNDS,
    ("ended",): 1,
}
OWN = {"main", "sorts", "compared", "walks", "visited", "raises", "handled", "alternates", "starts",
       "threaded", "ended", "work", "take", "touch", "large"}
LEAVES = {"alloc": ("take", "large"), "mmap": ("touch", "large"), "fault": ("touch", "large")}

with open(path("program.c"), "w", encoding="utf-8") as file:
    file.write(SOURCE)


def ways_of(profile, column):
    """{(the program's functions, outermost first): sum}; all other frames belong to musl."""
    index = profile.columns.index(column)
    found = {}
    for frames, values in profile.stacks:
        own = tuple(frame for frame in frames if frame in OWN)
        found[own] = found.get(own, 0) + values[index]
    return found


def observe(probe, name):
    options = ("--value", "total") if probe == "alloc" else ()
    memflame = Memflame(probe, *options, "--", path(name))
    memflame.wait()
    profile, stacks = memflame.profile(), memflame.summary()["stacks"]
    equal(f"{name} {probe}: complete stacks of {stacks['stops']}", stacks["stops"]["complete"],
          stacks["captured"])
    check(stacks["captured"], f"{name} {probe}: no stacks")
    return profile


def compare(probe, name):
    profile = observe(probe, name)
    column = {"alloc": "total-count", "mmap": "calls", "fault": "gained"}[probe]
    found = ways_of(profile, column)
    # Some faults are not the program's own: first touches of code and stacks.
    is_right = int.__ge__ if probe == "fault" else int.__eq__
    sorted_by = set()
    for leaf in LEAVES[probe]:
        each = 4 if leaf == "touch" and probe == "fault" else 1
        for way, times in WAYS.items():
            got = found.get((*way, "work", leaf), 0)
            if times is None:
                check(got >= ROUNDS * each, f"{name} {probe}: {way} {leaf}: {got}")
                sorted_by.add(got)
            else:
                check(is_right(got, times * each), f"{name} {probe}: {way} {leaf}: got {got}, "
                      f"wanted {times * each}")
    check(len(sorted_by) == 1 or probe == "fault", f"{name} {probe}: comparisons: {sorted_by}")
    # No other path leads to these functions.
    for own in found:
        if "work" in own:
            check(own[:own.index("work")] in WAYS, f"{name} {probe}: {own}")


def in_gdb(name):
    """gdb's frames. gdb reads the code, too, but less of it, and is wrong in qsort()."""
    said = subprocess.run(
        ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "handle all nostop noprint pass",
         "-ex", "break take", "-ex", "run", "-ex", "bt", path(name)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?([\w.]+)", said, re.MULTILINE)


# Debian 12's musl-gcc makes a dynamic program of -static-pie.
START = [f"/usr/lib/{os.uname().machine}-linux-musl/{name}" for name in ("rcrt1.o", "crti.o", "crtn.o")]
RELOCATES = ("-static", "-fPIE", "-nostartfiles", "-Wl,-pie,--no-dynamic-linker", *START[:2])
for name, flags in (("dynamic", ()), ("static", ("-static",)), ("static_pie", RELOCATES)):
    subprocess.run(["musl-gcc", "-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", *flags, path("program.c"),
                    *(START[2:] if name == "static_pie" else ()), "-o", path(name)], check=True)
    for probe in ("alloc", "mmap", "fault") if name == "dynamic" else ("mmap", "fault"):
        compare(probe, name)
    if shutil.which("gdb"):
        wanted = ["take", "work", "compared", "sorts", "main"]
        seen = [frame for frame in in_gdb(name) if frame in OWN]
        check(len(seen) >= 3 and seen == wanted[:len(seen)], f"{name}: gdb's frames: {seen}")

# Without symbols, calls in the program's own code, which is described, show where functions begin.
shutil.copy(path("static"), path("stripped"))
subprocess.run(["strip", "-s", path("stripped")], check=True)
equal("calls of mmap, stripped", observe("mmap", "stripped").sum("calls"), observe("mmap", "static").sum("calls"))
