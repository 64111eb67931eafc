# SPDX-License-Identifier: BSD-2-Clause
"""If memflame can see nothing, it says what it looked for, and fails if it did not run a command; if nothing happened, it says how many
processes it watched."""
import os
import subprocess

from lib import COMMAND_FAILED, Memflame, check, equal, example, path, run, spawn

OUTPUT = path("nothing.svg")
STRIPPED = example("alloc_truth_stripped")


def fails(status, hints, *arguments):
    done = run(*arguments[:1], "-o", OUTPUT, *arguments[1:], status=status)
    for hint in hints:
        check(hint in done.stderr, f"{arguments}: {done.stderr!r} has {hint!r}")
    equal(f"{arguments}: a picture is left behind", os.path.exists(OUTPUT), False)


# A static program without symbols has no function to probe.
WORDS = ["nothing could be seen of alloc_truth_str (", "malloc and free were looked for in " + STRIPPED,
         "--alloc", "memflame fault"]
# Its status is the result all the same, and an empty picture.
for word in ("alloc", "leaks"):
    done = run(word, "-o", OUTPUT, "--", STRIPPED)
    for hint in WORDS:
        check(hint in done.stderr, f"{word}: {done.stderr!r} has {hint!r}")
    os.remove(OUTPUT)
fails(COMMAND_FAILED, ["--obj nosuch.so", STRIPPED], "alloc", "--obj", "nosuch.so", "--", STRIPPED)
# Beside a program that can be seen, it is named.
memflame = Memflame("alloc", "--", "sh", "-c", f"{STRIPPED}; exit 7", wait=False,
                    stdout=subprocess.DEVNULL).wait(7)
check(any(note.startswith("not seen: what alloc_truth_str (") for note in memflame.summary()["notes"]),
      f"the notes name it: {memflame.summary()['notes']}")
check(memflame.profile().sum("total", "sh") > 0, "the shell is seen")

# No process of that name: nothing was watched.
for probe in ("alloc", "brk", "mmap", "fault", "leaks"):
    fails(1, ["--comm nosuch", "nothing was watched"], probe, "--comm", "nosuch", "-d", "0.3")

# A process that does nothing is a result, not an error.
sleeper = spawn(["sleep", "60"])
for probe in ("alloc", "brk", "mmap", "fault"):
    memflame = Memflame(probe, "-p", sleeper.pid, "-d", "0.3", output="svg").wait()
    said = "nothing happened: 1 process was watched for 0."
    check(said in memflame.stderr(), f"{probe}: {memflame.stderr()!r} has {said!r}")
    with open(memflame.output, encoding="utf-8") as stream:
        check(said in stream.read(), f"{probe}: the picture has {said!r}")
memflame = Memflame("brk", "--", "true", wait=False).wait()
check(not any("nothing happened" in note for note in memflame.summary()["notes"]), "true calls brk()")
