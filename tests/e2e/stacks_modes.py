# SPDX-License-Identifier: BSD-2-Clause
"""--stacks: dwarf and copy give the same folded stacks, fp gives those of frame pointers; each run says
which it used.

A copy holds one stack: if a signal handler runs on a stack of its own, the copy ends there."""
from chains import compare
from lib import Memflame, Target, check, equal, lossless, observe


ON_TWO_STACKS = ("chain::on_usr2(", "chain::on_segv(", "chain::on_innermost(",
                 "chain::on_tick_in_library(")


def crosses(stack):
    return any(name in stack for name in ON_TWO_STACKS)


def folded(mode):
    target = Target("no_frame_pointer", "alloc", "60")
    memflame = Memflame("alloc", "-p", target.pid, "--stacks", mode, "--copy-kib", 64,
                        "--ring-bytes", 1 << 28,
                        "--max-depth", 1023, "--value", "total-count", output="folded")
    target.work()
    memflame.stop()
    target.end()
    equal(f"mode with --stacks {mode}", memflame.summary()["stacks"]["mode"], mode)
    with open(memflame.output, encoding="utf-8") as stream:
        lines = dict(line.rsplit(" ", 1) for line in stream.read().splitlines()
                     if not line.startswith("#"))
    # The place that a timer interrupts differs from run to run.
    return {stack: count for stack, count in lines.items() if "_tick_" not in stack}


def ends(stacks):
    """The innermost function of each stack that a copy cannot hold, and how often it occurred."""
    return sorted((stack.rsplit("chain::", 1)[1], count) for stack, count in stacks.items()
                  if crosses(stack))


by_tables, by_copy = folded("dwarf"), folded("copy")
for stack in by_tables.keys() | by_copy.keys():
    if not crosses(stack):
        equal(f"count of {stack} with dwarf and copy", by_tables.get(stack), by_copy.get(stack))
equal("functions on two stacks", ends(by_copy), ends(by_tables))
check(len(ends(by_copy)) >= 3, f"only {ends(by_copy)} on two stacks")
check(len(by_tables) > 40, f"only {len(by_tables)} different stacks")
equal("the default is dwarf", observe("brk", "brk_truth")[1]["stacks"]["mode"], "dwarf")

for probe in ("alloc", "brk", "mmap", "fault"):
    profile, summary, truth = observe(probe, "no_frame_pointer", "--stacks", "copy", "--copy-kib", 64,
                                      "--ring-bytes", 1 << 28,
                                      "--max-depth", 1023, arguments=(probe, "20"))
    lossless(profile, summary)
    stops = summary["stacks"]["stops"]
    equal(f"whole or ended by the copy with {probe}", stops["complete"] + stops["copy_ended"],
          summary["stacks"]["captured"])
    for frames, _ in profile.stacks:
        cut = any(frame.startswith("[truncated: ") for frame in frames)
        equal(f"cut is a stack on two, and no other: {frames}", cut, crosses(";".join(frames)))
    profile.stacks = [(frames, values) for frames, values in profile.stacks
                      if not crosses(";".join(frames))]
    truth["functions"] = {name: figures for name, figures in truth["functions"].items()
                          if not crosses(name)}
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")

# A program that keeps frame pointers, with --stacks fp.
profile, summary, truth = observe("alloc", "alloc_truth", "--stacks", "fp")
equal("mode with --stacks fp", summary["stacks"]["mode"], "fp")
profile.compare(truth["functions"])
lossless(profile, summary)
# A program without frame pointers: the run says what is missing.
profile, summary, truth = observe("alloc", "no_frame_pointer", "--stacks", "fp",
                                  arguments=("alloc", "20"))
stops = summary["stacks"]["stops"]
equal("stops add up", sum(stops.values()), summary["stacks"]["captured"])
check(stops["complete"] < summary["stacks"]["captured"], f"all complete without frame pointers: {stops}")
check(profile.marked("total-count", "[truncated: ") > 0, "no stack is marked as cut")
