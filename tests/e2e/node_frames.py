# SPDX-License-Identifier: BSD-2-Clause
"""Functions of JavaScript in stacks, against V8's own word: a program of node allocates blocks of one size from random
paths of calls, and writes down its own stack each time: names, scripts, and lines of calls. What memflame saw must be the
same stacks, as often, whether V8 has built functions into others (the program has run long enough for that) or not. V8's
collector may take away code before memflame has read it: then functions that were built into others are missing, and
lines are those where functions begin. That must be rare, and be counted."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

from frames_lib import SIZE, program_text, same_native_frames, stacks_of, watched
from lib import LONG, check, equal, losses, path

COUNT = int(os.environ.get("MEMFLAME_NODE_STACKS", "5000" if LONG else "1500"))
# V8's compilers take functions into others, its own among them, when they get to it.
INTERPRETED = ("--no-opt", "--no-maglev", "--no-sparkplug", "--no-always-sparkplug")
WITHOUT_INLINING = ("--no-turbo-inlining", "--no-maglev-inlining")


def nodes():
    """The programs here that memflame knows, by version."""
    found = {}
    for name in ("node", *os.environ.get("MEMFLAME_NODES", "").split()):
        if not shutil.which(name):
            continue
        told = subprocess.run([name, "-p", "process.execPath + ' ' + process.versions.v8"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        if told.returncode == 0:
            program, version = told.stdout.split()
            version = ".".join(version.split(".")[:2])
            if version in ("10.2", "11.3", "12.4"):
                found.setdefault(version, program)
    return found


def run(program, name, *flags, options=()):
    """What the program says of its stacks, and memflame's profile."""
    truth = path(f"{name}.json")
    known = subprocess.run([program, "--v8-options"], stdout=subprocess.PIPE, text=True, check=True).stdout
    flags = [flag for flag in flags if re.search(rf"^\s*--{flag.removeprefix('--no-')} ", known, re.M)]
    # The collector moves objects often in so little memory for new ones.
    memflame = watched([program, "--max-semi-space-size=1", *flags, path("frames.js"), str(COUNT), truth], *options)
    with open(truth, encoding="utf-8") as file:
        return json.load(file), memflame


FRAME = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)$")


def script(frame):
    """(function, file, line) of a frame's name; None if it is native."""
    match = FRAME.match(frame)
    if not match or not re.search(r"\.js$|^\[eval\]$|^node:", match[2]):
        return None
    return match[1], match[2], int(match[3] or 0)


def compared(frames):
    """Frames as both tell them. The program says eval of a function of eval() that has no name, and computed names."""
    for name, file, line in frames:
        if (name, file) == ("eval", "[eval]") or name.startswith("["):
            name = "(anonymous)"
        yield name, file if file.startswith("node:") else file.rsplit("/", 1)[-1], line


def is_of_script(frame):
    """A function of JavaScript, or V8's code that runs it: without names of functions, this is all that is seen."""
    return script(frame) is not None or "InterpreterEntryTrampoline" in frame


def is_part(some, whole):
    rest = iter(whole)
    return all(each in rest for each in some)


def names_of(stack):
    return tuple(frame[:2] for frame in stack)


def made_meanwhile(program, version):
    """memflame stands still while V8 makes code, so that nothing tells the programs where the new pages are."""
    with open(path("made.js"), "w", encoding="utf-8") as file:
        file.write(program_text("made.js", BLOCK_BYTES=SIZE))
    memflame = watched([program, path("made.js")], still=True)
    functions = collections.Counter()
    for stack, count in stacks_of(memflame.profile()).items():
        functions[" ".join(each[0] for each in map(script, stack[-30:]) if each)] += count
    named = sum(count for names, count in functions.items() if " (anonymous) inner mark " in names)
    equal(f"V8 {version}: calls from new code whose functions are known", named, 40)
    equal(f"V8 {version}: calls in all", sum(functions.values()), 48)


def not_read(wrong, wanted):
    """Counts stacks that the program does not say, by what they miss: lines, functions; or they are wrong."""
    by_names = collections.defaultdict(list)
    for stack in wanted:
        by_names[names_of(stack)].append(stack)
    missing = collections.Counter()
    for stack, count in wrong.items():
        if names_of(stack) in by_names:
            # Each line is the call's, or an earlier one of the function.
            ok = any(all(mine[2] <= its[2] for mine, its in zip(stack, each)) for each in by_names[names_of(stack)])
            missing["lines" if ok else "wrong"] += count
        else:
            ok = any(is_part(names_of(stack), each) for each in by_names)
            missing["functions" if ok else "wrong"] += count
        if not ok:
            print("wrong:", stack)
    return missing


with open(path("frames.js"), "w", encoding="utf-8") as file:
    file.write(program_text("frames.js", BLOCK_BYTES=SIZE, MANY_VARIABLES="\n".join(f"let v{i} = {i};" for i in range(100)),
                            MANY_NAMES=", ".join(f"v{i}" for i in range(100))))
versions = nodes()
if not versions:
    print("SKIPPED: no node 18, 20 or 22")
    sys.exit(77)
for version, program in versions.items():
    for flags in (WITHOUT_INLINING, INTERPRETED, ()):
        truth, memflame = run(program, version, *flags)
        equal(f"V8 {version}: lost", losses(memflame.summary()), {})
        wanted = collections.Counter()
        for stack, count in truth:
            wanted[tuple(compared(json.loads(stack)))] += count
        got, marked_unread = collections.Counter(), 0
        for stack, count in stacks_of(memflame.profile()).items():
            if "[javascript: unreadable]" in stack:
                marked_unread += count
                continue
            frames = [each for each in map(script, stack) if each]
            while frames and frames[-1][1].startswith("node:"):
                frames.pop()
            marked = bool(frames) and frames[-1][0] == "mark"
            check(marked or not flags, f"V8 {version}: the stack of a call of mark(): {stack[-30:]}")
            got[tuple(compared(frames[:-1] if marked else frames))] += count
        equal(f"V8 {version}: calls", sum(got.values()) + marked_unread, sum(wanted.values()))
        missing = not_read(got - wanted, wanted) + collections.Counter({"all": marked_unread})
        print(f"V8 {version} {' '.join(flags)}: {sum(got.values())} stacks, {len(got)} distinct, not read: {dict(missing)}")
        equal(f"V8 {version}: stacks that the program does not say", missing["wrong"], 0)
        check(sum(missing.values()) <= sum(got.values()) / 1000, f"V8 {version}: not read: {missing}")
    runs = [run(program, version, *INTERPRETED, options=("--languages", languages))[1] for languages in ("off", "auto")]
    # Debian 13's library does not name V8's own code: what runs functions is one place then.
    nameless = [{frame for stack in stacks_of(memflame.profile()) for frame in stack if frame.startswith("[libnode.so")}
                for memflame in runs]
    entry = nameless[0] - nameless[1]
    check(len(entry) <= 1, f"V8 {version}: places that functions take: {entry}")
    same_native_frames(f"V8 {version}", runs, lambda frame: is_of_script(frame) or frame in entry)
    made_meanwhile(program, version)
