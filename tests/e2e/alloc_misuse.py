"""alloc --check: each double, wild and mismatched free is a candidate with its stack, and no other."""
import subprocess

from lib import Memflame, Target, check, equal, example, observe

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


# A process that was there before: what it had is not known, and no candidate.
_, summary, truth = observe("alloc", "misuse", "--check")
wanted = stated(truth)
known = {key: events for key, events in wanted.items() if key[0] != KINDS[1]}
equal("candidates", candidates(summary), known)

# From the first instruction on.
memflame = Memflame("alloc", "--check", "--", example("misuse"), stdout=subprocess.DEVNULL).wait()
equal("candidates of a command", candidates(memflame.summary()), wanted)

# Programs that do nothing of the kind, with memory that is used again, threads and children.
for program, arguments in (("alloc_truth", ()), ("alloc_checks", ()), ("prefixed", ()),
                           ("prefixed_wrapped", ()),
                           ("alloc_storm", ("--operations", "30000"))):
    _, summary, _ = observe("alloc", program, "--check", arguments=arguments)
    equal(f"candidates of {program}", summary["candidates"], [])

# Without --check nobody looks.
target = Target("misuse")
memflame = Memflame("alloc", "-p", target.pid)
target.work()
memflame.stop()
target.end()
check(not memflame.summary().get("candidates"), "candidates without --check")
