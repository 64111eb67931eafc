"""bpftrace: malloc of a small program in maps of stacks, as text and as JSON, against a map of the
same script that has no keys."""

import re
import subprocess

PACKAGES = ["bpftrace", "gcc"]

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
void* blocks[64];
__attribute__((noinline)) void leaf(int n) { blocks[n % 64] = malloc(n); __asm__(""); }
__attribute__((noinline)) void one(int n) { leaf(n); __asm__(""); }
__attribute__((noinline)) void two(int n) { leaf(2 * n); leaf(n); __asm__(""); }
int main() {
  sleep(6);  // until bpftrace has attached
  for (int i = 1; i <= 500; ++i) { one(100 + i % 7); two(10); }
  sleep(60);  // bpftrace looks for names while it prints
}
"""

SCRIPT = """
uprobe:LIBC:malloc /pid == $1/ {
  @bytes[ustack] = sum(arg0);
  @calls[kstack, ustack, comm] = count();
  @perf[comm, ustack(perf), pid] = count();
  @stats[ustack] = stats(arg0);
  @hist[ustack] = hist(arg0);
  @freed[ustack] = sum(-arg0);
  @all = sum(arg0);
  @times = count();
}
interval:s:12 { exit(); }
"""


def check(work):
    program = work.compile("mallocs", PROGRAM, language="c",
                           flags=("-g", "-O1", "-fno-omit-frame-pointer",
                                  "-fno-optimize-sibling-calls"))
    libc = re.search(r"libc\.so\.6 => (\S+)", work.run(["ldd", program])[0]).group(1)
    script = work.write("script.bt", SCRIPT.replace("LIBC", libc))
    for form in ("text", "json"):
        name = "maps." + form
        # Not with -c: it ends the program before it prints, and names are lost with it.
        with subprocess.Popen([program]) as running:
            try:
                output, error = work.run(["bpftrace", "-f", form, script, str(running.pid)],
                                         check=False)
            finally:
                running.kill()
        work.write(name, output)
        found = re.search(r'@all(?:: |": )(-?\d+)', output)
        if not found:
            work.skip("bpftrace could not trace malloc: " + error.strip().splitlines()[-1])
            return
        total = int(found.group(1))
        times = int(re.search(r'@times(?:: |": )(-?\d+)', output).group(1))
        got = work.totals(name)
        for column, figure in (("bytes", total), ("calls", times), ("perf", times),
                               ("stats.total", total), ("stats.count", times), ("hist", times),
                               ("freed", -total)):
            if "@" + column.split(".")[0] not in output:
                work.skip(f"{form}: bpftrace did not print @{column} this time")
                continue
            work.same(f"{form}: @{column}", got[column], figure)
        # The caller of malloc is missing in user stacks: malloc has no frame yet where it is probed.
        below = [line.rsplit(" ", 1)[1] for line in work.collapse(name) if ";main;two;" in line]
        work.same(f"{form}: bytes below main;two", sum(map(int, below)), 500 * (20 + 10))
