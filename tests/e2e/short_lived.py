# SPDX-License-Identifier: BSD-2-Clause
"""A program that ends at once has its names and figures."""
from lib import SLOW, Memflame, check, equal, example, lossless

for _ in range(5):
    memflame = Memflame("alloc", "--", example("short_lived")).wait()
    profile = memflame.profile()
    equal("its block", profile.sum("live", "short_lived", "allocate_and_vanish"), 123456)
    lossless(profile, memflame.summary())

    memflame = Memflame("fault", "--", example("short_lived")).wait()
    profile = memflame.profile()
    pages = profile.sum("gained", "allocate_and_vanish")
    # Emulated CPUs take turns: the program may end before memflame runs again. Its stacks are then cut,
    # and marked as cut.
    if SLOW and pages == 0:
        cut = profile.marked("gained", "[truncated: ")
        check(cut >= 29, f"only {cut} pages are on stacks said to be cut off: {profile.stacks}")
        continue
    # malloc() itself touches the first and the last of the block's 31 pages, where it keeps sizes.
    # A first run of code also maps the pages around it.
    check(29 <= pages <= 29 + 100, f"pages that it touched: {pages}")
