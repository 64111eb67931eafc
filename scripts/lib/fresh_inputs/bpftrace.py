# SPDX-License-Identifier: BSD-2-Clause
"""bpftrace: malloc of a small program in maps of stacks, as text and as JSON, against a map of the
same script that has no keys."""

import re
import subprocess

PACKAGES = ["bpftrace", "gcc"]

PROGRAM = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
void go(int signal) { (void)signal; }
void* blocks[64];
__attribute__((noinline)) void leaf(int n) { blocks[n % 64] = malloc(n); __asm__(""); }
__attribute__((noinline)) void one(int n) { leaf(n); __asm__(""); }
__attribute__((noinline)) void two(int n) { leaf(2 * n); leaf(n); __asm__(""); }
int main() {
  signal(SIGUSR1, go);
  pause();  // until bpftrace has attached
  for (int i = 1; i <= 500; ++i) { one(100 + i % 7); two(10); }
  for (;;) pause();  // bpftrace looks for names while it prints
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
interval:s:1 { system("kill -USR1 %d", $1); }
interval:s:6 { exit(); }
"""
MAPS = re.findall(r"@(\w+)", SCRIPT)


ATTEMPTS = 4  # bpftrace leaves maps out now and then, in JSON more often


def trace(work, program, script, form):
    """What bpftrace prints, and what it says beside that; with all maps if one attempt has them."""
    for _ in range(ATTEMPTS):
        # Not with -c: it ends the program before it prints, and names are lost with it.
        with subprocess.Popen([program]) as running:
            try:
                output, error = work.run(["bpftrace", "--unsafe", "-f", form, script, str(running.pid)],
                                         check=False)
            finally:
                running.kill()
        if not output.strip() or all("@" + name in output for name in MAPS):
            break
    return output, error


def check(work):
    program = work.compile("mallocs", PROGRAM, language="c",
                           flags=("-g", "-O1", "-fno-omit-frame-pointer",
                                  "-fno-optimize-sibling-calls"))
    libc = re.search(r"libc\.so\.6 => (\S+)", work.run(["ldd", program])[0]).group(1)
    script = work.write("script.bt", SCRIPT.replace("LIBC", libc))
    for form in ("text", "json"):
        name = "maps." + form
        output, error = trace(work, program, script, form)
        work.write(name, output)
        missing = [name for name in MAPS if "@" + name not in output]
        if missing:
            work.skip(f"{form}: bpftrace did not print @{', @'.join(missing)}: " +
                      (error.strip().splitlines() or ["it says nothing"])[-1])
            continue
        total = int(re.search(r'@all(?:: |": )(-?\d+)', output).group(1))
        times = int(re.search(r'@times(?:: |": )(-?\d+)', output).group(1))
        got = work.totals(name)
        for column, figure in (("bytes", total), ("calls", times), ("perf", times),
                               ("stats.total", total), ("stats.count", times), ("hist", times),
                               ("freed", -total)):
            work.same(f"{form}: @{column}", got[column], figure)
        # The caller of malloc is missing in user stacks: malloc has no frame yet where it is probed.
        below = [line.rsplit(" ", 1)[1] for line in work.collapse(name) if ";main;two;" in line]
        work.same(f"{form}: bytes below main;two", sum(map(int, below)), 500 * (20 + 10))
