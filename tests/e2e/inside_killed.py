# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: a program that is killed at any moment leaves figures that agree with each other and with what it
had done; children that are forked under load are counted completely, and so is their parent."""
import os
import random
import signal
import struct
import time

from lib import LONG, Memflame, check, equal, example, losses, path, wait_until

counts = path("counts")
THREADS = 4


def counted():
    """What the program says of itself: its pid, then begun and done of allocations, bytes, frees, freed bytes."""
    with open(counts, "rb") as stream:
        words = struct.unpack_from(f"<{8 + 8 * THREADS}Q", stream.read())
    return words[0], [sum(words[8 + i::8]) for i in range(8)]


def start(*arguments):
    if os.path.exists(counts):
        os.unlink(counts)
    memflame = Memflame("alloc", "--inside", "--", example("counted"), counts, "--threads", THREADS, *arguments)
    wait_until(lambda: os.path.exists(counts) and os.path.getsize(counts) and counted()[1][1] > 1000,
               "the program allocates")
    return memflame


def within(what, least, figure, most):
    check(least <= figure <= most, f"{what}: {figure}, but the program did {least} to {most}")


def figures(memflame):
    profile, summary = memflame.profile(), memflame.summary()
    check(not losses(summary), f"something was lost: {losses(summary)}")
    equal("frees of unknown blocks", losses(summary, "news").get("free_miss", {}).get("events", 0), 0)
    for column in profile.columns:
        equal(f"total of {column}", summary["totals"][column], profile.sum(column))
    equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)
    return {column: profile.sum(column, "counted_allocate") for column in profile.columns}, profile, summary


# Killed at random moments: the first instants, and up to some rounds of all rings later.
moments = random.Random(5)
for turn in range(100 if LONG else 5):
    memflame = start()
    time.sleep(moments.random() ** 2 * 0.3)
    os.kill(counted()[0], signal.SIGKILL)
    memflame.wait(128 + signal.SIGKILL)
    _, (begun, done, bytes_begun, bytes_done, frees_begun, frees_done, freed_begun, freed_done) = counted()
    got, _, summary = figures(memflame)
    within("allocations", done, got["total-count"], begun)
    within("bytes", bytes_done, got["total"], bytes_begun)
    within("live blocks", done - frees_begun, got["live-count"], begun - frees_done)
    within("live bytes", bytes_done - freed_begun, got["live"], bytes_begun - freed_done)
    within("frees", frees_done, got["total-count"] - got["live-count"], frees_begun)
    print(f"turn {turn}: {done} to {begun} allocations, seen {got['total-count']}, live {got['live-count']}")

# Forks while four threads allocate.
FORKS = 20
memflame = start("--operations", 300_000, "--forks", FORKS)
memflame.wait()
_, (begun, done, _, size, frees, frees_done, _, freed) = counted()
equal("all calls have ended", (begun, frees), (done, frees_done))
got, profile, _ = figures(memflame)
equal("parent", got, {"live": size - freed, "live-count": done - frees, "total": size, "total-count": done})
equal("children", [profile.sum(column, "child_allocate") for column in profile.columns],
      [FORKS * 1000 * 100, FORKS * 1000, FORKS * 2000 * 100, FORKS * 2000])
