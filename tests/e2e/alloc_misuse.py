# SPDX-License-Identifier: BSD-2-Clause
"""alloc --check: each double, wild and mismatched free is a candidate with its stack; nothing else is."""
import subprocess
import sys

from lib import Memflame, Target, check, equal, example, observe, run

CANDIDATES = 5  # exit code

KINDS = ["double free", "free of an address never allocated", "mismatched free"]


def candidates(summary):
    """(kind, function) -> events"""
    found = {}
    for candidate in summary["candidates"]:
        check(candidate["kind"] in KINDS, f"an unknown kind: {candidate}")
        frames = set(candidate["stacks"]["freed"])
        names = [name for name in FUNCTIONS if name in frames]
        equal(f"functions of the program in {candidate}", len(names), 1)
        key = (candidate["kind"], names[0])
        found[key] = found.get(key, 0) + candidate["events"]
    return found


FUNCTIONS = []


def stated(truth):
    FUNCTIONS[:] = [name for section in truth.values() for name in section]
    return {(kind, name): figures["events"] for kind in KINDS for name, figures in
            truth[kind].items()}


# In a process that ran before, older blocks are unknown; their frees are not candidates.
target = Target("misuse")
memflame = Memflame("alloc", "-p", target.pid, "--check")
wanted = stated(target.work())
memflame.stop(CANDIDATES)
target.end()
summary = memflame.summary()
known = {key: events for key, events in wanted.items() if key[0] != KINDS[1]}
equal("candidates", candidates(summary), known)
# Ten correct frees, and two of one block.
equal("frees in children", summary["frees"]["inherited"], 12)

# From the first instruction on.
memflame = Memflame("alloc", "--check", "--", example("misuse"), stdout=subprocess.DEVNULL)
memflame.wait(CANDIDATES)
equal("candidates of a command", candidates(memflame.summary()), wanted)
# A command that fails keeps its own exit code.
run("alloc", "--check", "--", "sh", "-c", f"{example('misuse')}; exit 7", status=7)

# An allocator's own frees at the end of a thread are not the program's errors.
THREADS = """
import threading
threads = [threading.Thread(target=lambda: [b"x" * n for n in range(2000)]) for _ in range(60)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
memflame = Memflame("alloc", "--check", "--", sys.executable, "-c", THREADS).wait()
summary = memflame.summary()
equal("candidates of threads", summary["candidates"], [])
equal("frees of blocks not seen", summary["losses"]["free_miss"]["events"], 0)

# An allocator gives out blocks that no probe sees, so their frees cannot be told from errors.
memflame = Memflame("alloc", "--check", "--", example("second_door")).wait()
summary = memflame.summary()
equal("candidates of an allocator with a second door", summary["candidates"], [])
notes = " ".join(summary["notes"])
check("2,000 frees may be wrong" in notes and "second_door allocates blocks" in notes, notes)

# Programs without errors, which use memory again, in threads and children: no candidates.
for program, arguments in (("alloc_truth", ()), ("alloc_checks", ()), ("prefixed", ()),
                           ("prefixed_wrapped", ()),
                           ("alloc_storm", ("--operations", "30000"))):
    _, summary, _ = observe("alloc", program, "--check", arguments=arguments)
    equal(f"candidates of {program}", summary["candidates"], [])

# Without --check there are no candidates.
target = Target("misuse")
memflame = Memflame("alloc", "-p", target.pid)
target.work()
memflame.stop()
target.end()
check(not memflame.summary().get("candidates"), "candidates without --check")
