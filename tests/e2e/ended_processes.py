# SPDX-License-Identifier: BSD-2-Clause
"""Many processes that have ended: the last 1,000 are kept apart, what the others left is in one place, and no byte is
lost or counted twice. alloc without looks, leaks with looks that forget, record with looks that go to a file."""
import re
import subprocess
import time

from lib import Memflame, Profile, check, equal, example, losses, path, run
from recording_lib import at, mark

CHILDREN, KEPT_APART = 1600, 1000
SETTLED = 6  # seconds after the end of a process, when all is known of it


def after_many(*command, inside=False, **how):
    program = [example("many_children"), str(CHILDREN)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    if inside:
        memflame = Memflame(*command, "--inside", "--", *program, **pipes, **how)
        target = memflame.process
    else:
        target = subprocess.Popen(program, **pipes)

    def go_on(answer):
        target.stdin.write("go on\n")
        target.stdin.flush()
        equal("it goes on", target.stdout.readline(), answer)

    equal("it waits", target.stdout.readline(), "ready\n")
    if not inside:
        memflame = Memflame(*command, "--children", "exact", "-p", target.pid, **how)
    go_on("done\n")
    time.sleep(SETTLED)
    moment = mark(memflame, "all have ended") if command[0] == "record" else None
    go_on("done\n")  # the end of another process brings on what is to be done about those before
    time.sleep(2)
    go_on("")
    memflame.wait()
    equal(f"{command[0]}: losses", losses(memflame.summary()), {})
    memflame.moment = moment
    return memflame


def look(profile, what, ended=CHILDREN + 1):
    equal(f"{what}: left", profile.sum("live", "leave_a_block"), ended * 1000)
    equal(f"{what}: blocks left", profile.sum("live-count", "leave_a_block"), ended)
    equal(f"{what}: allocated", profile.sum("total", "leave_a_block"), ended * 1500)


def processes(file):
    """The names of the processes that are drawn."""
    with open(file, encoding="utf-8") as text:
        return set(re.findall(r"many_children \((?:pid \d+|ended)\)", text.read()))


for inside in False, True:
    alloc = after_many("alloc", "--per-pid", inside=inside)
    look(alloc.profile(), f"alloc, inside: {inside}")
    drawn = processes(alloc.output)
    check("many_children (ended)" in drawn and KEPT_APART < len(drawn) < CHILDREN, f"{len(drawn)} processes")

    # The figures move between two looks, in the file of a recording, too.
    record = after_many("record", "--detail", "events", output="mfr", inside=inside)
    run("render", record.output, "--pid", "--format", "json", "-o", path("drawn.json"))
    look(Profile(path("drawn.json")), f"record, inside: {inside}")
    check("many_children (ended)" in processes(path("drawn.json")), "a recording has no ended processes")
    # Before that each had its own, and it has its names.
    look(at(record.output, record.moment), f"record, inside: {inside}, before they moved", CHILDREN)
    told = run("query", record.output, "--format", "csv", "select count(*), sum(size) from blocks "
               "join stacks on id = stack where text like '%leave_a_block%' and size = 1000").stdout
    equal("blocks among the events", told.splitlines()[1], f"{CHILDREN + 1},{(CHILDREN + 1) * 1000}")

    # Looks that forget them.
    leaks = after_many("leaks", "1", inside=inside).profile()
    equal(f"leaks, inside: {inside}: left", leaks.sum("live", "leave_a_block"), (CHILDREN + 1) * 1000)
