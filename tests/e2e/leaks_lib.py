# SPDX-License-Identifier: BSD-2-Clause
"""What the cases of leaks share: a target that allocates in steps, and its reports as values."""
import re
import subprocess

from lib import PATIENCE, Memflame, check, equal, example, spawn, wait_until

TICK = 0.3  # seconds between two reports
HEAD = re.compile(
    r"\[\d\d:\d\d:\d\d\] (?P<seconds>[\d.]+) s: (?P<bytes>[\d,]+) B live in (?P<blocks>[\d,]+) blocks?"
    r"(?P<change> \([^)]*\))?(; older than (?P<age>\d+ m?s|[\d.]+ s)( or of ended processes)?: "
    r"(?P<old_bytes>[\d,]+) B in (?P<old_blocks>[\d,]+) blocks?)? on (?P<stacks>[\d,]+) stacks?"
    r"(, the top \d+ by \w+)?$")
STACK = re.compile(r"  (?P<bytes>[\d,]+) B( ± [\d,]+ B)? in (?P<blocks>[\d,]+)( ± [\d,]+)? blocks?"
                   r"(?P<change> \([^)]*\))?(, (?P<process>.*))?$")
# The kernel skips hits, of any process, that interrupt another hit, and counts them.
NOT_OURS = re.compile(r"  lost (0\b|(?P<hits>[\d,]+): probe hits skipped by the kernel (?P=hits)$)")
VERDICT = re.compile(r"    (leak|cannot tell yet|growing, cannot tell yet|cache or pool|kept|freed at the end|"
                     r"comes back): ")
BLOCK = re.compile(r"    (0x[0-9a-f]+)  ([\d,]+) B, [\d.]+ m?s old$")


def number(text):
    return int(text.replace(",", ""))


class Steps:
    """examples/leak_steps, with the figures that it states for each step."""

    def __init__(self):
        self.process = spawn([example("leak_steps")], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return list(iter(self.process.stdout.readline, "done\n"))

    def end(self):
        self.process.communicate(timeout=PATIENCE)
        equal("exit status of the target", self.process.returncode, 0)


class Stack:
    def __init__(self, line):
        match = STACK.match(line)
        check(match, f"a stack begins as it should: {line!r}")
        self.bytes, self.blocks = number(match["bytes"]), number(match["blocks"])
        self.change, self.process = (match["change"] or "").strip(), match["process"]
        self.frames, self.shown, self.left_out, self.verdict = [], [], 0, None

    def take(self, line):
        if line.startswith("      "):
            self.frames.append(line.split()[0])
        elif VERDICT.match(line):
            check(self.verdict is None and not self.frames, f"one verdict, before the frames: {line!r}")
            self.verdict = line.strip()
        elif block := BLOCK.match(line):
            self.shown.append((block[1], number(block[2])))
        elif more := re.match(r"    and ([\d,]+) more blocks?$", line):
            self.left_out = number(more[1])
        else:
            check(False, f"a line that is none: {line!r}")


class Report:
    def __init__(self, text):
        lines = text.splitlines()
        match = HEAD.match(lines[0])
        check(match, f"a head of a report: {lines[0]!r}")
        self.bytes, self.blocks = number(match["bytes"]), number(match["blocks"])
        self.change = (match["change"] or "").strip()
        self.old = (number(match["old_bytes"]), number(match["old_blocks"])) if match["age"] else None
        self.stack_count = number(match["stacks"])
        self.text, self.stacks, self.rest = text, [], None
        check(any(NOT_OURS.match(line) for line in lines), f"nothing was lost: {text}")
        for line in lines[1:]:
            if line.startswith("  and "):
                self.rest = line.strip()
            elif re.match(r"  \d", line):
                self.stacks.append(Stack(line))
            elif line.startswith("    "):
                self.stacks[-1].take(line)

    def of(self, function):
        """Bytes, blocks and change of the only stack through that function."""
        found = [stack for stack in self.stacks if function in stack.frames]
        check(len(found) < 2, f"{function} has one stack: {self.text}")
        return (found[0].bytes, found[0].blocks, found[0].change) if found else (0, 0, "")


class Leaks(Memflame):
    def __init__(self, *arguments, **options):
        super().__init__("leaks", "--bytes", *arguments, output="txt", **options)

    def reports(self):
        with open(self.output, encoding="utf-8") as stream:
            # A report ends with an empty line, unless it is still being written.
            parts = re.split(r"^(?=\[)", stream.read(), flags=re.MULTILINE)
        return [Report(part) for part in parts if part.startswith("[") and part.endswith("\n\n")]

    def next(self, count=2):
        """The report after the next one, all of which is later than now."""
        before = len(self.reports())
        wait_until(lambda: len(self.reports()) >= before + count, "reports come")
        return self.reports()[-1]
