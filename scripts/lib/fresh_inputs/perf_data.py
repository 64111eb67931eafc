# SPDX-License-Identifier: BSD-2-Clause
"""perf.data itself, against perf report and perf script; from a file and through a pipe."""

import re

from . import _leaker as leaker

PACKAGES = ["linux-perf"]


def report(work, data, event):
    """Symbol -> period of an event, as perf report adds it up; inlined frames left out."""
    text, _ = work.run(["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none",
                        "--no-inline", "-F", "period,sym"])
    part = text.split(f"of event '{event}'")[1].split("# Samples:")[0]
    rows = re.findall(r"^ +(\d+)  \[[.k]\] (\S+)", part, re.M)
    sums = {}
    for period, name in rows:
        sums[name] = sums.get(name, 0) + int(period)
    return sums


def leaves(work, data, event):
    sums = {}
    for row in work.collapse(data, "--value", event):
        stack, value = row.rsplit(" ", 1)
        name = re.sub(r"_\[[kij]\]$", "", stack.split(";")[-1])
        sums[name] = sums.get(name, 0) + int(value)
    return sums


def check(work):
    program = work.compile("leaker", leaker.SOURCE)
    _, said = work.run(["perf", "record", "-e", "page-faults", "-c", "1", "-g", "-o", "faults.data",
                        program], check=False)
    try:
        theirs = report(work, "faults.data", "page-faults")
    except (RuntimeError, IndexError):
        return work.skip("perf cannot record here: " + said.strip().splitlines()[-1])
    work.same("page-faults, total", work.total("faults.data", "page-faults"), sum(theirs.values()))
    ours = leaves(work, "faults.data", "page-faults")
    for name in sorted(theirs, key=theirs.get, reverse=True)[:3]:
        work.same(f"page-faults in {name}", ours.get(name, 0), theirs[name])
    with open(work.path("faults.txt"), "w", encoding="utf-8") as file:
        file.write(work.run(["perf", "script", "-i", "faults.data"])[0])
    with open(work.path("faults.txt"), encoding="utf-8") as file:
        samples = sum(1 for line in file if re.search(r"page-faults: *$", line))
    work.same("page-faults, samples of perf script", work.total("faults.data", "page-faults"),
              samples)
    work.run(["sh", "-c", f"perf record -q -e page-faults -c 1 -g -o - {program} > pipe.data"])
    with open(work.path("pipe.txt"), "w", encoding="utf-8") as file:
        file.write(work.run(["perf", "script", "-i", "pipe.data"])[0])
    with open(work.path("pipe.txt"), encoding="utf-8") as file:
        samples = sum(1 for line in file if re.search(r"page-faults: *$", line))
    work.same("through a pipe, samples", work.total("pipe.data", "page-faults"), samples)
    work.run(["perf", "record", "-q", "-e", "cpu-clock,page-faults", "-g", "-z", "-o", "two.data",
              program])
    for event in ("cpu-clock", "page-faults"):
        work.same(f"packed, {event}", work.total("two.data", event),
                  sum(report(work, "two.data", event).values()))
