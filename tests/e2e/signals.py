# SPDX-License-Identifier: BSD-2-Clause
"""SIGUSR1 writes the figures so far, and the run goes on; no other signal loses a run."""
import os
import signal
import subprocess

from lib import MEMFLAME, Memflame, Profile, Target, check, equal, path, spawn, wait_until


def started(probe, *arguments, **options):
    """memflame without -o, once it counts."""
    ready, said = os.pipe()
    process = spawn([MEMFLAME, probe, "--ready-fd", str(said), *arguments], pass_fds=[said], text=True,
                    **options)
    os.close(said)
    check(os.read(ready, 2), "memflame counts")
    os.close(ready)
    return process


def ask(memflame, file):
    memflame.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(file), f"{file} after SIGUSR1")
    return Profile(file)


# alloc: both the interim picture and the last one have exactly what the waiting program has allocated.
# The sums of brk and mmap are made in user space: asking twice must not count twice.
for probe, column in (("alloc", "live"), ("brk", "outstanding"), ("mmap", "outstanding"),
                      ("fault", "gained")):
    target = Target(f"{probe}_truth")
    memflame = Memflame(probe, "-p", target.pid)
    before, suffix = os.path.splitext(memflame.output)
    truth = target.work()
    first = ask(memflame, f"{before}.1{suffix}")
    memflame.process.send_signal(signal.SIGUSR2)
    second = ask(memflame, f"{before}.2{suffix}")
    check(first.sum(column) > 0, f"{probe}: something was seen")
    equal(f"{probe}: asked twice", second.stacks, first.stacks)
    with open(first.file, encoding="utf-8") as stream:
        check("so far: the run continues" in stream.read(), "it says that it is not all")
    memflame.process.send_signal(signal.SIGINT)
    memflame.wait()
    last = memflame.profile()
    if probe != "fault":  # memflame makes no pages of the target resident; the target itself may
        equal(f"{probe}: the end", last.stacks, first.stacks)
    if probe == "alloc":
        first.compare(truth["functions"])
    check("SIGUSR2 is ignored" in memflame.stderr(), f"a word about SIGUSR2: {memflame.stderr()}")
    check(f"{before}.1{suffix}" in memflame.stderr(), "it says where it is")
    target.end()

# Ctrl-C twice ends the run without losing it.
target = Target("alloc_truth")
memflame = Memflame("alloc", "-p", target.pid)
truth = target.work()
os.kill(memflame.process.pid, signal.SIGSTOP)
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    memflame.process.send_signal(number)
os.kill(memflame.process.pid, signal.SIGCONT)
memflame.wait()
memflame.profile().compare(truth["functions"])
target.end()

# With the picture on standard output, the interim picture goes to a file, which stderr names.
memflame = started("brk", "--format", "json", "--", "sleep", "60", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE, cwd=path("."), start_new_session=True)
name = path(f"memflame-{memflame.pid}.1.json")
memflame.send_signal(signal.SIGUSR1)
wait_until(lambda: os.path.exists(name), f"{name}")
os.killpg(memflame.pid, signal.SIGQUIT)
out, errors = memflame.communicate(timeout=60)
check(os.path.basename(name) in errors, f"it says where it is: {errors}")
check('"memflame-profile"' in out, "SIGQUIT ends the measurement, not memflame")

# leaks prints a report at once.
target = Target("alloc_truth")
memflame = started("leaks", "-p", str(target.pid), "1000", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
memflame.send_signal(signal.SIGUSR1)
check(memflame.stdout.readline() != "", "a report long before the interval is over")
memflame.send_signal(signal.SIGINT)
memflame.communicate(timeout=60)
target.end()

# The reader of memflame's messages may go away: the run and its output stay.
reading, writing = os.pipe()
memflame = started("brk", "-o", path("closed.json"), "--", "sleep", "2", stderr=writing)
os.close(writing)
os.close(reading)
memflame.send_signal(signal.SIGUSR2)
equal("status without a reader", memflame.wait(), 0)
check(os.path.exists(path("closed.json")), "the output is there")
