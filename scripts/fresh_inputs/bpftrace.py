"""bpftrace: malloc of a small program in maps of stacks, as text and as JSON, against a map of the
same script that has no keys."""

import re

PACKAGES = ["bpftrace", "gcc"]

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
static void* blocks[64];
__attribute__((noinline)) void leaf(int n) { blocks[n % 64] = malloc(n); __asm__(""); }
__attribute__((noinline)) void one(int n) { leaf(n); __asm__(""); }
__attribute__((noinline)) void two(int n) { leaf(2 * n); leaf(n); __asm__(""); }
int main() {
  usleep(300000);
  for (int i = 1; i <= 500; ++i) { one(100 + i % 7); two(10); }
  sleep(20);  // bpftrace looks for names while it prints
}
"""

SCRIPT = """
uprobe:LIBC:malloc /pid == cpid/ {
  @bytes[ustack] = sum(arg0);
  @calls[kstack, ustack, comm] = count();
  @perf[comm, ustack(perf), pid] = count();
  @stats[ustack] = stats(arg0);
  @hist[ustack] = hist(arg0);
  @freed[ustack] = sum(-arg0);
  @all = sum(arg0);
  @times = count();
}
interval:s:4 { exit(); }
"""


def check(work):
    program = work.compile("mallocs", PROGRAM, language="c",
                           flags=("-g", "-O1", "-fno-omit-frame-pointer",
                                  "-fno-optimize-sibling-calls"))
    libc = re.search(r"libc\.so\.6 => (\S+)", work.run(["ldd", program])[0]).group(1)
    script = work.write("script.bt", SCRIPT.replace("LIBC", libc))
    for form in ("text", "json"):
        name = "maps." + form
        output, error = work.run(["bpftrace", "-f", form, "-c", program, script], check=False)
        work.write(name, output)
        found = re.search(r'@all(?:: |": )(-?\d+)', output)
        if not found:
            return work.skip("bpftrace could not trace malloc: " + error.strip().splitlines()[-1])
        total = int(found.group(1))
        times = int(re.search(r'@times(?:: |": )(-?\d+)', output).group(1))
        got = work.totals(name)
        for column, figure in (("bytes", total), ("calls", times), ("perf", times),
                               ("stats.total", total), ("stats.count", times), ("hist", times),
                               ("freed", -total)):
            work.same(f"{form}: @{column}", got[column], figure)
        folded = work.collapse(name)
        work.same(f"{form}: stacks of main;two;leaf", sum(";two;leaf" in line for line in folded), 2)
    return None
