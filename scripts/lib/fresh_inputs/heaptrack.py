# SPDX-License-Identifier: BSD-2-Clause
"""heaptrack: every allocation; heaptrack_print adds them up."""

import re

PACKAGES = ["heaptrack", "zstd"]

SOURCE = """
#include <cstdlib>
#include <string>
#include <vector>
static void* volatile kept[4096];
static int used;
__attribute__((noinline)) void temporary() {
  for (int i = 0; i < 500; ++i) {
    void* volatile p = malloc(100 + i);
    free(p);
  }
}
__attribute__((noinline)) void leak(int n) {
  for (int i = 0; i < n; ++i) kept[used++] = malloc(1000 + i);
}
__attribute__((noinline)) void grow(int n) {
  std::vector<std::string*> all;
  for (int i = 0; i < n; ++i) all.push_back(new std::string(2000, 'x'));
  for (auto* s : all) delete s;
}
int main() {
  temporary();
  leak(70);
  grow(500);
  leak(30);
  kept[used++] = realloc(calloc(10, 10), 5000);
  grow(499);
}
"""


def stacks_total(work, cost, *options):
    """The sum of what heaptrack_print writes for a flame graph: exact, other than its summary."""
    work.run(["heaptrack_print", "-f", "out.zst", "-F", "stacks.txt", "--flamegraph-cost-type", cost,
              *options])
    with open(work.path("stacks.txt"), encoding="utf-8", errors="replace") as file:
        return sum(int(line.rsplit(" ", 1)[1]) for line in file)


def counted_by_mistake(work):
    """heaptrack_print remembers "no last allocation" as 0, which is also the first kind of block: a
    free of that kind counts as temporary when any other free comes before it."""
    text, _ = work.run(["zstd", "-dcq", "out.zst"])
    freed_before, mistakes = True, 0
    for line in text.splitlines():
        if line.startswith("- "):
            mistakes += freed_before and line == "- 0"
            freed_before = True
        elif line.startswith("+ "):
            freed_before = False
    return mistakes


def freed_at_once(work):
    """heaptrack_print only knows that a block of the same size and stack was freed next, maybe another one."""
    text, _ = work.run(["zstd", "-dcq", "raw.raw.zst"])
    last, found = None, 0
    for line in text.splitlines():
        if line.startswith("+ "):
            last = line.split(" ")[3]
        elif line.startswith("- "):
            found += line[2:] == last
            last = None
    return found


def check_raw(work, no_suppressions):
    """A raw file, and what heaptrack_print says of the same run after heaptrack_interpret."""
    interpret = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
    work.run(["sh", "-c", f"zstd -dcq < raw.raw.zst | {interpret} | zstd -qc > out.zst"])
    ours = work.totals("raw.raw.zst")
    summary, _ = work.run(["heaptrack_print", "-f", "out.zst"])
    work.same("raw: calls", ours["total-count"], int(re.search(r"calls to allocation functions: (\d+)", summary)[1]))
    work.same("raw: left, bytes", ours["live"], stacks_total(work, "leaked", *no_suppressions))
    work.same("raw: peak, bytes", work.totals("raw.raw.zst", "--view", "peak")["peak"], stacks_total(work, "peak"))
    work.same("raw: freed by the next call", work.totals("raw.raw.zst", "--view", "transient")["transient-count"],
              freed_at_once(work))


def check(work):
    program = work.compile("allocates", SOURCE)
    work.run(["heaptrack", "-o", work.path("out"), program])
    ours = work.totals("out.zst")
    raw = ["--disable-builtin-suppressions", "--disable-embedded-suppressions"]
    summary, _ = work.run(["heaptrack_print", "-f", "out.zst"])
    calls = int(re.search(r"calls to allocation functions: (\d+)", summary)[1])
    temporary = int(re.search(r"temporary memory allocations: (\d+)", summary)[1])
    work.same("calls", ours["allocations"], calls)
    work.same("temporary", ours["temporary"], temporary - counted_by_mistake(work))
    work.same("left, bytes", ours.get("leaked_all", ours["leaked"]),
              stacks_total(work, "leaked", *raw))
    work.same("left, less what is suppressed", ours["leaked"], stacks_total(work, "leaked"))
    work.same("peak, bytes", ours["peak"], stacks_total(work, "peak"))
    work.run(["heaptrack", "-r", "-o", work.path("raw"), program])
    check_raw(work, raw)
