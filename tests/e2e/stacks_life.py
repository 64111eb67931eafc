"""Threads, fork, vfork and exec, clone: exact stacks in each of the processes."""
from chains import compare, complete
from lib import lossless, observe

for probe in ("alloc", "mmap", "brk", "fault"):
    profile, summary, truth = observe(probe, "life", arguments=(probe, "20"))
    complete(summary)
    lossless(profile, summary)
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")
