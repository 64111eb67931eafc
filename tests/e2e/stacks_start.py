# SPDX-License-Identifier: BSD-2-Clause
"""However a program is linked, its stacks go to where it starts: dynamic or static, at a fixed address
or not, with glibc or musl."""
import os

from chains import Chains, ROOT, compare, complete, plain
from lib import Memflame, Target, check, equal, example, observe, path

for variant in ("pie", "no_pie", "static", "static_pie", "high", "lld", "debug_frame"):
    if variant == "lld" and not os.path.exists(example("to_the_end_lld")):
        print("not linked with lld: it was not there")
        continue
    for probe in ("alloc", "brk", "mmap", "fault"):
        profile, summary, truth = observe(probe, f"to_the_end_{variant}", arguments=(probe,))
        complete(summary)
        # Writing the figures down, printf() touches pages of its own.
        compare(profile, truth, probe, others=True)

# Without section headers: the loader needs none, and nor does the dynamic linker.
with open(example("to_the_end_pie"), "rb") as file:
    image = bytearray(file.read())
image[0x28:0x30] = bytes(8)  # e_shoff
image[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
with open(path("sectionless"), "wb") as file:
    file.write(image)
os.chmod(path("sectionless"), 0o755)
for probe in ("alloc", "fault"):
    target = Target("to_the_end_pie", probe, executable=path("sectionless"))
    memflame = Memflame(probe, "-p", target.pid)
    target.work()
    memflame.stop()
    target.end()
    complete(memflame.summary())

# Debian's musl says nothing about its frames and keeps no frame pointers. What was before main cannot
# be known, nor what is below a function of musl itself; but no frame may be wrong.
for variant in ("musl", "musl_static"):
    if not os.path.exists(example(f"to_the_end_{variant}")):
        print(f"no {variant}: there was no musl-gcc")
        continue
    for probe in ("alloc", "brk", "mmap", "fault"):
        profile, summary, truth = observe(probe, f"to_the_end_{variant}", arguments=(probe,))
        chains = Chains(truth)
        wanted = truth["chains"]["has_event"]
        wanted = wanted[:wanted.index("main") + 1]
        found = 0
        for frames, values in profile.stacks:
            names = [plain(name) for name in frames[ROOT[probe]:]]
            leaf, callers = chains.split(names)
            if leaf == "has_event":
                known = [name for name in callers if chains.is_own(name)]
                equal(f"callers of has_event in {frames}", known, wanted)
                found += values[profile.columns.index("total-count")] if probe == "alloc" else 1
        stops = summary["stacks"]["stops"]
        equal("stops add up", sum(stops.values()), summary["stacks"]["captured"])
        if probe == "alloc":
            equal(f"blocks of {variant}", found, truth["functions"]["has_event"]["total_count"])
        elif probe == "fault":  # in the program's own code
            check(found, f"no stack of {variant} with {probe}")
