# SPDX-License-Identifier: BSD-2-Clause
"""alloc: cases that allocation profilers are known to get wrong are exact to the byte."""
from lib import equal, lossless, observe

profile, summary, truth = observe("alloc", "alloc_checks")
# The compiler puts catch blocks into functions of their own.
profile.stacks = [([frame.removesuffix(".cold") for frame in frames], values)
                  for frames, values in profile.stacks]
profile.compare(truth["functions"])
# Throwing allocates in the library, too; that memory is freed.
profile.compare(truth["catching"])
equal("the exception", profile.sum("total", "catches") - truth["catching"]["catches"]["live"] > 0,
      True)
lossless(profile, summary)
equal("free misses", summary["losses"]["free_miss"]["events"], 0)

# Functions that reach malloc() in several ways: each way has its own callers.
LAYERS = ["layer_one", "layer_two", "layer_three", "layer_four"]
for depth, outermost in enumerate(LAYERS):
    live = sum(values[0] for frames, values in profile.stacks
               if [frame for frame in frames if frame in LAYERS] == LAYERS[depth::-1])
    equal(f"from calls_layers through {outermost}", live, 400)
for depth in range(1, 9):
    live = sum(values[0] for frames, values in profile.stacks if frames.count("recurses") == depth)
    equal(f"at depth {depth} of a recursion", live, 11)

# Callers are right after a longjmp and after an exception.
for inner, outer in (("jumps_inner", "jumps"), ("catches_inner", "catches")):
    callers = {}
    for frames, values in profile.stacks:
        if outer in frames and values[0]:
            below_malloc = [frame for frame in frames if frame in
                            (outer, inner, "deep_one", "deep_two", "deep_three", "after_inner",
                             "after_outer", "main")]
            callers[values[0]] = below_malloc
    equal(f"stacks of {outer}", callers,
          {123456: ["main", outer, inner, "deep_one", "deep_two", "deep_three"],
           123457: ["main", outer, inner, "after_inner"],
           123458: ["main", outer, "after_outer"]})
# A child is a process of its own.
equal("roots of the child", {frames[0] for frames, _ in profile.stacks if "in_child" in frames},
      {frames[0] for frames, _ in profile.stacks if "in_parent" in frames})
