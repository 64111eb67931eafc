# SPDX-License-Identifier: BSD-2-Clause
"""mmap: every function and kind is exact to the byte, and the total is the change of VmSize."""
from lib import equal, lossless, observe
from proc import status_bytes

KINDS = {"anon": "[anon]", "file": "[file]", "shared": "[shared]", "none": "[PROT_NONE]"}

size = []
profile, summary, truth = observe(
    "mmap", "mmap_truth", "--kind", "all",
    before=lambda pid: size.append(status_bytes(pid, "VmSize")),
    after=lambda pid: size.append(status_bytes(pid, "VmSize")))
equal("columns", profile.columns, ["outstanding", "total", "calls"])
equal("shown", profile.shown, "outstanding")
profile.compare(truth["functions"])
profile.compare(truth["frameless"])  # behind mremap(), which keeps no frame pointer
for kind in KINDS.values():
    profile.compare(truth[kind], kind)
lossless(profile, summary)
for frames, _ in profile.stacks:
    equal(f"second frame of {frames} is a kind", frames[1] in KINDS.values(), True)

change = size[1] - size[0]
equal("the change of VmSize", change, truth["process"]["VmSize"]["outstanding"])
equal("all that is outstanding", profile.sum("outstanding"), change)

# --kind shows that part of the whole, and nothing else.
for option, kind in KINDS.items():
    part, summary, truth = observe("mmap", "mmap_truth", "--kind", option)
    part.compare(truth[kind], kind)
    equal(f"--kind {option}", part.sum("outstanding"), profile.sum("outstanding", kind))
    equal(f"other kinds with --kind {option}", {frames[1] for frames, _ in part.stacks}, {kind})
