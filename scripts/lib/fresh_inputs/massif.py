# SPDX-License-Identifier: BSD-2-Clause
"""valgrind --tool=massif; ms_print lists the snapshots."""

import re

PACKAGES = ["valgrind"]

SOURCE = """
#include <stdlib.h>
static void* volatile kept[64];
__attribute__((noinline)) void leak(int n, int at) {
  for (int i = 0; i < n; i++) kept[at + i] = malloc(1000);
}
__attribute__((noinline)) void peak(int n) {
  void* volatile all[60];
  for (int i = 0; i < n; i++) all[i] = malloc(2000);
  for (int i = 0; i < n; i++) free(all[i]);
}
int main(void) {
  leak(7, 0);
  peak(60);
  leak(3, 7);
  kept[60] = realloc(calloc(10, 10), 5000);
  peak(50);
}
"""


def snapshots(work, name):
    """ms_print's table: number -> bytes of useful heap; and the number of the peak."""
    text, _ = work.run(["ms_print", work.path(name)])
    number = r"([\d,]+)"
    rows = re.findall(r"^ +(\d+) +" + " +".join([number] * 5) + " *$", text, re.MULTILINE)
    peak = re.search(r"(\d+) \(peak\)", text)
    return {int(row[0]): int(row[3].replace(",", "")) for row in rows}, int(peak[1])


def check(work):
    program = work.compile("allocates", SOURCE, language="c")
    for name, *options in (("heap",), ("pages", "--pages-as-heap=yes"), ("stacks", "--stacks=yes")):
        work.run(["valgrind", "--tool=massif", f"--massif-out-file={name}.out", *options, program])
        known, peak = snapshots(work, name + ".out")
        work.same(f"{name}: the peak", work.total(name + ".out", "heap"), known[peak])
        last = max(known)
        work.same(f"{name}: the last snapshot",
                  work.total(name + ".out", "heap", "--snapshot", str(last)), known[last])
        work.same(f"{name}: from the peak to the last",
                  work.total(name + ".out", "heap", "--snapshot", f"{peak}..{last}"),
                  known[last] - known[peak])
