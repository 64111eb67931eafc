# SPDX-License-Identifier: BSD-2-Clause
"""control asks a run for its status, a mark or a picture; nobody else may, and nothing they send harms the run."""
import json
import os
import signal
import socket
import subprocess
import threading

from lib import (MEMFLAME, PATIENCE, REQUIREMENT, USAGE, Memflame, Profile, Target, check, equal, path, run,
                 spawn, wait_until)

NOBODY = 65534


def control(memflame, *request, status=0, **options):
    return run("control", memflame.process.pid, *request, status=status, **options)


def facts(memflame):
    """What status says: a fact per line."""
    return dict(line.split(": ", 1) for line in control(memflame, "status").stdout.splitlines())


def connected(memflame):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(PATIENCE)
    client.connect(f"\0memflame-control-{memflame.process.pid}")
    return client


def answer_to(memflame, message):
    with connected(memflame) as client:
        client.send(message)
        return client.recv(8192).decode()


# A recording: what is watched, and a mark that the file has.
target = Target("alloc_truth")
memflame = Memflame("record", "--interval", "0.1", "-p", target.pid, output="mfr")
first = facts(memflame)
equal("pid", first["pid"], str(memflame.process.pid))
equal("watched now", first["watched now"], f"{target.pid} (alloc_truth)")
equal("probes", first["probes"], "alloc")
equal("output", first["output"], memflame.output)
equal("lost events", first["lost events"], "0")
check(f"memflame record -p {target.pid}" in first["command"], first)
check(first["resident memory"].endswith("B") and first["counting since"].endswith(" UTC"), first)
wait_until(lambda: float(facts(memflame)["counting for"].split()[0]) > float(first["counting for"].split()[0]),
           "the time goes on")
truth = target.work()
said = control(memflame, "mark", "work <is> \x1b[2J done").stdout
check(said.startswith("mark 'work <is> ") and said.endswith(" s\n") and "\x1b" not in said, said)
said = control(memflame, "mark", "second").stdout
refusal = control(memflame, "snapshot", status=1).stderr
check(f"memflame render {memflame.output} --at TIME" in refusal, refusal)
memflame.stop()
target.end()
marks = json.loads(run("timeline", "--format", "json", memflame.output).stdout)["marks"]
names = [mark["name"] for mark in marks]
check(len(names) == 2 and names[0].startswith("work <is> ") and names[0].endswith(" done"), marks)
check("\x1b" not in names[0] and names[1] == "second", marks)
check(0 < marks[0]["seconds"] <= marks[1]["seconds"], marks)
check(f"at {marks[1]['seconds']:.3f} s" in said, (marks, said))

# A picture: numbered, complete, and named by its whole path.
target = Target("alloc_truth")
memflame = Memflame("alloc", "-p", target.pid)
truth = target.work()
stem, suffix = os.path.splitext(memflame.output)
for number in (1, 2):
    equal("the file's name", control(memflame, "snapshot").stdout, f"{stem}.{number}{suffix}\n")
    Profile(f"{stem}.{number}{suffix}").compare(truth["functions"])
with open(f"{stem}.1{suffix}", encoding="utf-8") as stream:
    check("written because of memflame control" in stream.read(), "the picture says why")
refusal = control(memflame, "mark", "x", status=1).stderr
check("memflame record makes one" in refusal, refusal)

# Root and the user who started it, and nobody else.
other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
refusal = subprocess.run([MEMFLAME, "control", str(memflame.process.pid), "snapshot"], capture_output=True, text=True,
                         timeout=PATIENCE, check=False, **other)
equal(f"status of another user, who was told {refusal.stderr!r}", refusal.returncode, REQUIREMENT)
check("only root and the user who started memflame" in refusal.stderr, refusal.stderr)
equal("what another user was told besides", refusal.stdout, "")

# From another network namespace its socket cannot be found. In another PID namespace its process id means another
# process.
for option, words in (("--net", "in this network namespace"), ("--pid", "in another PID namespace")):
    refusal = subprocess.run(["unshare", option, "--fork", MEMFLAME, "control", str(memflame.process.pid), "status"],
                             capture_output=True, text=True, timeout=PATIENCE, check=False)
    equal(f"status from another namespace ({option}), which said {refusal.stderr!r}", refusal.returncode, 1)
    check(words in refusal.stderr, refusal.stderr)

