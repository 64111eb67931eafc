#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A day of a host in two minutes, with windows of a second: redis, PostgreSQL and a service in three versions, of which one
leaks. The store is stopped twice, the disk of the spool fills once, memflame is killed once. What arrives equals what was
counted, less what the metrics say was dropped; and the leaking version is named, by memflame leaks and by the metrics.

In the long run each service has as many windows as a day has minutes, which takes 24 minutes."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request

import lib
from clickhouse_lib import ClickHouse
from lib import LONG, MEMFLAME, Profile, check, equal, free_ports, path, run, wait_until

DAY = 24 * 60 if LONG else 0  # windows of each service, and seconds, at least
AT_ONCE = 200  # windows that one command adds up

# A shop: carts come and go, and a catalogue is kept. In one version, a receipt of each cart is kept as well.
SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char* carts[512];
static char** receipts;
static unsigned long kept;
__attribute__((noinline)) static void remember(const char* text, size_t size) {
  if (kept % 1024 == 0) receipts = realloc(receipts, (kept + 1024) * sizeof(char*));
  receipts[kept] = malloc(size);
  memcpy(receipts[kept++], text, size);
}
__attribute__((noinline)) static void serve(unsigned i, int leaks) {
  free(carts[i % 512]);
  carts[i % 512] = malloc(200 + i % 800);
  memset(carts[i % 512], 'c', 200);
  if (leaks && i % LEAK_EVERY == 0) remember(carts[i % 512], 200);
}
int main(void) {
  const int leaks = strcmp(getenv("SHOP_VERSION"), "1.5") == 0;
  char* catalogue = malloc(1 << 20);
  memset(catalogue, 'p', 1 << 20);
  for (unsigned i = 0;; ++i) {
    serve(i, leaks);
    if (i % 10 == 0) usleep(10000);
  }
}
"""
with open(path("shop.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
subprocess.run(["gcc", "-O1", "-g", f"-DLEAK_EVERY={16 if LONG else 4}", "-o", path("shop"), path("shop.c")], check=True)
for version in ("1.4", "1.5", "1.6"):
    lib.spawn([path("shop")], env={**os.environ, "SHOP_VERSION": version})

left_out = []
services = ["shop"]
rules = [{"name": "shop", "match": {"program": path("shop")}, "sample": "all", "window": "1s",
          "labels": {"version": "${env:SHOP_VERSION}"}}]
if shutil.which("redis-server"):
    services.append("redis")
    (port,) = free_ports(1)
    lib.spawn(["redis-server", "--port", str(port), "--save", "", "--dir", lib.scratch], stdout=subprocess.DEVNULL)
    wait_until(lambda: subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, check=False).stdout ==
               b"PONG\n", "redis")
    # At times, so that something is left of the machine for all others.
    bench = f"redis-benchmark -p {port} -q -c 4 -n 2000 -r 1000 -t set,get -d 100"
    lib.spawn(["sh", "-c", f"while {bench}; do sleep 0.3; done"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rules.append({"name": "redis", "match": {"comm": "redis-server"}, "sample": "64K", "window": "1s"})
else:
    left_out.append("redis-server")
postgres = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
if postgres and shutil.which("pgbench"):
    services.append("postgres")
    bin_folder, data = os.path.dirname(postgres[-1]), path("postgres")
    os.makedirs(data)
    shutil.chown(data, "postgres")
    os.chmod(lib.scratch, 0o755)
    (port,) = free_ports(1)
    as_postgres = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/",
                   "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([f"{bin_folder}/initdb", "-A", "trust", "-D", data], check=True, **as_postgres)
    lib.spawn([f"{bin_folder}/postgres", "-D", data, "-p", str(port), "-k", data, "-c", "listen_addresses="], **as_postgres)
    bench = ["pgbench", "-h", data, "-p", str(port), "postgres"]
    wait_until(lambda: subprocess.run(["psql", "-h", data, "-p", str(port), "-c", "select 1", "postgres"],
                                      check=False, **as_postgres).returncode == 0, "PostgreSQL")
    subprocess.run([*bench, "-i", "-q"], check=True, **as_postgres)
    lib.spawn([*bench, "-c", "4", "-T", str(600 + 2 * DAY), "-R", "200"], **as_postgres)
    rules.append({"name": "postgres", "match": {"comm": "postgres"}, "probes": ["brk", "mmap", "fault"], "window": "1s"})
else:
    left_out.append("PostgreSQL")

store = ClickHouse()
run("store", "init", store.address("day"))
(metrics_port,) = free_ports(1)
spool = path("spool")
os.makedirs(spool, 0o700)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=0700", "none", spool], check=True)
with open(path("watch.json"), "w", encoding="utf-8") as stream:
    # Every block of the shop has a place in a table, also those of a day's leak.
    json.dump({"memory": "1600M" if LONG else "400M", "max_cpu": 100, "spool": {"folder": spool, "most": "1G"}, "rules": rules,
               "outputs": {"store": {"kind": "clickhouse", "url": f"http://127.0.0.1:{store.port}", "database": "day"},
                           "files": {"kind": "directory", "folder": path("files")},
                           "metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{metrics_port}"}}}, stream)
errors = open(path("watch.stderr"), "w+", encoding="utf-8")


def watching():
    return lib.spawn([MEMFLAME, "watch", path("watch.json")], stderr=errors)


def metrics():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10) as reply:
            return reply.read().decode()
    except OSError:
        return ""


def metric(pattern):
    return sum(float(value) for value in re.findall("^" + pattern + " (.*)$", metrics(), re.M))


def heads():
    """The windows in the folder, which nobody stops."""
    found = {}
    for file in glob.glob(f"{path('files')}/*/*/*.json"):
        with open(file, encoding="utf-8") as stream:
            head = json.load(stream)
        found[head["id"]] = (head, file.removesuffix(".json") + ".pb.gz")
    return found


def in_store():
    return set(store.sql("SELECT DISTINCT id FROM windows", "day").split())


def leaks_in_store():
    return run("leaks", store.address("day", service="shop", from_="-1h")).stdout


def windows_of():
    """The number of windows of each service and version in the folder."""
    return collections.Counter((head["labels"]["service"], head["labels"].get("version")) for head, _ in heads().values())


def some_hours():
    """A quarter of the day, in which nothing happens."""
    time.sleep(DAY / 4)


def day():
    watch = watching()
    wait_until(lambda: {head["labels"]["service"] for head, _ in heads().values()} >= set(services), "windows of all")
    time.sleep(5)
    some_hours()

    store.stop()  # for the first time: windows wait
    time.sleep(8)
    waiting = metric('memflame_output_waiting_windows{output="store"}')
    check(waiting > 5, f"windows wait for the store: {waiting}")
    store.start()
    time.sleep(10)
    some_hours()

    watch.send_signal(signal.SIGKILL)
    watch.wait()
    time.sleep(2)
    watch = watching()
    time.sleep(10)
    some_hours()

    store.stop()  # for the second time, until the disk is full
    wait_until(lambda: metric('memflame_windows_dropped_total{reason="disk"}') > 3, "the disk is full")
    check("windows cannot be written to the spool, and are dropped" in open(path("watch.stderr"), encoding="utf-8").read(),
          "it is said")
    store.start()
    some_hours()
    # Long enough for a verdict.
    wait_until(lambda: 'verdict="leak"' in metrics(), "a verdict in the metrics")
    wait_until(lambda: metric('memflame_output_waiting_windows{output="store"}') < 5, "nothing waits long any more")
    wait_until(lambda: "leak in version 1.5" in leaks_in_store(), "a verdict in the store")
    wait_until(lambda: min(windows_of().values()) >= DAY, "a day's windows")
    leaking = re.findall('^memflame_stack_bytes_per_hour{(.*verdict="leak".*)} ', metrics(), re.M)
    dropped, taken = metric('memflame_windows_dropped_total{.*}'), metric("memflame_windows_taken_total")
    watch.terminate()
    equal("exit status of memflame watch", watch.wait(lib.PATIENCE), 0)
    return leaking, dropped, taken


try:
    leaking, dropped, taken = day()
finally:
    subprocess.run(["umount", "-l", spool], check=True)

# The versions that leak, by the metrics that an alert looks at.
for labels in leaking:
    check('version="1.5"' in labels and 'function="remember"' in labels, labels)

# What was counted is what arrived: the folder and the store have the same windows, and their sums.
folder = heads()
check(dropped > 3, f"windows were dropped: {dropped}")
check(len(folder) >= taken - dropped - 10, f"{len(folder)} windows, {taken} taken, {dropped} dropped")
equal("windows in the folder that the store lacks", set(folder) - in_store(), set())
equal("windows in the store that the folder lacks", in_store() - set(folder), set())
files = {}
for head, file in folder.values():
    files.setdefault((head["labels"]["service"], head["labels"].get("version", "")), []).append(file)
counted = {}
for (service, version), of_one in files.items():
    for first in range(0, len(of_one), AT_ONCE):
        out = path("some.json")
        run("collapse", "--format", "json", "-o", out, *of_one[first:first + AT_ONCE])
        profile = Profile(out)
        for column in profile.columns:
            if not column.startswith("inuse"):
                key = (service, version, column)
                counted[key] = counted.get(key, 0) + profile.sum(column)
for service in services:
    check(any(wanted for (whose, _, _), wanted in counted.items() if whose == service), f"{service} has done something")
for (service, version, column), wanted in counted.items():
    if wanted == 0:
        continue  # then the store says that there is nothing
    more = {"version": version} if version else {}
    listed = run("collapse", "--list", store.address("day", service=service, type=column, from_="-1h", **more)).stdout
    equal(f"{service} {version} {column} in the store", int(listed.split("\t")[2]), wanted)

# The version that leaks, by the store.
said = leaks_in_store()
check("leak in version 1.5" in said and "remember" in said, said)
check("leak in version 1.4" not in said and "leak in version 1.6" not in said, said)
if left_out:
    print("without " + " and ".join(left_out) + ", which are not installed")
