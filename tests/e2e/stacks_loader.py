# SPDX-License-Identifier: BSD-2-Clause
"""Libraries that come and go while we watch, at the same addresses, deleted and replaced on disk."""
from chains import compare, complete
from lib import SLOW, check, lossless, observe

ROUNDS = 10
for probe in ("alloc", "mmap", "brk", "fault"):
    # Time enough to read what is new.
    profile, summary, truth = observe(probe, "loader", arguments=(probe, str(ROUNDS),
                                                                  "1000" if SLOW else "150"))
    complete(summary)
    lossless(profile, summary)
    compare(profile, truth, probe, others=True, at_least=probe == "fault")

# In no time at all: a stack is exact, or it says that it is not.
profile, summary, truth = observe("alloc", "loader", arguments=("alloc", "300"))
lossless(profile, summary)
# A file that was deleted before it could be opened gives no names.
profile.stacks = [(frames, values) for frames, values in profile.stacks
                  if not any(frame.startswith("[plugin.so+") for frame in frames)]
seen = compare(profile, truth, "alloc", cut=True)
check("chain::loads()" in seen, f"the program's own calls are there in any case: {seen}")
