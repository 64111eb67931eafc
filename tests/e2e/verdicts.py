# SPDX-License-Identifier: BSD-2-Clause
"""leaks: a small leak beside a large cache comes first, and the cache is called a cache. A minute long."""
import re
import sys

from lib import LONG, example, check, equal, path, run

if not LONG:
    print("SKIPPED: a minute for each way of counting; scripts/test full has it")
    sys.exit(77)

for options in ((), ("--sample", "64K")):
    output = path("verdicts.txt")
    run("leaks", "65", "1", "-d", "65", *options, "-o", output, "--", example("cache_server"), "70")
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
    equal(f"{options}: the largest stack of the cache is called one",
          bool(re.search(r"^    cache or pool: ", max(cached, key=len), re.M)), True)
