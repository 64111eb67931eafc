# SPDX-License-Identifier: BSD-2-Clause
"""A program that is gone at once keeps its names, and its figures."""
from lib import SLOW, Memflame, check, equal, example, lossless

for _ in range(5):
    memflame = Memflame("alloc", "--", example("short_lived")).wait()
    profile = memflame.profile()
    equal("its block", profile.sum("live", "short_lived", "allocate_and_vanish"), 123456)
    lossless(profile, memflame.summary())

    memflame = Memflame("fault", "--", example("short_lived")).wait()
    profile = memflame.profile()
    pages = profile.sum("gained", "allocate_and_vanish")
    # Emulated CPUs take turns: all of the program may be over before memflame has its next one. Its
    # stacks are then cut off, and say so.
    if SLOW and pages == 0:
        cut = profile.marked("gained", "[truncated: ")
        check(cut >= 29, f"only {cut} pages are on stacks said to be cut off: {profile.stacks}")
        continue
    # malloc() itself touches the first and the last of the block's 31 pages, where it keeps sizes.
    # Code that runs for the first time comes with its neighbours.
    check(29 <= pages <= 29 + 100, f"pages that it touched: {pages}")