# Whatever arrives instead of a request is refused, and whoever sends nothing is dropped.
for message in (b"\0\xff\x1b[2J", b"mark " + b"x" * 300, b"stop", b"status\n", b"x" * 8000):
    said = answer_to(memflame, message)
    check(said.startswith("-") and "\x1b" not in said, (message, said))
connected(memflame).close()
with connected(memflame) as client:
    client.send(b"snapshot")  # and away, before the answer
wait_until(lambda: os.path.exists(f"{stem}.3{suffix}"), "the picture of one that went away")
silent = [connected(memflame) for _ in range(9)]  # one more than may wait
said = [client.recv(8192) for client in silent]
for client in silent:
    client.close()
check(b"" in said, f"silent clients are dropped: {said}")
refusals = [answer for answer in said if answer]
check(refusals and all(answer.startswith(b"-too many others") for answer in refusals), said)
check(facts(memflame)["output"] == memflame.output, "others are answered again")

# Several at once: each has an answer, pictures share a file or get their own.
answers = []
askers = [threading.Thread(target=lambda: answers.append(control(memflame, "snapshot").stdout)) for _ in range(4)]
for asker in askers:
    asker.start()
for asker in askers:
    asker.join()
equal("answers", len(answers), 4)
for name in set(answers):
    Profile(name.rstrip("\n")).compare(truth["functions"])
memflame.stop()
memflame.profile().compare(truth["functions"])
target.end()

# A program that memflame starts is named.
memflame = Memflame("brk", "--value", "outstanding", "--", "sleep", "1000", start_new_session=True)
said = facts(memflame)
wait_until(lambda: facts(memflame)["watched now"].endswith(" (sleep)"), "the program is watched")
check("memflame brk --value outstanding -- sleep 1000" in said["command"], said)
control(memflame, "snapshot")
os.killpg(memflame.process.pid, signal.SIGINT)
memflame.process.wait(PATIENCE)

# The user who called sudo may ask, too, and only that one.
target = Target("alloc_truth")
memflame = Memflame("brk", "-p", target.pid, "--anonymise",
                    env={**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"})
check("hidden" in control(memflame, "status", **other).stdout, "the user who called sudo is answered")
control(memflame, "status", status=REQUIREMENT, user=1, group=1, extra_groups=[])
memflame.stop()
target.end()

# What pidof lists is memflame and the processes that work for it; each of them, and all together, mean the one run.
with open(path("live.err"), "w") as said:
    live = spawn([MEMFLAME, "report", "--live", "--", "sleep", "1000"], stderr=said, start_new_session=True)

    def pids_of_live():
        with open(f"/proc/{live.pid}/task/{live.pid}/children") as file:
            return [pid for pid in file.read().split() if open(f"/proc/{pid}/comm").read().startswith("memflame")]

    wait_until(lambda: subprocess.run([MEMFLAME, "control", str(live.pid), "status"], capture_output=True).returncode == 0,
               "the run counts")
    helpers = pids_of_live()
    check(helpers, "a process serves the page")
    for pids in ([live.pid], helpers, [*helpers, live.pid]):
        check(f"pid: {live.pid}\n" in run("control", *pids, "status").stdout, f"control {pids}")
    os.killpg(live.pid, signal.SIGTERM)  # the program, too: it would hold the test's output open
    live.wait(PATIENCE)

# A report at once is what leaks has SIGUSR1 for.
target = Target("alloc_truth")
memflame = Memflame("leaks", "-p", target.pid, "1000", output="txt")
refusal = control(memflame, "snapshot", status=1).stderr
check("SIGUSR1 asks for a report" in refusal, refusal)
equal("watched by leaks", facts(memflame)["probes"], "alloc")
memflame.stop()
target.end()

# It has ended, it is not memflame, or it is not asked rightly.
for pid in (memflame.process.pid, os.getpid()):
    refusal = run("control", pid, "status", status=1).stderr
    check("'pidof memflame' lists those that run" in refusal, refusal)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as false_one:
    false_one.bind("\0memflame-control-1")
    false_one.listen()
    refusal = run("control", 1, "status", status=1).stderr
    check("belongs to another process" in refusal, refusal)
for arguments, words in ((("1", "stop"), "a run that counts cannot pause"), (("1", "halt"), "expected status, mark NAME"),
                         (("1", "mark", "x" * 201), "1 to 200 bytes"), (("one", "status"), "'one' is not a process id"),
                         (("1",), "a process id and a request")):
    refusal = run("control", *arguments, status=USAGE).stderr
    check(words in refusal, refusal)
