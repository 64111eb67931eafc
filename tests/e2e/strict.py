# SPDX-License-Identifier: BSD-2-Clause
"""--strict: exit code 4 if anything was lost or stacks were cut, else 0. Either way the output is written,
and says how many events have a cut stack, why, and what helps."""
import re

from lib import LOSSY, Memflame, Target, check, equal

for room, status in ((10, LOSSY), (100000, 0)):
    target = Target("many_stacks", "200")
    memflame = Memflame("alloc", "-p", target.pid, "--strict", "--max-live", room)
    target.work()
    memflame.stop(status)
    target.end()
    equal("bytes in the output", memflame.profile().sum("total"), 3200)

# 900 frames with a limit of 300 or 512: events have cut stacks, and their bytes stay in the totals.
ROUNDS, WORDS = 30, "--max-depth: raise it"
for options, status in ((("--strict",), LOSSY), ((), 0), (("--strict", "--max-depth", 1000), 0)):
    target = Target("no_frame_pointer", "alloc", str(ROUNDS))
    memflame = Memflame("alloc", "-p", target.pid, "--value", "total", *options, output="svg")
    target.work()
    memflame.stop(status)
    target.end()
    said, summary = memflame.stderr(), memflame.summary()
    cut = re.search(r"^memflame: lost 0; ([\d,]+) \(.*\) events have a cut stack$", said, re.MULTILINE)
    with open(memflame.output, encoding="utf-8") as stream:
        picture = stream.read()
    equal(f"the run has cut stacks {options}", bool(cut), "--max-depth" not in options)
    equal(f"the picture says so {options}", "cut stacks: too deep" in picture, bool(cut))
    equal(f"what helps {options}", WORDS in said, bool(cut))
    equal(f"events {options}", summary["cut_events"], ROUNDS if cut else 0)
    if cut:
        equal("one figure in the text and the summary", cut[1], f"{summary['cut_events']:,}")
        check(summary["cut_bytes"] > 0, "bytes of cut stacks")
