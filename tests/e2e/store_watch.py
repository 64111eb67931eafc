# SPDX-License-Identifier: BSD-2-Clause
"""memflame watch sends its windows to ClickHouse, which is stopped meanwhile, and its sender is killed: in the end the
store has what the program did, to the byte."""
import json
import os
import signal
import subprocess
import time

import lib
from clickhouse_lib import ClickHouse
from lib import MEMFLAME, Profile, Target, check, equal, example, path, run, wait_until

NAME = f"stored{os.getpid()}"[:15]
os.symlink(example("alloc_truth"), path(NAME))
store = ClickHouse()
run("store", "init", store.address("fleet"))
with open(path("watch.json"), "w", encoding="utf-8") as file:
    json.dump({"memory": "256M", "max_cpu": 100, "spool": {"folder": path("spool"), "most": "64M"},
               "outputs": {"store": {"kind": "clickhouse", "url": f"http://127.0.0.1:{store.port}", "database": "fleet"}},
               "rules": [{"name": "truth", "match": {"comm": NAME}, "sample": "all", "window": "1s",
                          "labels": {"version": "1.2"}}]}, file)


def windows():
    """How many are in the store that have seen the program."""
    return int(store.sql("SELECT uniqExact(id) FROM windows WHERE figure_values[indexOf(figure_names, 'processes')] >= 1",
                         "fleet"))


def sender():
    listed = subprocess.run(["pgrep", "-P", str(watch.pid), "-x", "memflame-sender"], capture_output=True, text=True,
                            check=False).stdout.split()
    return int(listed[0]) if listed else None


target = Target("alloc_truth", executable=path(NAME))
errors = open(path("watch.stderr"), "w+", encoding="utf-8")
watch = lib.spawn([MEMFLAME, "watch", path("watch.json")], stderr=errors)
wait_until(lambda: windows() >= 1, "a first window in the store")
store.stop()
truth = target.work()
time.sleep(3)
killed = sender()
os.kill(killed, signal.SIGKILL)
wait_until(lambda: sender() not in (None, killed), "another sender")
store.start()
before = windows()
wait_until(lambda: windows() >= before + 4, "windows from the spool")
time.sleep(2)
watch.send_signal(signal.SIGTERM)
equal("exit status of memflame watch", watch.wait(lib.PATIENCE), 0)
target.end()

address = store.address("fleet", service="truth", version="1.2")
run("render", address, "--format", "json", "-o", path("stored.json"))
stored = Profile(path("stored.json"))
for function, figures in truth["functions"].items():
    equal(f"{function}: allocated", stored.sum("alloc_space", function), figures["total"])
    equal(f"{function}: blocks", stored.sum("alloc_objects", function), figures["total_count"])
    equal(f"{function}: in use", stored.sum("inuse_space", function), figures["live"])
check("truth" in run("timeline", address).stdout, "a timeline")
run("leaks", address)
store.stop()
