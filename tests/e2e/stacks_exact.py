# SPDX-License-Identifier: BSD-2-Clause
"""A program without frame pointers: stacks are exact, function by function, with all four probes."""
from chains import compare, complete
from lib import SLOW, check, lossless, observe

# alloc takes 100,000 stacks, some deeper than 900 frames.
for probe, kind, rounds in [("alloc", "alloc", 40 if SLOW else 2600), ("brk", "brk", 40),
                            ("mmap", "mmap", 40), ("fault", "fault", 40), ("mmap", "large", 40),
                            ("fault", "large", 40)]:
    profile, summary, truth = observe(probe, "no_frame_pointer", "--max-depth", 1023,
                                      arguments=(kind, str(rounds)))
    complete(summary)
    lossless(profile, summary)
    # A page fault can come from anywhere; brk and mmap also come from malloc().
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")
    if not SLOW and probe == "alloc":
        captured = summary["stacks"]["captured"]
        check(captured >= 100000, f"only {captured} stacks")
