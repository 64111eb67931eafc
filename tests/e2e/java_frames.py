# SPDX-License-Identifier: BSD-2-Clause
"""Methods of Java in stacks, against Java's own word: a program allocates native blocks of one size from random paths
of calls, and writes down its own stack each time (StackWalker, with lines and hidden frames). What memflame saw must be
the same stacks, as often: interpreted, compiled by C1 and by C2, with inlined methods and after deoptimization."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from frames_lib import SIZE, as_said, program_text, stacks_of, watched
from lib import LONG, check, equal, losses

COUNT = int(os.environ.get("MEMFLAME_JAVA_STACKS", "1500" if LONG else "500"))
VERSIONS = ("17", "21", "25")
MODES = (("-Xint",), ("-XX:TieredStopAtLevel=1",), (), ("-XX:-Inline",), ("-XX:-TieredCompilation",),
         ("-XX:+UnlockDiagnosticVMOptions", "-XX:-SegmentedCodeCache"))
# Virtual threads that wait have frames in the heap: references to it have two sizes, and so have its objects' heads.
VIRTUAL_MODES = (("-Xint",), (), ("-XX:-Inline", "-XX:+UseSerialGC"), ("-XX:+UseG1GC", "-XX:-UseCompressedOops"),
                 ("-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers", "-Xlog:disable"),
                 ("-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers", "-Xlog:disable"))
COMPACT_MODES = (("-XX:+UseCompactObjectHeaders",), ("-XX:+UseCompactObjectHeaders", "-XX:-UseCompressedOops"))
# Collectors that move objects while the program runs: a frame in an object that is being moved is not found, and marked.
MOVING_MODES = (("-XX:+UseShenandoahGC",), ("-XX:+UseZGC",))
if not LONG:  # each starts a virtual machine
    VIRTUAL_MODES, COMPACT_MODES = VIRTUAL_MODES[:3], COMPACT_MODES[1:]
FROZEN = "[truncated: callers in Java's heap]"
FRAME = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)$")


class Machine:
    """A JDK: the command that its programs begin with, and a folder that it sees, too."""

    def __init__(self, root, home):
        self.command = ["chroot", root, home + "/bin/java"] if root else [home + "/bin/java"]
        self.root = root
        self.folder = tempfile.mkdtemp(dir=root + "/tmp")

    def inside(self, name):
        return os.path.join(self.folder[len(self.root):], name)

    def outside(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, text):
        with open(self.outside(name), "w", encoding="utf-8") as file:
            file.write(text)
        javac = [*self.command[:-1], self.command[-1] + "c"]
        subprocess.run([*javac, "-nowarn", "-d", self.inside("."), self.inside(name)], check=True,
                       stderr=subprocess.DEVNULL)


def machines():
    """The JDKs here that memflame knows, by version. MEMFLAME_JAVAS: folders of others. MEMFLAME_JAVA_ROOT: a system
    with others (one of Debian 13 has 21 and 25), with /proc, for chroot."""
    found = {}
    homes = [("", home) for home in os.environ.get("MEMFLAME_JAVAS", "").split()]
    for root in ("", os.environ.get("MEMFLAME_JAVA_ROOT", "").rstrip("/")):
        homes += [(root, home[len(root):]) for home in sorted(glob.glob(root + "/usr/lib/jvm/*"))]
    for root, home in homes:
        if not all(os.access(f"{root}{home}/bin/{name}", os.X_OK) for name in ("java", "javac")):
            continue
        machine = Machine(root, home)
        told = subprocess.run([*machine.command, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        version = re.search(r'version "(\d+)', told.stdout)
        if version and version[1] in VERSIONS and version[1] not in found:
            found[version[1]] = machine
        else:
            os.rmdir(machine.folder)
    return found


def run(machine, *flags, threads=()):
    """What the program says of its stacks, and memflame's profile."""
    arguments = ["-cp", machine.inside("."), "Frames", str(COUNT), machine.inside("truth"), *threads]
    memflame = watched([*machine.command, *flags, *arguments], go="g", leave="gg", largest=SIZE + 64)
    wanted = collections.Counter()
    with open(machine.outside("truth"), encoding="utf-8") as file:
        for line in file:
            times, stack = line.rstrip("\n").split(" ", 1)
            frames = [frame.split("|") for frame in stack.split(";") if frame]
            frames = [(name, "" if file == "null" else file, max(int(line), 0)) for name, file, line in frames]
            names = [frame[0] for frame in frames]
            frames = frames[names.index("Frames.mark") + 1:]
            wanted[tuple(reversed(frames))] += int(times)
    return wanted, memflame


