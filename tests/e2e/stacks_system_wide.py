# SPDX-License-Identifier: BSD-2-Clause
"""The whole system: a program that starts during the run is unwound like any other."""
import json
import subprocess

from chains import compare
from lib import Memflame, check, example, path

ROUNDS = 3000
memflame = Memflame("fault")
with open(path("truth"), "w", encoding="utf-8") as stream:
    subprocess.run([example("no_frame_pointer"), "fault", str(ROUNDS)], stdout=stream, check=True)
memflame.stop()
profile = memflame.profile()
with open(path("truth"), encoding="utf-8") as stream:
    truth = json.load(stream)

index = profile.columns.index("gained")
# The program's own stacks; 900 frames are too many by default.
own = [(frames, values) for frames, values in profile.stacks
       if frames[0] == "no_frame_pointe" and frames[-1].startswith("chain::")]
own = [stack for stack in own if "chain::bottom_of_900()" not in stack[0]]
marked = [stack for stack in own if stack[0][1].startswith("[truncated")]
everything, missing = (sum(values[index] for _, values in stacks) for stacks in (own, marked))
check(everything >= ROUNDS * 35, f"only {everything} pages of the program")
# Tables are made when a program is first seen; until then stacks are cut, and marked as cut.
check(missing <= everything * 0.05, f"{missing} of {everything} pages have no complete stack")
profile.stacks = [stack for stack in own if stack not in marked]
truth["functions"] = {"chain::third()": {"gained": ROUNDS * 9 // 10}}
compare(profile, truth, "fault", others=True, at_least=True)
