# SPDX-License-Identifier: BSD-2-Clause
"""Programs into which memflame's agent comes while they run, and leaves again."""
import re
import subprocess

from lib import LONG, PATIENCE, Memflame, check, equal, losses, spawn, wait_until

CYCLES = 1000 if LONG else 15


class Waiting:
    """A program that says when it is ready, and works until its input ends."""

    def __init__(self, *command, **options):
        self.process = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        check(line.startswith("ready"), f"{command} says {line!r}")

    def at_rest(self):
        """Waits until it reads its input: what it does before that is done."""
        def reads():
            with open(f"/proc/{self.pid}/syscall", encoding="utf-8") as stream:
                return stream.read().startswith("0 0x0 ")
        wait_until(reads, f"{self.pid} reads its input")

    def end(self, status=0):
        output, _ = self.process.communicate(timeout=PATIENCE)
        equal("exit status of the program", self.process.returncode, status)
        return output


def attach_all(targets, *options, **more):
    """memflame beside running programs, counting."""
    pids = ",".join(str(target.pid) for target in targets)
    return Memflame("alloc", "--inside", "--children", "follow", *options, "-p", pids, **more)


def attach(target, *options, **more):
    return attach_all([target], *options, **more)


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as stream:
        return stream.read()


def figures(summary):
    """Milliseconds: to come in, the longest stop for that, to leave, the longest stop for that."""
    notes = " ".join(summary["notes"])
    found = re.search(r"within ([\d.]+) ms, by [\d,]+ slots; [^;]*for ([\d.]+) ms at most.*"
                      r"within ([\d.]+) ms; threads stood still for ([\d.]+) ms", notes)
    check(found, f"notes: {notes}")
    return [float(text) for text in found.groups()]


def visit(target, *options, least=1):
    """Comes in, counts for a moment, and leaves again: the figures of that."""
    # On a busy machine a program may have no processor for as long as that, and so allocate nothing.
    for seconds in ("0.05", "0.5", "5"):
        summary = attach(target, *options, "-d", seconds).wait().summary()
        if summary["totals"]["total-count"] >= least:
            break
    check(summary["totals"]["total-count"] >= least, f"allocations: {summary['totals']}")
    # An allocation that waits for room in its ring when counting ends is lost, at most one a thread.
    lost = losses(summary)
    check(set(lost) <= {"agent_ring_full"} and sum(each["events"] for each in lost.values()) <= 64, f"lost: {lost}")
    cut = sum(each["events"] for each in losses(summary, "cut").values())
    check(cut <= summary["stacks"]["captured"] / 1000 + 1, f"cut stacks: {losses(summary, 'cut')}")
    return figures(summary)


def say(visits):
    entered = sorted(each[0] for each in visits)
    print(f"{len(visits)} times: came in within {entered[len(entered) // 2]} ms (median), {entered[-1]} ms at most; "
          f"longest stop {max(max(each[1], each[3]) for each in visits)} ms")


def cycle(target, count, *options, least=1):
    """Comes in and leaves again and again."""
    say([visit(target, *options, least=least) for _ in range(count)])
