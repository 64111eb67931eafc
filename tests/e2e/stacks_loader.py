# SPDX-License-Identifier: BSD-2-Clause
"""Libraries come and go during the run: at the same addresses, deleted, and replaced on disk."""
from chains import compare, complete
from lib import SLOW, check, lossless, observe

ROUNDS = 10
for probe in ("alloc", "mmap", "brk", "fault"):
    # Enough time to read a new library.
    profile, summary, truth = observe(probe, "loader", arguments=(probe, str(ROUNDS),
                                                                  "1000" if SLOW else "150"))
    complete(summary)
    lossless(profile, summary)
    compare(profile, truth, probe, others=True, at_least=probe == "fault")

# Without any time: a stack is exact, or marked as cut.
profile, summary, truth = observe("alloc", "loader", arguments=("alloc", "300"))
lossless(profile, summary)
# A file that is deleted before it can be opened has no names.
profile.stacks = [(frames, values) for frames, values in profile.stacks
                  if not any(frame.startswith("[plugin.so+") for frame in frames)]
seen = compare(profile, truth, "alloc", cut=True)
check("chain::loads()" in seen, f"the program's own calls are there in any case: {seen}")
