# SPDX-License-Identifier: BSD-2-Clause
"""record --start-paused: nothing counts until control resumes the run; then it is as if it had begun at that moment."""
import json
import os
import signal

from lib import USAGE, Memflame, Target, check, equal, path, run, wait_until
from recording_lib import drawn


def control(memflame, *request, status=0):
    return run("control", memflame.process.pid, *request, status=status)


def facts(memflame):
    return dict(line.split(": ", 1) for line in control(memflame, "status").stdout.splitlines())


for options in (("--collect", "kernel", "--detail", "events"), ("--inside", "--detail", "events"), ("--probes", "alloc,fault")):
    before, after = Target("alloc_truth"), Target("alloc_truth")
    memflame = Memflame("record", "--start-paused", *options, "-p", f"{before.pid},{after.pid}", output="mfr")
    equal(f"{options}: status", facts(memflame)["counting since"], "not yet: paused")
    refusal = control(memflame, "mark", "early", status=1).stderr
    check("is paused" in refusal, refusal)
    before.work()
    memflame.process.send_signal(signal.SIGUSR1)  # has no meaning yet, and ends nothing
    equal(f"{options}: resumed", control(memflame, "resume").stdout, "resumed\n")
    wait_until(lambda: "UTC" in facts(memflame)["counting since"], "it counts")
    check("not paused" in control(memflame, "resume", status=1).stderr, "it cannot be resumed twice")
    control(memflame, "mark", "late")
    truth = after.work()
    memflame.stop()
    # Both do the same, so the figures of both would be twice as large.
    drawn(memflame.output).compare(truth["functions"])
    if options[0] != "--probes":
        drawn(memflame.output, "--where", "size >= 0").compare(truth["functions"])
    notes = run("render", memflame.output, "--format", "json").stdout
    check("after a pause of " in notes and "--start-paused" in notes, f"{options}: the recording says so")
    marks = json.loads(run("timeline", "--format", "json", memflame.output).stdout)["marks"]
    check([mark["name"] for mark in marks] == ["late"], marks)
    before.end()
    after.end()

# A command runs meanwhile. What ends before it is resumed makes no file.
for collector in (("--collect", "kernel"), ("--inside",)):
    memflame = Memflame("record", "--start-paused", *collector, "--", "sleep", "0.2", output="mfr")
    memflame.wait(125)
    check("counting was never resumed" in memflame.stderr(), memflame.stderr())
    check(not os.path.exists(memflame.output), "there is no file")
target = Target("alloc_truth")
memflame = Memflame("record", "--start-paused", "-p", target.pid, output="mfr")
memflame.stop(1)
check("memflame was ended while it was paused" in memflame.stderr(), memflame.stderr())
target.end()

said = run("record", "--start-paused", "--check", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
check("--start-paused" in said, said)
