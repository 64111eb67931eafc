# SPDX-License-Identifier: BSD-2-Clause
"""alloc --value untouched, slack, pinning: what live blocks waste, to the byte, from the kernel and from inside."""
import signal
import subprocess

from lib import USAGE, Memflame, Profile, check, equal, example, path, run, spawn

PROGRAM = example("wasteful")
FUNCTIONS = {"untouched": "reserve_for_later", "in-whole-pages": "reserve_for_later", "pinning": "hold_the_heap"}


def truth_of(text):
    """What the program says of itself, by the name of the figure."""
    return {name: int(size) for name, size in (line.split() for line in text.splitlines()) if name != "done"}


def compare(profile, truth, pins=True):
    for column, function in FUNCTIONS.items():
        wanted = truth[column] if pins or column != "pinning" else 0
        equal(f"{column} in all", profile.sum(column), wanted)
        equal(f"{column} of {function}", profile.sum(column, function), wanted)
    # What the C library allocates for itself has slack, too.
    equal("slack", sum(profile.sum("slack", function)
                       for function in ("reserve_for_later", "keep_odd_sizes", "hold_the_heap")), truth["slack"])


def command_at_its_end():
    """The kernel holds the command at its end, so its memory can be looked at then."""
    done = run("alloc", "--value", "untouched", "-o", path("end.json"), "--", PROGRAM, input="\n")
    profile = Profile(path("end.json"))
    equal("what is drawn", profile.shown, "untouched")
    truth = truth_of(done.stdout)
    compare(profile, truth)
    check("untouched: 48.0 MiB (74.7 %) of the live bytes are in pages that were never touched" in done.stderr,
          done.stderr)
    check("the heap of process" in done.stderr and "1 block with 100 B may keep it from shrinking" in done.stderr,
          done.stderr)


def while_it_runs(collector):
    memflame = Memflame("alloc", "--collect", collector, "--value", "slack", "--", PROGRAM, wait=False,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = ""
    while not said.endswith("done 0\n"):
        line = memflame.process.stdout.readline()
        check(line, f"the program ended: {memflame.stderr()}")
        said += line
    # The command goes on.
    memflame.process.send_signal(signal.SIGTERM)
    memflame.wait()
    compare(memflame.profile(), truth_of(said))
    memflame.process.stdin.close()


def attached():
    """Blocks from before are not known, so what they waste is not, either."""
    target = spawn([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while target.stdout.readline() != "done 0\n":
        pass
    said = run("alloc", "-p", target.pid, "--value", "pinning", status=USAGE).stderr
    check("--value pinning must know all blocks of a heap" in said, said)
    memflame = Memflame("alloc", "-p", target.pid, "--value", "untouched")
    memflame.stop()
    check("pinning: not known of process" in memflame.stderr(), memflame.stderr())
    target.communicate("\n")


def refused():
    for option in (("--sample", "1M"), ("--min-size", "100"), ("--size", "usable")):
        check("--value slack" in run("alloc", "--value", "slack", *option, "--", PROGRAM, status=USAGE).stderr, option)
    done = run("alloc", "--inside", "--value", "slack", "-o", path("none.json"), "--", PROGRAM, input="\n", status=125)
    check("there was no process whose memory could be looked at" in done.stderr, done.stderr)


command_at_its_end()
while_it_runs("kernel")
while_it_runs("inside")
attached()
refused()
