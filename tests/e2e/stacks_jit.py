# SPDX-License-Identifier: BSD-2-Clause
"""Code made at run time, with frame pointers and a perf map, has exact stacks whenever it became executable."""
from chains import compare, complete
from lib import lossless, observe

for probe in ("alloc", "brk", "mmap", "fault"):
    profile, summary, truth = observe(probe, "jit", arguments=(probe, "100"))
    complete(summary)
    lossless(profile, summary)
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")
