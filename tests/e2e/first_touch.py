# SPDX-License-Identifier: BSD-2-Clause
"""alloc --value first-touch, touched-by: which code touched the pages of live blocks first, to the byte."""
import os
import signal
import subprocess

from lib import USAGE, Memflame, Profile, check, equal, example, losses, path, run, spawn, wait_until

PROGRAM = example("first_touch")
JOINT = "[first touched by]"
NOBODY = {"never": "[never touched]", "before": "[there before]", "unattributable": "[not attributable]"}


def truth_of(text):
    lines = (line.split() for line in text.splitlines() if line not in ("ready", "done"))
    return {(allocator, toucher): int(size) for allocator, toucher, size in lines}


def joined(profile, allocator, toucher):
    """The bytes that one function has allocated, and another one has touched first."""
    column = profile.columns.index("first-touch")
    total = 0
    for frames, values in profile.stacks:
        if toucher in NOBODY:
            found = allocator in frames and frames[-1] == NOBODY[toucher]
        else:
            at = frames.index(JOINT) if JOINT in frames else len(frames)
            found = allocator in frames[:at] and toucher in frames[at:]
        total += values[column] if found else 0
    return total


def compare(profile, text):
    truth = truth_of(text)
    check(len(truth) > 15, text)
    for (allocator, toucher), size in truth.items():
        equal(f"{allocator} touched by {toucher}", joined(profile, allocator, toucher), size)
    for function in {allocator for allocator, _ in truth}:
        equal(f"first-touch of {function} in all", profile.sum("first-touch", function) -
              sum(values[profile.columns.index("first-touch")] for frames, values in profile.stacks
                  if JOINT in frames and function in frames[frames.index(JOINT):]
                  and function not in frames[:frames.index(JOINT)]),
              profile.sum("live", function))
    for column in ("first-touch", "touched-by"):
        equal(f"{column} in all", profile.sum(column), profile.sum("live"))
    for toucher in {toucher for _, toucher in truth if toucher not in NOBODY and toucher != "malloc"}:
        wanted = sum(size for (_, by), size in truth.items() if by == toucher)
        equal(f"touched by {toucher}", profile.sum("touched-by", toucher), wanted)
    equal("never touched", profile.sum("touched-by", "[never touched]"), profile.sum("first-touch", "[never touched]"))


def command_at_its_end():
    """The kernel holds the command at its end, so its memory can be looked at then."""
    done = run("alloc", "--value", "first-touch", "-o", path("end.json"), "--summary", path("end.summary"),
               "--", PROGRAM, input="\n")
    profile = Profile(path("end.json"))
    equal("what is drawn", profile.shown, "first-touch")
    compare(profile, done.stdout)
    check("first touch: of the live bytes, " in done.stderr, done.stderr)
    # The folded text is what a picture shows.
    text = run("render", "--format", "folded", path("end.json")).stdout
    check(any("hand_out;" in line and f";{JOINT};" in line and "touch_again" in line.split(JOINT)[1]
              for line in text.splitlines()), text)
    alone = run("render", "--value", "touched-by", "--format", "folded", path("end.json")).stdout
    check(JOINT not in alone and "touch_again" in alone, alone)


def copied_stacks():
    """Each copy of a stack has a key of its own."""
    done = run("alloc", "--stacks", "copy", "--value", "first-touch", "-o", path("copied.json"), "--", PROGRAM,
               input="\n")
    compare(Profile(path("copied.json")), done.stdout)


def picture_meanwhile(memflame):
    """SIGUSR1 makes a picture of what is live now."""
    memflame.process.send_signal(signal.SIGUSR1)
    name = memflame.output.replace(".json", ".1.json")
    wait_until(lambda: os.path.exists(name), "a picture comes")
    return Profile(name)


def while_it_runs():
    target = spawn([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    equal("the program", target.stdout.readline(), "ready\n")
    memflame = Memflame("alloc", "-p", target.pid, "--value", "touched-by")
    target.stdin.write("\n")
    target.stdin.flush()
    said = ""
    while not said.endswith("done\n"):
        line = target.stdout.readline()
        check(line, f"the program ended: {memflame.stderr()}")
        said += line
    compare(picture_meanwhile(memflame), said)
    memflame.stop()
    profile = memflame.profile()
    equal("what is drawn", profile.shown, "touched-by")
    compare(profile, said)
    equal("what was lost", losses(memflame.summary()), {})
    target.communicate("\n")


def in_a_child():
    """Memory that the parent has touched was there before."""
    memflame = Memflame("alloc", "--value", "first-touch", "--", PROGRAM, "fork", wait=False,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = memflame.process.stdout.readline() + memflame.process.stdout.readline()
    check(said.endswith("done\n"), said + memflame.stderr())
    memflame.process.send_signal(signal.SIGTERM)
    memflame.wait()
    for (allocator, toucher), size in truth_of(said).items():
        equal(f"{allocator} touched by {toucher}", joined(memflame.profile(), allocator, toucher), size)
    memflame.process.stdin.close()


def table_is_full():
    """Faults without room are counted, and their pages are not attributable."""
    memflame = Memflame("alloc", "--value", "first-touch", "--max-live", "64", "--", PROGRAM, wait=False,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    memflame.process.communicate("\n")
    memflame.wait()
    profile, lost = memflame.profile(), losses(memflame.summary())
    check(lost["page_table_full"]["events"] > 0, lost)
    check("page faults that found no room" in memflame.stderr(), memflame.stderr())
    check(profile.sum("first-touch", "[not attributable]") > 6 * 4096, profile.stacks)
    equal("first-touch in all", profile.sum("first-touch"), profile.sum("touched-by"))


def refused():
    for option in (("--sample", "1M"), ("--min-size", "100"), ("--size", "usable")):
        said = run("alloc", "--value", "first-touch", *option, "--", PROGRAM, status=USAGE).stderr
        check("--value first-touch" in said, said)
    said = run("alloc", "--inside", "--value", "first-touch", "--", PROGRAM, input="\n", status=USAGE).stderr
    check("--value first-touch" in said, said)


command_at_its_end()
copied_stacks()
while_it_runs()
in_a_child()
table_is_full()
refused()
