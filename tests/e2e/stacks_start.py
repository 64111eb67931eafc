# SPDX-License-Identifier: BSD-2-Clause
"""Stacks reach the program's start however it is linked: dynamic or static, at a fixed address or not, with
glibc or musl."""
import os

from chains import compare, complete
from lib import Memflame, Target, example, observe, path

for variant in ("pie", "no_pie", "static", "static_pie", "high", "lld", "debug_frame", "musl",
                "musl_static"):
    if not os.path.exists(example(f"to_the_end_{variant}")):
        print(f"no {variant}: the linker, or musl-gcc, was not there")
        continue
    for probe in ("alloc", "brk", "mmap", "fault"):
        profile, summary, truth = observe(probe, f"to_the_end_{variant}", arguments=(probe,))
        complete(summary)
        if variant.startswith("musl"):  # ends at what calls main
            chains = truth["chains"]
            for leaf, callers in chains.items():
                chains[leaf] = [*callers[:callers.index("main") + 1], "."]
        # printf(), which prints the figures, touches pages of its own.
        compare(profile, truth, probe, others=True)

# Without section headers, which neither the kernel nor the dynamic linker needs.
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
