# SPDX-License-Identifier: BSD-2-Clause
"""leaks: the lines of --trace, and pictures instead of reports."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

from leaks_lib import TICK, Leaks, Steps
from lib import MEMFLAME, PATIENCE, Profile, check, equal, example, path, run, spawn, wait_until


def trace():
    target = Steps()
    leaks = Leaks("-p", target.pid, "--older", "0", "--trace", "60")
    wanted = [line.strip() for _ in range(50) for line in target.do("calls")]
    leaks.stop()
    with open(leaks.output, encoding="utf-8") as stream:
        lines = [line for line in stream.read().splitlines() if re.match(r"\d+\.\d{6} ", line)]
    prefix = re.compile(rf"(\d+\.\d{{6}}) {target.pid}/{target.pid} leak_steps  ")
    check(all(prefix.match(line) for line in lines), f"who called and when: {lines[:3]}")
    # aligned_alloc() is memalign() under another name; the name that is found first is shown.
    calls = [prefix.sub("", line).replace("memalign(96)", "aligned_alloc(96)") for line in lines]
    wrong = [pair for pair in zip(calls, wanted) if pair[0] != pair[1]]
    equal("every call", (len(calls), wrong[:3]), (len(wanted), []))
    times = [float(line.split()[0]) for line in lines]
    equal("in order", times, sorted(times))
    equal("nothing is left", (leaks.reports()[-1].bytes, leaks.reports()[-1].blocks), (0, 0))
    target.end()


def threads():
    """Every call of four threads, in a consistent order: replayed, no block is allocated twice."""
    leaks = Leaks("--older", "0", "--trace", "60", "--", example("alloc_storm"), "--threads", "4",
                  "--operations", "20000", stdout=subprocess.PIPE)
    truth = json.load(leaks.process.stdout)
    leaks.wait()
    wanted = truth["functions"]["storm_allocate"]
    live, count, total, frees = {}, 0, 0, 0
    with open(leaks.output, encoding="utf-8") as stream:
        for line in stream:
            if made := re.search(r"  malloc\((\d+)\) = (0x[0-9a-f]+)$", line):
                check(made[2] not in live, f"allocated twice: {line}")
                live[made[2]] = int(made[1])
                count, total = count + 1, total + int(made[1])
            elif freed := re.search(r"  free\((0x[0-9a-f]+)\) (\d+)$", line):
                if freed[1] in live:
                    equal(f"size in {line}", int(freed[2]), live.pop(freed[1]))
                    frees += 1
    equal("allocations", (count, total), (wanted["total_count"], wanted["total"]))
    equal("frees", (frees, live), (count, {}))


def formats():
    target = Steps()
    for suffix in ("json", "folded", "svg", "html", "csv", "pb.gz", "speedscope.json", "tree.json"):
        file = path(f"leaks.{suffix}")
        watcher = spawn([MEMFLAME, "leaks", "-p", str(target.pid), "--older", "0", "-o", file,
                         str(TICK)], stderr=subprocess.PIPE, text=True)
        wait_until(lambda f=file: os.path.exists(f), "a first picture")
        time.sleep(2 * TICK)
        target.do("small")
        target.do("large")
        age = os.stat(file).st_ino
        wait_until(lambda f=file, a=age: os.stat(f).st_ino != a, "it is replaced")
        watcher.send_signal(signal.SIGINT)
        _, errors = watcher.communicate(timeout=PATIENCE)
        equal("exit status", watcher.returncode, 0)
        check("lost 0" in errors, f"what is said at the end: {errors}")
        if suffix == "json":
            profile = Profile(file)
            equal("columns", profile.columns, ["live", "live-count"])
            equal("leak_small", (profile.sum("live", "leak_small"),
                                 profile.sum("live-count", "leak_small")), (30000, 10))
            equal("leak_large", profile.sum("live", "leak_large"), 40000)
        with open(file, "rb") as stream:
            begin = stream.read(16)
        wanted = {"json": b"{", "folded": b"# memflame folded", "svg": b"<", "html": b"<",
                  "csv": b"stack,", "pb.gz": b"\x1f\x8b", "speedscope.json": b"{",
                  "tree.json": b"{"}[suffix]
        check(begin.startswith(wanted[:16]), f"{suffix} by the suffix: {begin}")
        if suffix == "pb.gz":
            continue
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        if suffix == "csv":
            rows = [row for row in text.splitlines() if ";leak_large;" in row]
            check(any(",40000," in row for row in rows), f"csv: {rows}")
        if suffix == "folded":
            sums = [int(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                    if ";leak_small;" in line]
            equal("folded", sum(sums), 30000)
        if suffix == "svg":
            check("leak_large" in " ".join(xml.fromstring(text).itertext()), "drawn")
    target.end()
    done = run("leaks", "--format", "json", "--older", "0", "--", "true")
    check(done.stdout.startswith("{"), "a picture to standard output, at the end")


if __name__ == "__main__":
    cases = [trace, threads, formats]
    for case in cases:
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            case()
