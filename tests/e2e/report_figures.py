# SPDX-License-Identifier: BSD-2-Clause
"""memflame report: the figures of any part of a run that begins and ends at edges are, to the byte, those that the
commands draw; from events, and from a series."""
import collections
import json
import os
import pty
import random

from lib import LONG, MEMFLAME, PATIENCE, USAGE, check, equal, path, run, spawn
from recording_lib import drawn

# Blocks of all ages and sizes, on stacks that differ; some are moved, some stay.
PROGRAM = """
import random, time
chance = random.Random(7)
kept, short = [], []
def grow(): kept.append(bytearray(chance.randrange(1, 5000)))
def churn(): short.append("x" * chance.randrange(600, 9000)); del short[:-20]
def extend(): kept[-1].extend(b"y" * chance.randrange(3000))
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for _ in range(200): chance.choice((grow, churn, churn, churn, extend))() if kept else grow()
    if chance.random() < 0.02: del kept[:len(kept) // 2]
    time.sleep(0.002)
"""
BRUSHES = 100 if LONG else 12


def seconds(ns):
    """As memflame takes times, exactly."""
    return f"{ns // 10**9}.{ns % 10**9:09}"


class Report:
    """A report as JSON."""

    def __init__(self, recording, *options):
        run("report", recording, *options, "-o", path("report.json"))
        with open(path("report.json"), encoding="utf-8") as stream:
            self.document = json.load(stream)
        equal("format", (self.document["format"], self.document["version"]), ("memflame-report", 1))
        self.edges = self.document["edges"]
        self.bins = len(self.edges) - 1
        self.stacks = [";".join(stack["frames"]) for stack in self.document["stacks"]]
        self.columns = [column["name"] for column in self.document["value_types"]]
        self.freed_at_last = [self.bins if row[2] is None else row[2] for row in self.document["rows"]]
        check(self.edges[0] == 0 and all(a < b for a, b in zip(self.edges, self.edges[1:])), "edges ascend")
        check(self.bins <= 256, "there are at most 256 bins")

    def figures(self, counts):
        """Sums by stack: `counts` says of a row's bins how often it counts."""
        sums = collections.defaultdict(lambda: [0] * len(self.columns))
        for row, freed in zip(self.document["rows"], self.freed_at_last):
            times = int(counts(row[1], freed))
            if times:
                own = sums[self.stacks[row[0]]]
                for i, value in enumerate(row[3:]):
                    own[i] += times * value
        return without_zeros(sums)

    def time(self, edge):
        return seconds(self.edges[edge])

    def between(self, first, last):
        """Without a time before the dots, what happened at 0 counts as well."""
        return ("--between", f"{self.time(first) if first else ''}..{self.time(last)}")

    def brushes(self):
        for _ in range(BRUSHES):
            first = chance.randrange(self.bins)
            yield first, chance.randrange(first + 1, self.bins + 1)
        yield 0, self.bins


def without_zeros(sums):
    return {stack: values for stack, values in sums.items() if any(values)}


def drawn_figures(recording, columns, *options):
    """What a command says of each stack, in these columns."""
    profile = drawn(recording, *options)
    places = [profile.columns.index(column) for column in columns]
    sums = collections.defaultdict(lambda: [0] * len(places))
    for frames, values in profile.stacks:
        own = sums[";".join(frames)]
        for i, place in enumerate(places):
            own[i] += values[place]
    return without_zeros(sums)


chance = random.Random(3)  # the same brushes each time

# Events.
events = path("events.mfr")
command = ("env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-S", "-c", PROGRAM)
run("record", "--inside", "--detail", "events", "-o", events, "--", *command)
report = Report(events)
equal("kind", report.document["kind"], "blocks")
equal("columns", report.columns, ["bytes", "blocks"])
check(report.bins > 200, f"a run of seconds has many bins: {report.bins}")
live, total = ("live", "live-count"), ("total", "total-count")
for first, last in report.brushes():
    where = f"from {report.time(first)} to {report.time(last)}"
    between = report.between(first, last)
    ALL = report.bins
    equal(f"allocated {where}", report.figures(lambda born, freed: first <= born < last),
          drawn_figures(events, total, *between, "--view", "total"))
    equal(f"freed {where}", report.figures(lambda born, freed: first <= freed < last),
          drawn_figures(events, ("freed", "freed-count"), *between, "--view", "freed"))
    lived = f"live in {report.time(first)}..{report.time(last)}" if first else f"allocated <= {report.time(last)}"
    equal(f"live {where}", report.figures(lambda born, freed: born < last and freed >= first),
          drawn_figures(events, total, "--view", "total", "--where", lived))
    equal(f"growth {where}", report.figures(
        lambda born, freed: (born < last <= freed) - (born < first <= freed)), drawn_figures(events, live, *between))
    equal(f"live at {report.time(last)}", report.figures(lambda born, freed: born < last <= freed),
          drawn_figures(events, live, "--at", report.time(last)))
equal("the peak", report.figures(lambda born, freed: born < report.document["peak"] <= freed),
      drawn_figures(events, ("peak", "peak-count"), "--view", "peak"))
equal("blocks by lifetime and size", sum(shape[5] for shape in report.document["shapes"]),
      sum(row[4] for row in report.document["rows"]))
check(any(sum_["name"] == "resident" and sum_["bytes"] > 0 for sum_ in report.document["sums"]),
      f"resident memory is among the sums: {report.document['sums']}")

# Selected blocks, and fewer bins.
large = Report(events, "--min-size", "4K", "--bins", "20")
check(large.bins <= 20, f"--bins: {large.bins}")
first, last = 3, large.bins - 2
equal("large blocks", large.figures(lambda born, freed: first <= born < last),
      drawn_figures(events, total, *large.between(first, last), "--view", "total", "--min-size", "4K"))

# A series.
series = path("series.mfr")
longer = (*command[:-1], PROGRAM.replace("+ 1.5", "+ 4"))  # a busy machine looks less often
run("record", "--inside", "--interval", "0.1", "-o", series, "--", *longer)
report = Report(series)
equal("kind", report.document["kind"], "changes")
check(report.bins > 5, f"edges are looks: {report.bins}")
for first, last in report.brushes():
    equal(f"figures at {report.time(last)}", report.figures(lambda born, freed: born < last),
          drawn_figures(series, report.columns, "--at", report.time(last)))
    equal(f"what changed until {report.time(last)}", report.figures(lambda born, freed: first <= born < last),
          drawn_figures(series, report.columns, *report.between(first, last), "--view", "growth"))

# A page, and what is refused or hidden.
run("report", events, "-o", path("report.html"), "--anonymise")
check(os.path.getsize(path("report.html")) > 1000, "a page")
hidden = Report(events, "--anonymise").document
equal("command and host", (hidden["command"], hidden["host"]), ("", ""))
said = run("report", series, "--leaked", status=USAGE).stderr
check("--detail events" in said, f"a series has no blocks: {said}")
said = run("report", events, "--min-size", "1G", "-o", path("none.html"), status=1).stderr
check("no block is selected by --min-size 1G" in said and not os.path.exists(path("none.html")), said)
said = run("report", events, "--bins", "7", "-o", path("none.html"), status=USAGE).stderr
check("from 8 to 256" in said, said)
said = run("report", status=USAGE).stderr
check("memflame report FILE.mfr" in said, said)
controller, terminal = pty.openpty()
refused = spawn([MEMFLAME, "report", events], stdout=terminal)
equal("a page for a terminal", refused.wait(PATIENCE), USAGE)
