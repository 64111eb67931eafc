# SPDX-License-Identifier: BSD-2-Clause
"""Code replaces other code, by mmap() over it and by mremap(): no stack is walked with the rows of the code
that was there before."""
from chains import compare
from lib import check, lossless, observe

ROUNDS = 50
for probe in ("alloc", "mmap", "fault"):
    profile, summary, truth = observe(probe, "remapped", arguments=(probe, str(ROUNDS)))
    lossless(profile, summary)
    # A stack is exact, or marked as cut.
    seen = compare(profile, truth, probe, others=True, at_least=probe == "fault", cut=True)
    stacks = summary["stacks"]
    share = stacks["stops"]["complete"] / stacks["captured"]
    print(f"{probe}: {100 * share:.2f} % complete, {stacks['deferred']} of {stacks['captured']} copied")
    check(share > 0.9, f"complete: {stacks}")
    check({"chain::from_thin()", "chain::from_wide()"} <= set(seen), f"both are there: {seen}")
