"""The whole system: a program that starts while we watch is unwound like any other."""
import json
import subprocess

from chains import compare
from lib import Memflame, check, example, path

ROUNDS = 200
memflame = Memflame("fault")
with open(path("truth"), "w", encoding="utf-8") as stream:
    subprocess.run([example("no_frame_pointer"), "fault", str(ROUNDS)], stdout=stream, check=True)
memflame.stop()
profile = memflame.profile()
with open(path("truth"), encoding="utf-8") as stream:
    truth = json.load(stream)

index = profile.columns.index("gained")
own = [(frames, values) for frames, values in profile.stacks if frames[0] == "no_frame_pointe"]
marked = [(frames, values) for frames, values in own
          if any(frame.startswith("[truncated") for frame in frames)]
everything = sum(values[index] for _, values in own)
missing = sum(values[index] for _, values in marked)
check(everything >= ROUNDS * 38, f"only {everything} pages of the program")
# Tables are made when a process is first met; until then stacks are cut. 900 frames are too many.
deep = [stack for stack in marked if stack[0][1] == "[truncated: too deep]"]
missing -= sum(values[index] for _, values in deep)
check(missing <= everything * 0.05, f"{missing} of {everything} pages have no complete stack")
profile.stacks = [stack for stack in own if stack not in marked]
truth["functions"] = {"chain::third()": {"gained": ROUNDS // 2}}
compare(profile, truth, "fault", others=True, at_least=True)
