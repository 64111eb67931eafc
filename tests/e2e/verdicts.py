# SPDX-License-Identifier: BSD-2-Clause
"""leaks: a small leak beside a large cache comes first, and the cache is called a cache. A minute long.

$MEMFLAME_VERDICT_RUNS: the number of runs of each way of looking (1). Six run at once.
"""
import os
import re
import sys

from lib import LONG, MEMFLAME, PATIENCE, check, equal, example, path, spawn

RUNS = int(os.environ.get("MEMFLAME_VERDICT_RUNS", "1"))
AT_ONCE = 6

if not LONG and "MEMFLAME_VERDICT_RUNS" not in os.environ:
    print("SKIPPED: a minute for each way of counting; scripts/test full has it")
    sys.exit(77)


def leaks(name, *options):
    return spawn([MEMFLAME, "leaks", "65", "1", *options, "-o", path(name), "--", example("cache_server"), "70"])


def picture(name, *options):
    return spawn([MEMFLAME, "alloc", "--verdicts", "on", "-d", "65", *options, "-o", path(name), "--",
                  example("cache_server"), "70"])


def size(stack):
    """The bytes that the first line of a stack states."""
    number, unit = re.match(r" *([\d.]+) (B|KiB|MiB)", stack).groups()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]


def check_report(name, text):
    stacks = [stack for stack in text.split("\n\n") if "[cache_server]" in stack]
    check("server::Journal::begin" in stacks[0] and "    leak: " in stacks[0],
          f"{name}: the leak comes first: {text}")
    share = re.search(r"leak: ([\d.]+) % of the blocks never come back", stacks[0])
    # Some 18 samples have leaked, give or take four standard errors.
    low, high = (0.2, 4.0) if name.startswith("sampled") else (1.5, 2.5)
    check(share and low < float(share[1]) < high, f"{name}: about 2 % leak: {stacks[0]}")
    cached = [stack for stack in stacks if "server::PageCache::load" in stack]
    check(cached, f"{name}: the cache is listed")
    for stack in cached:
        check("    leak: " not in stack, f"{name}: a cache does not leak: {stack}")
    # The pages. The nodes that hold them are small, so a sampled run sees a few.
    check(re.search(r"^    cache or pool: ", max(cached, key=size), re.M), f"{name}: the cache is called one: {text}")


def check_picture(name, text):
    """The first line below the title, and a flag. What is live is nine tenths cache."""
    caption = re.findall(r'<text class="leak"[^>]*>([^<]*)', text)
    check(caption and caption[0].startswith("leak: ") and "of the blocks never come back" in caption[0],
          f"{name}: the caption: {caption}")
    check("server::Journal::begin" in "".join(caption), f"{name}: its stack: {caption}")
    check(re.search(r'class="flag"[^>]*>leak [\d.]+ KiB/s<', text), f"{name}: a flag with the rate")


WAYS = {"exact": (leaks, check_report), "sampled": (leaks, check_report), "picture": (picture, check_picture),
        "sampled picture": (picture, check_picture)}
runs = [(way, number) for number in range(RUNS) for way in WAYS]
for first in range(0, len(runs), AT_ONCE):
    started = {}
    for way, number in runs[first:first + AT_ONCE]:
        name = f"{way} {number}." + ("svg" if "picture" in way else "txt")
        options = ("--sample", "64K") if way.startswith("sampled") else ()
        started[name] = WAYS[way][0](name, *options), WAYS[way][1]
    for name, (process, check_output) in started.items():
        equal(f"{name}: exit status", process.wait(3 * PATIENCE), 0)
        with open(path(name), encoding="utf-8") as stream:
            check_output(name, stream.read())
    print("right:", ", ".join(started), flush=True)
