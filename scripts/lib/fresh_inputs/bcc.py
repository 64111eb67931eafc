# SPDX-License-Identifier: BSD-2-Clause
"""bcc: memleak and stackcount of a small program. They are compiled when they start and need the
kernel's headers."""

import re
import subprocess

PACKAGES = ["bpfcc-tools", "gcc"]

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
void* kept[400];
void* volatile dropped;
__attribute__((noinline)) void keep(int i) { kept[i] = malloc(100); __asm__(""); }
__attribute__((noinline)) void drop(int i) { dropped = malloc(1000 + i); free(dropped); }
int main() {
  sleep(8);
  for (int i = 0; i < 400; ++i) { keep(i); drop(i); }
  sleep(30);
}
"""


def trace(work, name, program, command, seconds):
    """Output of a tool beside the running program; None when it cannot run."""
    with subprocess.Popen([program]) as running:
        try:
            output, error = work.run(["timeout", "-s", "INT", str(seconds)] +
                                     [str(running.pid) if word == "PID" else word
                                      for word in command], check=False)
        finally:
            running.kill()
    if "Failed to compile BPF" in output + error:
        work.skip(f"{command[0]}: this kernel's headers are missing")
        return None
    work.write(name, output)
    return output


def check(work):
    program = work.compile("keeper", PROGRAM, language="c",
                           flags=("-g", "-O1", "-fno-omit-frame-pointer"))
    output = trace(work, "memleak.txt", program, ["memleak-bpfcc", "-p", "PID", "5", "4"], 40)
    if output:
        got = work.totals("memleak.txt")
        work.same("memleak: live bytes", got["live"], 400 * 100)
        work.same("memleak: blocks", got["blocks"], 400)
    output = trace(work, "stackcount.txt", program,
                   ["stackcount-bpfcc", "-U", "-p", "PID", "c:malloc"], 15)
    if output:
        counts = sum(int(n) for n in re.findall(r"^ +(\d+)$", output, re.M))
        work.same("stackcount: calls", work.total("stackcount.txt", "count"), counts)
        work.same("stackcount: calls, known", counts, 800)
