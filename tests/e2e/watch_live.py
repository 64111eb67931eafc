#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch, by the kernel's probes: the table of live blocks does not become full. A rule with a budget samples when there are many
blocks, and blocks of processes that have ended make room for others."""
import json
import subprocess

import lib
from lib import MEMFLAME, check, equal, path, wait_until, window_heads

# With the least memory a rule has room for 8,192 blocks. At each step, one program keeps 2,000 more, and the processes of the
# other one end with 2,000. A step comes with the windows of the one before, so it waits for memflame, however slow a machine is.
STEP, STEPS = 2000, 16
SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void* volatile kept;
__attribute__((noinline)) static void keep(void) { kept = malloc(1000); }
int main(int argc, char** argv) {
  const int forks = strcmp(argv[1], "forks") == 0;
  char step;
  while (read(0, &step, 1) == 1)
    for (int part = 0; part < 20; ++part) {
      if (!forks || fork() == 0) {
        for (int i = 0; i < 100; ++i) keep();
        if (forks) _exit(0);
      }
      if (forks) wait(NULL);
    }
}
"""
with open(path("program.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
for name in ("keeps", "forks"):
    subprocess.run(["gcc", "-O1", "-o", path(name), path("program.c")], check=True)
started = {name: lib.spawn([path(name), name], stdin=subprocess.PIPE, bufsize=0) for name in ("keeps", "forks")}
with open(path("watch.json"), "w", encoding="utf-8") as stream:
    # By its own cost memflame would sample, too.
    json.dump({"memory": "120M", "max_cpu": 100, "spool": {"folder": path("spool")},
               "outputs": {"files": {"kind": "directory", "folder": path("files")}},
               "rules": [{"name": "keeps", "match": {"pid": started["keeps"].pid}, "collect": "kernel", "max_overhead": 100,
                          "window": "1s"},
                         {"name": "forks", "match": {"comm": "forks"}, "sample": "all", "window": "1s",
                          "options": ["--children", "exact"]}]}, stream)
errors = open(path("watch.stderr"), "w+", encoding="utf-8")
memflame = lib.spawn([MEMFLAME, "watch", path("watch.json")], stderr=errors)


def windows(rule):
    return window_heads(path("files"), rule)


def wait_for_windows():
    seen = {rule: len(windows(rule)) for rule in started}
    for rule in started:
        wait_until(lambda rule=rule: len(windows(rule)) > seen[rule], f"a window of {rule}")


wait_for_windows()
for step in range(STEPS):
    for program in started.values():
        program.stdin.write(b".")
    wait_for_windows()
wait_for_windows()
memflame.terminate()
equal("exit status", memflame.wait(lib.PATIENCE), 0)
said = open(path("watch.stderr"), encoding="utf-8").read()
check("begins anew" not in said, said)
for rule in started:
    lost = [head["figures"]["lost_events"] for head in windows(rule)]
    check(not any(lost), f"{rule}: blocks were lost: {lost}")
last = windows("keeps")[-1]
check(last["figures"]["sample_bytes"] > 0, f"blocks are sampled: {last['figures']}")
held = sum(stack["inuse_bytes"] for stack in last["top"])
wanted = STEPS * STEP * 1000
check(0.8 * wanted < held < 1.2 * wanted, f"in use: {held} of {wanted}")
