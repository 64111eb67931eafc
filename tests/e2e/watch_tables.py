#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: a service whose processes come and go does not fill the table of stacks. A process that always has new stacks does;
the rule then begins anew, so that it does not lose all stacks for ever."""
import json
import subprocess

import lib
from lib import MEMFLAME, Profile, check, equal, path, run, wait_until, window_heads

# A rule with the least memory has room for some 2,000 stacks. With FORKS there are ten processes a second with 32 stacks each,
# otherwise one with 400 new stacks a second.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* volatile kept;
__attribute__((noinline)) static void one(unsigned bits, int depth);
__attribute__((noinline)) static void two(unsigned bits, int depth) {
  if (depth == 0) kept = malloc(100);
  else (bits & 1 ? one : two)(bits >> 1, depth - 1);
  __asm__ volatile("");
}
__attribute__((noinline)) static void one(unsigned bits, int depth) {
  if (depth == 0) kept = malloc(50);
  else (bits & 1 ? one : two)(bits >> 1, depth - 1);
  __asm__ volatile("");
}
int main(void) {
  for (unsigned bits = 0;;) {
    if (!FORKS) {
      for (int i = 0; i < 8; ++i) one(bits++, 24);
      usleep(20000);
    } else if (fork() == 0) {
      for (; bits < 32; ++bits) one(bits, 5);
      _exit(0);
    } else {
      usleep(100000);
      while (waitpid(-1, NULL, WNOHANG) > 0) {}
      static int forked;
      if (++forked % 100 == 0) {
        puts("3,200 stacks");
        fflush(stdout);
      }
    }
  }
}
"""
with open(path("stacks.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)


class Watched:
    """A program that is watched by a rule of its own."""

    def __init__(self, name, forks):
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", f"-DFORKS={forks}", "-o", path(name), path("stacks.c")],
                       check=True)
        self.program = lib.spawn([path(name)], stdout=subprocess.PIPE, text=True)
        self.files = path(f"{name}.files")
        with open(path(f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump({"memory": "72M", "max_cpu": 100, "spool": {"folder": path(f"{name}.spool")},
                       "outputs": {"files": {"kind": "directory", "folder": self.files}},
                       "rules": [{"name": name, "match": {"comm": name}, "sample": "all", "window": "1s",
                                  "options": ["--children", "exact"]}]}, file)
        self.errors = path(f"{name}.stderr")
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.memflame = lib.spawn([MEMFLAME, "watch", path(f"{name}.json")], stderr=errors)

    def said(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def windows(self):
        return window_heads(self.files)

    def runs(self):
        """The windows of each run of the rule: its seconds begin anew."""
        found = [[]]
        for head in self.windows():
            if found[-1] and head["figures"]["run_seconds"] < found[-1][-1]["figures"]["run_seconds"]:
                found.append([])
            found[-1].append(head)
        return found

    @staticmethod
    def profile(heads):
        run("collapse", "--format", "json", "-o", path("profile.json"), *(head["profile"] for head in heads))
        return Profile(path("profile.json"))

    def end(self):
        self.memflame.terminate()
        equal(f"exit status of memflame, which said:\n{self.said()}\n", self.memflame.wait(lib.PATIENCE), 0)
        self.program.kill()


def lost(heads):
    return sum(head["figures"]["lost_events"] for head in heads)


def processes_come_and_go():
    watched = Watched("forks", 1)
    wait_until(watched.windows, "a window")
    for _ in range(3):
        equal("forked", watched.program.stdout.readline(), "3,200 stacks\n")
    before = watched.windows()[-1]["id"]
    wait_until(lambda: watched.windows()[-1]["id"] != before, "a window with the last of them")
    heads = watched.windows()
    equal("runs", len(watched.runs()), 1)
    equal("lost", lost(heads), 0)
    allocated = watched.profile(heads).sum("alloc_objects", "malloc")
    check(allocated > 6400, f"more stacks than the table has room for: {allocated}")
    watched.end()


def stacks_are_new():
    watched = Watched("grows", 0)
    wait_until(lambda: "begins anew" in watched.said(), "the rule begins anew")
    check("its tables of stacks or processes are full" in watched.said(), watched.said())
    wait_until(lambda: len(watched.runs()) > 1, "a window of the run after that")
    before = watched.runs()[0]
    check(lost(before) > 0, "stacks were lost")
    check(before[-1]["figures"]["run_seconds"] > 9, "not earlier than after ten windows")

    def whole():
        return [head for run in watched.runs()[1:] for head in run if lost([head]) == 0]

    wait_until(lambda: len(whole()) >= 2, "windows in which nothing is lost")
    profile = watched.profile(whole())
    check(profile.sum("alloc_objects", "malloc", "one") > 64, "their stacks are complete")
    check(not profile.has("[lost: stack table full]"), "none is lost")
    watched.end()


processes_come_and_go()
stacks_are_new()
