#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: when memflame takes more than "max_cpu" of the host, rules that follow a budget sample more rarely; where none does,
the last rule is given up."""
import glob
import json
import os
import re
import subprocess
import urllib.request

import lib
from lib import MEMFLAME, check, equal, free_ports, path, wait_until

# A program that allocates and frees without end.
SOURCE = """
#include <stdlib.h>
#include <unistd.h>
static void* kept[64];
int main(void) {
  for (unsigned i = 0;; ++i) {
    free(kept[i % 64]);
    kept[i % 64] = malloc(4096 + i % 512);
    if (i % 2000 == 0) usleep(1000);
  }
}
"""
with open(path("busy.c"), "w", encoding="utf-8") as file:
    file.write(SOURCE)
subprocess.run(["gcc", "-O1", "-o", path("busy"), path("busy.c")], check=True)
busy = lib.spawn([path("busy")])


def watching(name, rules):
    """memflame watch with next to no processor time allowed; what it says, and the address of its metrics."""
    (port,) = free_ports(1)
    with open(path(name), "w", encoding="utf-8") as stream:
        json.dump({"max_cpu": 0.01, "spool": {"folder": path(name + ".spool")}, "rules": rules,
                   "outputs": {"files": {"kind": "directory", "folder": path(name + ".files")},
                               "metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}}}, stream)
    errors = open(path(name + ".stderr"), "w+", encoding="utf-8")
    memflame = lib.spawn([MEMFLAME, "watch", path(name)], stderr=errors)

    def said():
        with open(path(name + ".stderr"), encoding="utf-8") as stream:
            return stream.read()

    def metric(pattern):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                found = re.search("^" + pattern + " (.*)$", reply.read().decode(), re.M)
                return float(found[1]) if found else None
        except OSError:
            return None

    return memflame, said, metric


def rule(name, **more):
    return {"name": name, "match": {"program": path("busy")}, "window": "2s", **more}


governed, governed_said, governed_metric = watching("governed.json", [
    rule("first", collect="inside", max_overhead=80)])
paged, paged_said, paged_metric = watching("paged.json", [rule("first", probes="fault"), rule("last", probes="brk")])

wait_until(lambda: (governed_metric("memflame_budget_share") or 1) < 0.1, "the rule may use a part")
check('more than "max_cpu": rules sample more rarely, within 12.50 % of "max_overhead"' in governed_said(), governed_said())
check("given up" not in governed_said(), governed_said())
equal("the rule runs", governed_metric('memflame_rule{rule="first",state="runs"}'), 1)

wait_until(lambda: paged_metric('memflame_rule{rule="last",state="given_up"}') == 1, "the last rule is given up")
equal("the first one runs", paged_metric('memflame_rule{rule="first",state="runs"}'), 1)
check("more rarely" not in paged_said(), paged_said())
check("rule last is given up for ten minutes" in paged_said(), paged_said())

for memflame in (governed, paged):
    memflame.terminate()
    equal("exit status", memflame.wait(lib.PATIENCE), 0)
windows = []
for head in glob.glob(f"{path('governed.json.files')}/*/*/*.json"):
    with open(head, encoding="utf-8") as stream:
        windows.append(json.load(stream))
windows.sort(key=lambda window: window["ended_ns"])
check(windows[-1]["figures"]["sample_bytes"] > 0, "blocks are sampled")
check(busy.poll() is None and not os.path.exists(f"/proc/{governed.pid}"), "the target runs on")
