# SPDX-License-Identifier: BSD-2-Clause
"""What 'record --detail events' costs, and what it costs to read its files: beside heaptrack, on runs of the same
programs."""

import json
import os
import subprocess
import time

from lib import MEMFLAME, Memflame, check, path, run
from report import median, progress
from tracers import HEAPTRACK
from workloads import PROGRAMS, Whole

TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {"alone": None, "alloc": ("alloc", "json"), "events": ("record", "mfr", "--detail", "events")}
EVERY_BLOCK = "size >= 0"


def of_process(pid):
    """CPU seconds of a process until now, and the most MiB that it had."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        peak = next(line for line in status if line.startswith("VmHWM:"))
    return (int(fields[11]) + int(fields[12])) / TICKS, int(peak.split()[1]) / 1024


def events_in(file):
    """Calls of the allocator in a recording: a realloc that moves a block is one."""
    said = run("query", file, "SELECT count(*) + count(freed_ns) - sum(moved) FROM blocks", "--format", "csv").stdout
    return int(said.splitlines()[-1])


def event_bytes(file):
    """Stored bytes of the chunks that hold events: stacks, names and looks are left out."""
    found = 0
    with open(file, "rb") as stream:
        stream.seek(8)
        while len(head := stream.read(24)) == 24:
            stored = int.from_bytes(head[8:12], "little")
            found += stored if head[:4] in (b"EVNT", b"CKPT", b"LIVE", b"GAPS") else 0
            stream.seek(stored, os.SEEK_CUR)
    return found


def time_program(command, variables, way):
    """CPU seconds of the program; of memflame until the program has ended, and its MiB; its file; what was lost."""
    target = Whole(command, variables, None)
    if WAYS[way] is None:
        return target.work()[0] / 1e9, None
    probe, suffix, *options = WAYS[way]
    memflame = Memflame(probe, "-p", target.pid, *options, output=suffix)
    before, _ = of_process(memflame.process.pid)
    used, _ = target.work()
    try:
        after, peak = of_process(memflame.process.pid)
    except (OSError, StopIteration):  # it has ended already
        after, peak = before, 0
    memflame.wait()
    losses = memflame.summary()["losses"]
    lost = sum(count["events"] for count in losses.values() if count["kind"] == "lost")
    return used / 1e9, {"cpu": after - before, "MiB": peak, "file": memflame.output, "lost": lost}


# What an event takes in the file at most: the goals.
MOST_BYTES = {"sqlite3": 0.5, "python3": 1.3, "cc1plus": 2.2}


def recording(report, options, canary):
    """The watched program and the recorder."""
    report.say("### Every event: CPU seconds of the program, and of memflame for an event")
    report.say()
    report.table("program", *WAYS, "events over alloc", "events", "lost", "µs an event", "MiB", "bytes an event")
    for name, make in PROGRAMS.items():
        command, variables = make(options.scale)
        figures = {way: [] for way in WAYS}
        costs = []
        for turn in range(options.repeats + 1):
            for way, values in figures.items():
                used, facts = canary.alone(time_program, command, variables, way)
                progress(f"{name}, {way}: {used:.3f} s {facts or ''}")
                if way == "events":
                    count = events_in(facts["file"])
                    costs.append((facts["cpu"] / count * 1e6, facts["MiB"], event_bytes(facts["file"]) / count, count,
                                  facts["lost"]))
                if facts:
                    os.remove(facts["file"])
                if turn:  # the first one fills caches
                    values.append(used)
        ratio = median(events / alloc for alloc, events in zip(figures["alloc"], figures["events"]))
        cpu = min(cost[0] for cost in costs)
        count = median(cost[3] for cost in costs)
        report.row(f"`{name}`", *(f"{min(values):.3f}" for values in figures.values()), f"{ratio:.3f}", f"{count:,.0f}",
                   max(cost[4] for cost in costs), f"{cpu:.2f}", f"{max(cost[1] for cost in costs):.0f}",
                   f"{costs[0][2]:.2f}")
        report.goal(f"events over alloc, {name}", ratio, most=1.15)
        report.goal(f"memflame, µs an event, {name}", cpu, most=0.2)
        report.goal(f"memflame, MiB, {name}", max(cost[1] for cost in costs), most=256)
        report.goal(f"bytes an event, {name}", costs[0][2], most=MOST_BYTES[name])
    report.say()


# ---- reading ----

def cost_of(*command, out=subprocess.DEVNULL):
    """CPU seconds and MiB."""
    process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{command} failed: {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def heaptrack_file(command, variables):
    """heaptrack's file of a run, interpreted as its script does it."""
    raw, file = path("heaptrack.raw"), path("heaptrack.data")
    subprocess.run(command, env={**os.environ, **variables, "LD_PRELOAD": HEAPTRACK, "DUMP_HEAPTRACK_OUTPUT": raw},
                   check=True, stdout=subprocess.DEVNULL)
    interpreter = next(found for found in ("/usr/lib/heaptrack/libexec/heaptrack_interpret",
                                           "/usr/libexec/heaptrack_interpret") if os.path.exists(found))
    with open(raw, "rb") as source, open(file, "wb") as target:
        subprocess.run([interpreter], stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=True)
    os.remove(raw)
    return file


def reading(report, options, _canary):
    """Opening, filtering and reporting files of 10^6, 10^7 and 10^8 events."""
    report.say("### Files of every event: CPU seconds and MiB to read them")
    report.say()
    report.table("events of sqlite3", "command", "CPU s", "MiB", "heaptrack_print over it")
    for size in (1, 10, 100):
        command, variables = PROGRAMS["sqlite3"](1.1 * size * options.scale)
        file, drawn = path("events.mfr"), path("drawn")
        started = time.monotonic()
        run("record", "--inside", "--detail", "events", "-o", file, "--", *command)
        count = events_in(file)
        progress(f"{count:,} events in {os.path.getsize(file) / 2**20:.1f} MiB after {time.monotonic() - started:.0f} s")
        repeats = 1 if size == 100 else min(3, options.repeats)
        peer = None
        if os.path.exists(HEAPTRACK):
            theirs = heaptrack_file(command, variables)
            peer = min(cost_of("heaptrack_print", "-f", theirs) for _ in range(repeats))
            os.remove(theirs)
            report.row(f"{count:,}", "`heaptrack_print`", f"{peer[0]:.2f}", f"{peer[1]:.0f}", "")
        for words in (["render", file], ["render", file, "--where", EVERY_BLOCK],
                      ["render", file, "--where", "not leaked and lifetime > 1ms", "--view", "total"], ["report", file]):
            cpu, peak = min(cost_of(MEMFLAME, *words, "-o", drawn + (".html" if words[0] == "report" else ".svg"))
                            for _ in range(repeats))
            shown = " ".join(json.dumps(word) if " " in word else word for word in words).replace(file, "FILE")
            report.row(f"{count:,}", f"`{shown}`", f"{cpu:.2f}", f"{peak:.0f}", f"{peer[0] / cpu:.1f}" if peer else "")
            report.goal(f"heaptrack_print over {shown}, {count:,} events", peer and peer[0] / cpu, least=5)
            if size == 100:
                report.goal(f"{shown}, {count:,} events, s", cpu, most=20)
                report.goal(f"{shown}, {count:,} events, MiB", peak, most=2048)
        os.remove(file)
    report.say()
