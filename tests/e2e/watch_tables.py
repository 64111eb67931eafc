#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: a service whose processes come and go fills the table of stacks. The rule then begins anew, so that it does not lose
all stacks for ever."""
import glob
import json
import os
import subprocess

import lib
from lib import MEMFLAME, Profile, check, equal, path, run, wait_until

# Each process has 64 stacks, and there are some twenty a second: a rule with the least memory has room for 2,000.
SOURCE = """
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
  for (;;) {
    if (fork() == 0) {
      for (unsigned bits = 0; bits < 64; ++bits) one(bits, 6);
      _exit(0);
    }
    usleep(30000);
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
  }
}
"""
with open(path("forks.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", path("forks"), path("forks.c")], check=True)
lib.spawn([path("forks")])
with open(path("watch.json"), "w", encoding="utf-8") as stream:
    json.dump({"memory": "72M", "max_cpu": 100, "spool": {"folder": path("spool")},
               "outputs": {"files": {"kind": "directory", "folder": path("files")}},
               "rules": [{"name": "forks", "match": {"comm": "forks"}, "sample": "all", "window": "1s"}]}, stream)
errors = open(path("watch.stderr"), "w+", encoding="utf-8")
memflame = lib.spawn([MEMFLAME, "watch", path("watch.json")], stderr=errors)


def said():
    with open(path("watch.stderr"), encoding="utf-8") as file:
        return file.read()


def windows():
    """The windows, in the order of time."""
    heads = []
    for file in glob.glob(f"{path('files')}/*/*/*.json"):
        with open(file, encoding="utf-8") as head:
            heads.append(json.load(head))
    return sorted(heads, key=lambda head: head["ended_ns"])


def runs():
    """The windows of each run of the rule: its seconds begin anew."""
    found = [[]]
    for head in windows():
        if found[-1] and head["figures"]["run_seconds"] < found[-1][-1]["figures"]["run_seconds"]:
            found.append([])
        found[-1].append(head)
    return found


wait_until(lambda: "begins anew" in said(), "the rule begins anew")
check("its tables are full" in said(), said())
wait_until(lambda: len(runs()) > 1, "a window of the run after that")
before = runs()[0]
# The last window may be what is left of a second.
check(sum(head["figures"]["lost_events"] for head in before[-2:]) > 0, "stacks were lost")
check(before[-1]["figures"]["run_seconds"] > 9, "not earlier than after ten windows")


def whole():
    """Profiles of the run after that, of windows in which nothing was lost."""
    return [file for head in windows() if head["began_ns"] >= before[-1]["ended_ns"] and head["figures"]["lost_events"] == 0
            for file in glob.glob(f"{path('files')}/*/*/*{head['id']}.pb.gz")]


wait_until(lambda: len(whole()) >= 2, "windows in which nothing is lost")
run("collapse", "--format", "json", "-o", path("whole.json"), *whole())
profile = Profile(path("whole.json"))
check(profile.sum("alloc_objects", "malloc", "one") > 64, "their stacks are complete")
check(not profile.has("[lost: stack table full]"), "none is lost")
memflame.terminate()
equal("exit status", memflame.wait(lib.PATIENCE), 0)
