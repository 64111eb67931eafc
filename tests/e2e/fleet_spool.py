#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A store that is away, a disk that is full, a process that is killed: what was taken arrives, less what the counts say
was dropped."""

import glob
import os
import random
import re
import subprocess
import time
import urllib.request

import lib
from fleet_lib import Feed, free_port
from fleet_receivers import Otlp, Store, messages

_, otlp = messages()


def ids_in(folder):
    """The ids of the windows that a directory output wrote. Each of them has its profile and its head."""
    found = {kind: {re.search("-([0-9a-f]{32})[.]", name)[1] for name in glob.glob(f"{folder}/*/*/*.{kind}")}
             for kind in ("pb.gz", "json")}
    lib.equal("windows with a head", found["pb.gz"], found["json"])
    return found["json"]


# Killed again and again, while one store is away now and then: no window is lost that was put.
collector = Otlp(otlp)
store = Store(collector)
outputs = {"store": {"kind": "otlp", "url": store.url},
           "files": {"kind": "directory", "folder": lib.path("files")}}
random.seed(7)
put, rounds = set(), 8
for number in range(rounds):
    if number % 2:
        store.answers = [503] * 1000
    feed = Feed("killed", outputs, 1000, 10)
    lib.wait_until(lambda: len(feed.windows) > random.randint(10, 60), "windows")
    feed.process.kill()
    feed.process.wait()
    feed.reader.join()
    store.answers = []
    put |= {window["id"] for window in feed.windows}
feed = Feed("killed", outputs, 0, 0)
feed.all_sent()
counts = feed.end()
in_store = {bytes(id).hex() for id in collector.profiles}  # the ids of first columns are those of windows
lib.equal("windows that the store lacks", put - in_store, set())
lib.equal("windows that the folder lacks", put - ids_in(lib.path("files")), set())
lib.check(len(put) > 80, f"few windows: {len(put)}")
# What was put may not have been printed before the kill.
extra = counts["taken"] - len(put)
lib.check(0 <= extra <= rounds, f"windows that nobody put: {extra}")
for name, output in counts["outputs"].items():
    lib.equal(f"books of {name}", output["taken"], output["sent"] + output["vanished"])
    lib.check(output["vanished"] <= rounds, f"{name}: {output}")
lib.equal("files that were being written", os.listdir(lib.path("killed.spool/new"))[rounds:], [])

# A full disk. The metrics say what was dropped.
small = lib.path("full.spool")
os.mkdir(small)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", small], check=True)
try:
    port = free_port()
    collector = Otlp(otlp)
    store = Store(collector)
    store.answers = [503] * 10**6
    feed = Feed("full", {"store": {"kind": "otlp", "url": store.url},
                         "metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}}, 150, 20)

    def metric(pattern):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                found = re.search("^" + pattern + " (.*)$", reply.read().decode(), re.M)
                return float(found[1]) if found else 0
        except OSError:
            return 0

    lib.wait_until(lambda: len(feed.windows) == 450, "all windows")
    lib.wait_until(lambda: metric('memflame_windows_dropped_total{reason="disk"}') > 100, "drops in the metrics")
    lib.equal("the store is down", metric('memflame_output_up{output="store"}'), 0)
    lib.check(metric('memflame_output_oldest_window_seconds{output="store"}') > 0, "age of the oldest window")
    lib.check("windows cannot be written to the spool, and are dropped" in feed.said(), feed.said())
    said = [line for line in feed.said().splitlines() if "takes no windows" in line]
    lib.equal("times that it was said", len(said), 1)
    store.answers = []
    feed.all_sent()
    time.sleep(1)
    dropped = metric('memflame_windows_dropped_total{reason="disk"}')
    arrived = metric('memflame_output_windows_total{output="store",result="sent"}')
    counts = feed.end()
    lib.equal("windows", counts["taken"], 450)
    lib.equal("what the metrics say was dropped", dropped, counts["dropped_disk"])
    lib.equal("what the metrics say arrived", arrived, 450 - counts["dropped_disk"])
    ids = {window["id"] for window in feed.windows}
    lib.equal("what arrived", len(ids & {bytes(id).hex() for id in collector.profiles}), 450 - counts["dropped_disk"])
    lib.equal("what waits", counts["waiting"], 0)
finally:
    subprocess.run(["umount", "-l", small], check=True)
