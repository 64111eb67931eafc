# SPDX-License-Identifier: BSD-2-Clause
"""alloc --size usable: equal to malloc_usable_size() to the byte for allocators whose sizes are known;
for others memflame says that they are not."""
import os

from lib import Memflame, Target, check, equal, lossless

PRELOADS = {"glibc": None, "jemalloc": "libjemalloc.so.2"}
UNKNOWN = {"tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so"}
NOTE = "sizes are as requested"


def watch(library, *options):
    environment = dict(os.environ, **({"LD_PRELOAD": library} if library else {}))
    target = Target("alloc_usable", env=environment)
    memflame = Memflame("alloc", "-p", target.pid, *options)
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    lossless(profile, summary)
    return profile, summary, truth


for allocator, library in PRELOADS.items():
    profile, summary, truth = watch(library, "--size", "usable")
    check(("by_flags" in truth["functions"]) == (allocator == "jemalloc"), "mallocx() is tried")
    profile.compare(truth["functions"])
    equal(f"{allocator}: notes", [note for note in summary["notes"] if NOTE in note], [])
    print(f"{allocator}: {len(truth['functions'])} functions as malloc_usable_size() says")

profile, summary, truth = watch(None)
usable = truth["functions"]["plain"]["total"]
check(profile.sum("total", "plain") < usable, "without the option sizes are as requested")

for allocator, library in UNKNOWN.items():
    profile, summary, truth = watch(library, "--size", "usable")
    notes = [note for note in summary["notes"] if NOTE in note]
    check(len(notes) == 1 and allocator in notes[0], f"{allocator}: notes {summary['notes']}")
    profile.compare(truth["functions"], columns=["live-count", "total-count"])
