# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: workers that change their user, their namespaces or their system calls before they allocate are
counted to the byte and run as they would, launched and attached; so are programs that others start that way."""
import subprocess
import time

from lib import Memflame, check, equal, example

PROGRAM = example("gives_up")
MASTER, WORKER = 111_111, 1_000_000


def look(memflame, what):
    profile, summary = memflame.profile(), memflame.summary()
    equal(f"{what}: the worker", profile.sum("live", "allocate_in_worker"), WORKER)
    equal(f"{what}: allocated", profile.sum("total", "allocate_in_worker"), WORKER + 10 * 1000)
    lost = {name: loss["events"] for name, loss in summary["losses"].items() if loss["kind"] == "lost" and loss["events"]}
    equal(f"{what}: losses", lost, {})
    return profile


for change in "uid", "net", "user", "pid", "exit-on-socket", "deny-socket", "few-calls":
    launched = Memflame("alloc", "--inside", "--", PROGRAM, change).wait(6)
    equal(f"{change}: the master", look(launched, change).sum("live", "allocate_in_master"), MASTER)

    running = subprocess.Popen([PROGRAM, change, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    equal("it waits", running.stdout.readline(), "ready\n")
    attached = Memflame("alloc", "--inside", "-p", running.pid)
    running.communicate("go\n")
    equal(f"{change}, attached: the program's own end", running.returncode, 6)
    attached.wait()
    look(attached, f"{change}, attached")

# Without the time stamp counter the worker's blocks cannot be recorded. They are counted, and it runs as it would.
for change in "time", "strict":
    for how in "launched", "attached":
        arguments = ["--", PROGRAM, change]
        if how == "attached":
            running = subprocess.Popen([PROGRAM, change, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            equal("it waits", running.stdout.readline(), "ready\n")
            arguments = ["-p", running.pid]
        memflame = Memflame("alloc", "--inside", *arguments)
        if how == "attached":
            running.communicate("go\n")
            equal(f"{change}, attached: the program's own end", running.returncode, 6)
        memflame.wait(6 if how == "launched" else 0)
        equal(f"{change}: the master", memflame.profile().sum("live", "allocate_in_master"), MASTER)
        lost = memflame.summary()["losses"]["agent_no_ring"]
        check(lost["bytes"] >= WORKER + 10 * 1000, f"{change}, {how}: {lost}")

# Programs that are started by another user, or in another network.
for command in (["setpriv", "--reuid=65534", "--clear-groups"], ["unshare", "-n"]):
    memflame = Memflame("alloc", "--inside", "--", *command, PROGRAM, "uid" if command[0] == "unshare" else "few-calls")
    memflame.wait(6)
    look(memflame, " ".join(command))

# A filter that was there before the program: the agent keeps silent, and the process is named.
memflame = Memflame("alloc", "--inside", "--", "sh", "-c", '"$0" restart; echo ended $?', PROGRAM, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
equal("it waits", memflame.process.stdout.readline(), "ready\n")
time.sleep(3)  # it is looked for four times a second
said = memflame.process.communicate("go\n")[0]
equal("its end", said, "ended 6\n")
memflame.wait()
summary = memflame.summary()
check(summary["losses"]["process_uncovered"]["events"] >= 1, summary["losses"])
check(any("gives_up" in note and "could not speak" in note for note in summary["notes"]), summary["notes"])
