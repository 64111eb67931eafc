# SPDX-License-Identifier: BSD-2-Clause
"""-p of a process that forks all the time: each child is counted, or named, whether it was forked before memflame
began, while it attached, or later."""
import subprocess
import time

from lib import LOSSY, Memflame, check, path, spawn

with open(path("forks.c"), "w", encoding="utf-8") as stream:
    stream.write("""
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* volatile kept;
__attribute__((noinline)) void of_child(void) { kept = malloc(1000003); }
int main(void) {
  int ends[2], count = 0;
  char word;
  struct pollfd input = {0, POLLIN, 0};
  if (pipe(ends)) return 1;
  do {
    if (fork() == 0) {
      close(ends[1]);
      if (read(ends[0], &word, 1) == 0) sleep(3);  // until their probes are there, for most
      of_child();
      _exit(0);
    }
    ++count;
  } while (poll(&input, 1, 20) == 0);
  close(ends[1]);
  while (wait(NULL) > 0) {
  }
  printf("%d\\n", count);
  return 0;
}
""")
subprocess.run(["gcc", "-O0", "-o", path("forks"), path("forks.c")], check=True)
parent = spawn([path("forks")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
time.sleep(0.5)  # children are there before memflame
memflame = Memflame("alloc", "-p", parent.pid, "--strict")
forked = int(parent.communicate("\n")[0])
memflame.wait(LOSSY)
summary = memflame.summary()
losses = summary["losses"]
seen = memflame.profile().sum("total-count", "of_child")
before = losses["process_uncovered"]["events"]
late = losses.get("late_process", {"events": 0})["events"]
check(before > 0, f"children were there before: {summary['notes']}")
check(seen > 0, f"children are counted: {summary['notes']}")
check(forked - late <= seen + before <= forked,
      f"of {forked} children {seen} were counted, {before} named, {late} late: {summary['notes']}")
check(any(note.startswith(f"{before} children that were there before memflame began are not watched: forks (")
          for note in summary["notes"]), summary["notes"])
