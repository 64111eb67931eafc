#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: processes that end before their probes come are counted: at once in the metrics of their rule, and in the next window,
as there is none without a process."""
import json
import os
import subprocess
import urllib.request

import lib
from lib import MEMFLAME, Target, equal, example, free_ports, path, wait_until, window_heads

NAME = f"brief{os.getpid()}"[:15]
for folder, program in (("brief", "short_lived"), ("long", "alloc_truth")):
    os.mkdir(path(folder))
    os.symlink(example(program), path(f"{folder}/{NAME}"))
(port,) = free_ports(1)
with open(path("watch.json"), "w", encoding="utf-8") as stream:
    json.dump({"max_cpu": 100, "spool": {"folder": path("spool")},
               "outputs": {"files": {"kind": "directory", "folder": path("files")},
                           "metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}},
               "rules": [{"name": "brief", "match": {"comm": NAME}, "sample": "all", "collect": "kernel", "window": "1s"}]}, stream)
with open(path("watch.stderr"), "w", encoding="utf-8") as errors:
    memflame = lib.spawn([MEMFLAME, "watch", path("watch.json")], stderr=errors)


def metric(name):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", None, lib.PATIENCE) as reply:
            lines = reply.read().decode().split("\n")
    except OSError:
        return 0
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))


def lost_in_windows():
    return sum(head["figures"]["lost_events"] for head in window_heads(path("files")))


def is_counted():
    subprocess.run([path(f"brief/{NAME}")], check=True)
    return metric("memflame_rule_lost_events_total") > 0


wait_until(is_counted, "a process that ended too early")
target = Target("alloc_truth", executable=path(f"long/{NAME}"))
wait_until(lambda: lost_in_windows() == metric("memflame_rule_lost_events_total"), "windows say all of it, too")
target.end()
memflame.terminate()
equal("exit status", memflame.wait(lib.PATIENCE), 0)
