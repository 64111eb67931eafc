# SPDX-License-Identifier: BSD-2-Clause
"""record --probes alloc,brk,mmap,fault: each probe counts what it counts alone, to the byte."""
import ctypes
import json
import os
import subprocess

from lib import (MEMFLAME, PATIENCE, SLOW, USAGE, Memflame, Profile, Target, check, equal, example, losses, path,
                 run)

ALL = "alloc,brk,mmap,fault"
COLUMNS = {"alloc": ["live", "live-count", "total", "total-count"],
           "brk": ["brk-grown", "brk-outstanding", "brk-calls"],
           "mmap": ["mmap-outstanding", "mmap-total", "mmap-calls"],
           "fault": ["fault-gained", "fault-released"]}


def drawn(recording, *options):
    """A recording as render draws it."""
    output = path("drawn.json")
    run("render", recording, "--format", "json", "-o", output, *options)
    return Profile(output)


def renamed(section, probe):
    """A truth section with the names of that probe's columns among several."""
    prefix = "" if probe == "alloc" else probe + "-"
    return {function: {name if name == "approximate" else prefix + name: value
                       for name, value in figures.items()}
            for function, figures in section.items()}


def totals_are_those_of_stacks(profile, summary):
    for column in profile.columns:
        equal(f"total of {column}", summary["totals"][column], profile.sum(column))


# What each program states, with all probes at once. The OS's figures are compared for each.
for probe, program, options in (("alloc", "alloc_truth", ("--children", "exact")),
                                ("brk", "brk_truth", ()), ("mmap", "mmap_truth", ()),
                                ("fault", "fault_truth", ("--no-children",))):
    target = Target(program)
    memflame = Memflame("record", "--probes", ALL, "--interval", "0.1", *options, "-p", target.pid,
                        output="mfr")
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = drawn(memflame.output), memflame.summary()
    equal("columns", profile.columns, sum(COLUMNS.values(), []))
    equal("shown", profile.shown, "live")
    profile.compare(renamed(truth["functions"], probe), columns=COLUMNS[probe])
    totals_are_those_of_stacks(profile, summary)
    check(not losses(summary), f"something was lost: {losses(summary)}")
    equal("probes", list(summary["probes"]), ALL.split(","))
    compared = {row["name"].split(":")[0]: row for row in summary["reconciliation"]}
    equal("comparisons", sorted(compared), sorted(ALL.split(",")))
    equal("the break and [heap]", compared["brk"]["captured"], compared["brk"]["os"])
    # Probes on functions have a page of their own in each process, which no call of mmap made.
    pages = (compared["mmap"]["os"] - compared["mmap"]["captured"]) // 4096
    check(0 <= pages <= len(summary["pids"]), (compared["mmap"], summary["pids"]))
    check("memflame record --probes alloc,brk,mmap,fault -p" in open(profile.file, encoding="utf-8").read(),
          "the recording names the probes")
    # Each column can be drawn, and has a line in the timeline; verdicts find those of blocks.
    equal("a chosen column", drawn(memflame.output, "--value", "fault-gained").shown, "fault-gained")
    lines = json.loads(run("timeline", memflame.output, "--format", "json").stdout)
    check(all(f'"{column}"' in json.dumps(lines) for column in sum(COLUMNS.values(), [])),
          "lines of all columns")
    shown = run("timeline", memflame.output).stdout
    check(all(name in shown for name in ("resident", "live", "brk-grown", "mmap-outstanding", "fault-gained")), shown)
    run("timeline", memflame.output, "--show", "fault-gained", "-o", path("timeline.svg"))
    run("leaks", "--from", memflame.output)

# Without alloc, and in any order.
target = Target("brk_truth")
memflame = Memflame("record", "--probes", "mmap,brk", "-p", target.pid, output="mfr")
truth = target.work()
memflame.stop()
target.end()
profile = drawn(memflame.output)
equal("columns", profile.columns, COLUMNS["brk"] + COLUMNS["mmap"])
profile.compare(renamed(truth["functions"], "brk"))
profile.compare(renamed(truth["frameless"], "brk"))