def method(frame, nameless, files):
    """(method, file, line) of a frame's name; None if it is native. `nameless`: methods without a file; `files`: what code
    that Java makes has for a file."""
    match = FRAME.match(frame)
    if match and (match[2].endswith(".java") or match[2] in files):
        return match[1], match[2], int(match[3] or 0)
    return (frame, "", 0) if frame in nameless else None


def profiled(name, memflame, wanted):
    """Number of calls by the methods of each stack, and of stacks whose first callers in Java's heap were not found."""
    equal(f"{name}: lost", losses(memflame.summary()), {})
    whole, frozen = collections.Counter(), collections.Counter()
    nameless = {name for stack in wanted for name, file, line in stack if not file}
    files = {file for stack in wanted for name, file, line in stack if file}
    for stack, count in stacks_of(memflame.profile()).items():
        frames = [each for each in (method(frame, nameless, files) for frame in stack) if each]
        names = [frame[0] for frame in frames]
        check("Frames.mark" in names, f"{name}: the stack of a call of mark(): {stack[-30:]}")
        stacks = frozen if FROZEN in stack else whole
        stacks[tuple(frames[:names.index("Frames.mark")])] += count
    equal(f"{name}: calls", sum(whole.values()) + sum(frozen.values()), sum(wanted.values()))
    cut = losses(memflame.summary(), "cut")
    equal(f"{name}: cut", {key: value["events"] for key, value in cut.items()},
          {"truncated_frozen": sum(frozen.values())} if frozen else {})
    return whole, frozen


def compare(name, machine, *flags, threads=()):
    wanted, memflame = run(machine, *flags, threads=threads)
    got, frozen = profiled(name, memflame, wanted)
    equal(f"{name}: frozen", frozen, {})
    as_said(name, got, wanted)


def compare_moving(name, machine, *flags, threads, most_frozen=1):
    """Virtual threads some of whose callers are not found: `most_frozen` of all stacks. The rest must be as it is."""
    wanted, memflame = run(machine, *flags, threads=threads)
    whole, frozen = profiled(name, memflame, wanted)
    check(whole, f"{name}: no whole stack")
    equal(f"{name}: wrong stacks", whole - wanted, {})
    ends = {stack[at:] for stack in wanted for at in range(len(stack))}
    equal(f"{name}: wrong ends of stacks", [stack for stack in frozen if stack and stack not in ends], [])
    check(sum(frozen.values()) <= most_frozen * sum(wanted.values()), f"{name}: {sum(frozen.values())} cut stacks")
    print(f"{name}: {sum(whole.values())} whole stacks, {sum(frozen.values())} with callers in the heap")


def compare_virtual(version, machine):
    """With and without a thread that collects all the time. While a collection stops the program's threads it moves what
    is in the heap, and malloc() goes on."""
    name = f"Java {version} {{}}, virtual threads{{}}"
    for flags in VIRTUAL_MODES + (COMPACT_MODES if int(version) >= 25 else ()):
        compare(name.format(" ".join(flags), ""), machine, *flags, threads=("virtual",))
        compare_moving(name.format(" ".join(flags), " that give way"), machine, *flags, threads=("yields",), most_frozen=0.1)
    for flags in MOVING_MODES:
        if LONG:
            compare_moving(name.format(" ".join(flags), ""), machine, *flags, threads=("virtual",))
        compare_moving(name.format(" ".join(flags), " that give way"), machine, *flags, threads=("yields",))


def main():
    found = machines()
    if not found:
        print("SKIPPED: no JDK", " or ".join(VERSIONS))
        sys.exit(77)
    try:
        for version, machine in found.items():
            machine.compile("Frames.java", program_text("Frames.java", BLOCK_BYTES=SIZE))
            newest = machine is list(found.values())[-1]
            for flags in MODES if LONG or newest else MODES[:3]:
                compare(f"Java {version} {' '.join(flags)}", machine, *flags)
            if int(version) >= 21:
                compare_virtual(version, machine)
    finally:
        for machine in found.values():
            shutil.rmtree(machine.folder)


main()
