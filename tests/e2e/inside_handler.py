# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside of a process that runs in a signal handler for ever, as those of PostgreSQL 15 do: the agent comes in if what
the handler has interrupted only waits, and stays out if that may hold a lock of the C library."""
import os
import signal
import subprocess

from attached import Waiting, attach, maps
from lib import check, equal, losses, path, run

BLOCKS = 1000
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* kept[%d];
static void allocate(void) {
  for (int i = 0; i < %d; ++i) kept[i] = malloc(100);
}
static void say(const char* word) {
  if (write(1, word, strlen(word)) < 0) _exit(1);
}
static void handle(int number) {
  char letter;
  say("in the handler\n");
  while (read(0, &letter, 1) == 1) {
    allocate();
    say("allocated\n");
  }
  _exit(0);
}
static int compare(const void* a, const void* b) {
  raise(SIGUSR1);
  return a < b;
}
int main(int count, char** words) {
  int numbers[] = {2, 1, 3};
  char letter;
  signal(SIGUSR1, handle);
  say("ready\n");
  if (count > 1) qsort(numbers, 3, sizeof(*numbers), compare);
  return read(0, &letter, 1) < 0;
}
""" % (BLOCKS, BLOCKS)
with open(path("handler.c"), "w", encoding="utf-8") as stream:
    stream.write(PROGRAM)
subprocess.run(["gcc", "-O1", "-fno-inline", "-o", path("handler"), path("handler.c")], check=True)


def in_handler(*words):
    """A process that waits in its handler."""
    target = Waiting(path("handler"), *words)
    target.at_rest()
    if not words:
        os.kill(target.pid, signal.SIGUSR1)
    equal("it says", target.process.stdout.readline(), "in the handler\n")
    target.at_rest()
    return target


target = in_handler()
memflame = attach(target)
target.process.stdin.write("x")
target.process.stdin.flush()
equal("it says", target.process.stdout.readline(), "allocated\n")
memflame.stop()
equal("lost", losses(memflame.summary()), {})
equal("blocks", memflame.profile().sum("total-count", "handle", "allocate"), BLOCKS)
target.end()

# Here the handler has interrupted qsort().
target = in_handler("sort")
words = run("alloc", "--inside", "-p", target.pid, "-d", "1", "-o", path("none.json"), status=1).stderr
check("no thread of it came to a point where functions can be called" in words, words)
check("memflame-agent" not in maps(target.pid), "nothing came into it")
target.end()