def recorded(probes, *command):
    """Totals of a command that does the same each time."""
    recording, summary = path("run.mfr"), path("run.summary")
    collector = ["--collect", "kernel"] if probes == "alloc" else []  # of several, it always is
    done = subprocess.run([MEMFLAME, "record", "--probes", probes, *collector, "-o", recording, "--summary", summary,
                           "--", *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    equal(f"exit status of {command}: {done.stderr}", done.returncode, 0)
    with open(summary, encoding="utf-8") as stream:
        document = json.load(stream)
    check(not losses(document), f"something was lost: {losses(document)}")
    return document


# Fork, exec and exit: short processes one after the other, and at the same time. Addresses are the same each
# time, so what the programs do is the same, too.
ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
check(ctypes.CDLL(None).personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE)) >= 0, "addresses are not random")
loop = "i=0; while [ $i -lt 100 ]; do {0} & {0}; i=$((i+2)); done; wait".format(example("short_lived"))
for command in (("sh", "-c", loop),
                ("sh", "-c", f"exec sh -c 'exec {example('short_lived')}'")):
    together = recorded(ALL, *command)
    alone = {probe: recorded(probe, *command) for probe in ("alloc", "brk", "mmap", "fault")}
    check(len(together["pids"]) > 100 or command[-1] != loop, "a hundred processes were watched")
    for probe in ("alloc", "brk", "mmap"):
        prefix = "" if probe == "alloc" else probe + "-"
        for column, total in alone[probe]["totals"].items():
            equal(f"{column} of {probe}, beside others and alone", together["totals"][prefix + column], total)
    # Which pages are resident is the kernel's choice, and probes on functions take some themselves. But all
    # that became resident is seen, as alone. If a process ran another program just after its memory was read,
    # that reading stands for its end, and the summary says so.
    row = next(row for row in together["reconciliation"] if row["name"] == "fault: VmRSS growth")
    early = sum(int(note.split()[2]) for note in together["notes"] if "killed process(es)" in note)
    check(abs(row["captured"] - row["os"]) <= early * 4096 * 500, f"resident pages: {row}, {early} read early")

# A program that does much: a compiler with its children.
if not SLOW:
    source = path("source.cc")
    with open(source, "w", encoding="utf-8") as stream:
        stream.write("#include <map>\n#include <string>\nstd::map<std::string, int> m;\nint f() { return m[\"a\"]; }\n")
    command = ("c++", "-O1", "-c", source, "-o", path("source.o"))
    together = recorded(ALL, *command)
    for probe in ("alloc", "brk", "mmap"):
        prefix = "" if probe == "alloc" else probe + "-"
        for column, total in recorded(probe, *command)["totals"].items():
            equal(f"{column} of {probe} in a compiler", together["totals"][prefix + column], total)

# A small ring: what is lost is said of the probe that lost it.
target = Target("many_stacks", "20000")
memflame = Memflame("record", "--probes", ALL, "--max-stacks", "1000", "-p", target.pid, output="mfr")
target.work()
memflame.stop()
target.end()
summary = memflame.summary()
check(summary["probes"]["alloc"]["losses"]["stack_table_full"]["events"] > 0, "alloc's table is full")
equal("brk has a table of its own", summary["probes"]["brk"]["losses"], {})
check(any(note.startswith("alloc: lost ") for note in summary["notes"]), summary["notes"])

# What cannot be is refused before anything is watched.
for probes, words in (("alloc,kernel", "recorded alone"), ("alloc,alloc", "twice"), ("alloc,heap", "not 'heap'"),
                      ("alloc,", "not ''")):
    refusal = run("record", "--probes", probes, "-o", path("x.mfr"), "-p", "1", status=USAGE).stderr
    check(words in refusal, refusal)
for options, words in ((("--probes", "brk,mmap", "--every", "10"), "--every"),
                       (("--probes", "brk,fault", "--min-size", "10"), "--min-size")):
    refusal = run("record", *options, "-o", path("x.mfr"), "-p", "1", status=USAGE).stderr
    check(words in refusal, refusal)
check(not os.path.exists(path("x.mfr")), "no file of a refused run")
