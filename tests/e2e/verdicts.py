# SPDX-License-Identifier: BSD-2-Clause
"""leaks: a small leak beside a large cache comes first, and the cache is called a cache. A minute long."""
import re
import sys

from lib import LONG, MEMFLAME, PATIENCE, check, equal, example, path, spawn

if not LONG:
    print("SKIPPED: a minute for each way of counting; scripts/test full has it")
    sys.exit(77)

WAYS = {"exact": (), "sampled": ("--sample", "64K")}
# Both at once: each takes as long as telling a cache from a leak takes.
runs = {way: spawn([MEMFLAME, "leaks", "65", "1", *options, "-o", path(f"{way}.txt"), "--",
                    example("cache_server"), "70"])
        for way, options in WAYS.items()}
alloc = spawn([MEMFLAME, "alloc", "--verdicts", "on", "-d", "65", "-o", path("server.svg"), "--",
               example("cache_server"), "66"])
for options, process in runs.items():
    output = path(f"{options}.txt")
    equal(f"{options}: exit status", process.wait(3 * PATIENCE), 0)
    with open(output, encoding="utf-8") as stream:
        report = stream.read()
    stacks = [stack for stack in report.split("\n\n") if "[cache_server]" in stack]
    check("server::Journal::begin" in stacks[0] and "    leak: " in stacks[0],
          f"{options}: the leak comes first: {report}")
    share = re.search(r"leak: ([\d.]+) % of the blocks never come back", stacks[0])
    check(share and 1.0 < float(share[1]) < 3.5, f"{options}: about 2 % leak: {stacks[0]}")
    cached = [stack for stack in stacks if "server::PageCache::load" in stack]
    check(cached, f"{options}: the cache is listed")
    for stack in cached:
        check("    leak: " not in stack, f"{options}: a cache does not leak: {stack}")
    # Some three hundred samples do not always tell it from blocks that live long and come back.
    if options == "exact":
        check(re.search(r"^    cache or pool: ", cached[0], re.M), f"the cache is called one: {cached[0]}")

# The picture points it out: the first line below the title, and a flag. What is live is nine tenths cache.
equal("alloc: exit status", alloc.wait(3 * PATIENCE), 0)
with open(path("server.svg"), encoding="utf-8") as stream:
    picture = stream.read()
first = re.search(r'<text class="leak"[^>]*>([^<]*)', picture)
check(first and first[1].startswith("leak: ") and "of the blocks never come back" in first[1], f"the caption: {first}")
check("server::Journal::begin" in "".join(re.findall(r'<text class="leak"[^>]*>([^<]*)', picture)), "its stack")
check(re.search(r'class="flag"[^>]*>leak [\d.]+ KiB/s<', picture), "a flag with the rate")
