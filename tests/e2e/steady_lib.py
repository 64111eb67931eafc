# SPDX-License-Identifier: BSD-2-Clause
"""What the cases about damaged recordings share: a target whose figures at each moment are known."""
import json
import os
import re
import socket
import subprocess
import time
from bisect import bisect_right

from lib import MEMFLAME, PATIENCE, check, equal, example, path, spawn, wait_until

TURNS, SLOTS = 4, 64  # as in examples/steady.cc
SIZES = {"keep_block": 100, "pass_block": 3000}


class Steady:
    """examples/steady. Its steps are known when it has ended."""

    counter = 0

    def __init__(self, wide=0):
        Steady.counter += 1
        self.log, self.wide = path(f"steady.{Steady.counter}"), wide
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = spawn([example("steady"), str(wide)], stdin=subprocess.PIPE, stdout=log)
        self.pid = self.process.pid
        wait_until(lambda: os.path.getsize(self.log) > 0, "the first step")

    def end(self):
        """Checks that it ends as it would alone, with each of its steps."""
        check(self.process.poll() is None, f"the target ended early: {self.process.returncode}")
        self.process.communicate(b"end\n", timeout=PATIENCE)
        equal("exit status of the target", self.process.returncode, 0)
        with open(self.log, encoding="utf-8") as log:
            *steps, last = log.read().splitlines()
        equal("the last line of the target", last, f"steps {len(steps)}")
        pairs = [tuple(map(int, line.split())) for line in steps]
        self.begins, self.ends = [begin for begin, _ in pairs], [end for _, end in pairs]
        equal("times of steps", sorted(self.begins + self.ends), [stamp for pair in pairs for stamp in pair])

    def begun(self, seconds, turn):
        return (bisect_right(self.begins, seconds * 1e9) + TURNS - 1 - turn) // TURNS

    def ended(self, seconds, turn):
        return (bisect_right(self.ends, seconds * 1e9) + TURNS - 1 - turn) // TURNS


class Counting:
    """Between which times of time.monotonic() a run began to count, and when it certainly counted no more."""

    def __init__(self):
        self.earliest, self.latest, self.end = time.monotonic(), None, None

    def ask(self, pid):
        """Asks a run that is ready how long it has counted. Nothing is known if it ends meanwhile."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.settimeout(PATIENCE)
                client.connect(f"\0memflame-control-{pid}")
                before = time.monotonic()
                client.send(b"mark asked")
                answer, after = client.recv(8192).decode(), time.monotonic()
        except OSError:
            return
        said = re.search(r" at ([\d.]+) s$", answer)
        if not said:
            return
        rounding = 0.001
        self.earliest = max(self.earliest, before - float(said[1]) - rounding)
        self.latest = after - float(said[1]) + rounding

    def ends(self):
        self.end = time.monotonic()
        self.latest = min(self.latest or self.end, self.end)


def lines_of(recording, show, refused=None):
    """The lines of a timeline by their innermost step and block; None if the recording is refused."""
    done = subprocess.run([MEMFLAME, "timeline", recording, "--format", "json", "--show", show, "--points", "100000",
                           "--top", "100"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode == 1 and refused is not None:
        check(done.stderr.startswith("memflame: ") and not done.stdout, f"a refusal has words: {done}")
        refused.append(done.stderr)
        return None
    equal(f"exit status of timeline, which said {done.stderr!r}", done.returncode, 0)
    document = json.loads(done.stdout)
    lines = {}
    for line in document["lines"]:
        points = [(seconds, value or 0) for seconds, value in line["points"] if seconds > 0]
        step = next((frame for frame in line.get("frames", ()) if frame.startswith("step_")), None)
        block = next((frame for frame in line.get("frames", ()) if frame in SIZES), None)
        if line["kind"] == "total" and line["name"] == document["shown"]:
            lines["total"] = points
        elif step and block:
            check((step, block) not in lines, f"{step}, {block} twice")
            lines[step, block] = points
    return document, lines


def check_figures(recording, steady, counting, refused):
    """Checks each figure of a recording against the steps of its target. Returns how many looks it has; 0 if it
    is refused."""
    shown = {}
    for show in ("allocations", "live-count", "live"):
        lines = lines_of(recording, show, refused)
        if lines is None:
            return 0
        document, shown[show] = lines
    looks = 0
    for turn in range(TURNS):
        for block, size in SIZES.items():
            key, what = (f"step_{turn}", block), f"{recording}: {block} of step {turn}"
            if key not in shown["allocations"]:  # before its first block
                check(len(shown["allocations"]["total"]) <= 2, f"{what} has no figures in {document}")
                continue
            lost = {name: each["events"] for name, each in document["losses"].items() if each["events"]}
            looks = max(looks, check_line(f"{what}, lost {lost}", [shown[show].get(key, []) for show in shown],
                                          steady, counting, turn, size, block == "pass_block"))
    check(steady.wide or all(value == sum(line[i][1] for key, line in shown["allocations"].items() if key != "total")
                             for i, (_, value) in enumerate(shown["allocations"]["total"])),
          f"{recording}: nothing but the blocks of the steps was counted")
    return looks or 1


def check_line(what, lines, steady, counting, turn, size, passes):
    allocations, counts, live = lines
    times = [seconds for seconds, _ in allocations]
    before = 0
    for i, (seconds, allocated) in enumerate(allocations):
        # A look reads its figures between its own time and that of the next one.
        until = counting.latest + times[i + 1] if i + 1 < len(times) else counting.end
        least = steady.ended(counting.earliest + seconds, turn) - steady.begun(counting.latest, turn)
        most = steady.begun(until, turn) - steady.ended(counting.earliest, turn)
        check(least <= allocated <= most, f"{what}: {allocated} blocks after {seconds} s, not {least} to {most}")
        check(allocated >= before, f"{what}: {before} blocks, later {allocated}")
        before = allocated
        slots = SLOTS // TURNS
        least, most = (min(least, slots) - 1, min(most, slots)) if passes else (least, most)
        check(least <= counts[i][1] <= most, f"{what}: {counts[i][1]} live after {seconds} s, not {least} to {most}")
        # A look may come between the two additions for one block.
        check(abs(live[i][1] - size * counts[i][1]) <= size, f"{what}: {live[i][1]} B in {counts[i][1]} blocks")
    return len(allocations)
