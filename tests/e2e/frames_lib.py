# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the cases that compare functions in stacks with what a program says of its own stacks."""
import collections
import json
import os
import re
import signal
import subprocess

from lib import Memflame, PATIENCE, check, equal, losses, spawn

SIZE = 777_777


def program_text(name, **words):
    """The text of a program of languages/, with what stands for the words that it leaves open."""
    with open(os.path.join(os.path.dirname(__file__), "languages", name), encoding="utf-8") as file:
        text = file.read()
    for word, value in words.items():
        text = re.sub(rf"\b{word}\b", lambda _, value=value: str(value), text)
    return text


def watched(command, *options, go="go\n", leave="leave\n", largest=SIZE, still=False, **more):
    """A program that says "ready", allocates blocks of SIZE bytes when told to go, says "done", and ends when told to.
    `still`: memflame is stopped meanwhile, and only BPF programs work."""
    process = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    equal("the program is ready", process.stdout.readline(), "ready\n")
    memflame = Memflame("alloc", "-p", process.pid, "--min-size", SIZE, "--max-size", largest, "--value", "total-count",
                        "--max-depth", 1023, "--max-stacks", 2000000, *options)
    if still:
        memflame.process.send_signal(signal.SIGSTOP)
    process.stdin.write(go)
    process.stdin.flush()
    equal("the program is done", process.stdout.readline(), "done\n")
    memflame.process.send_signal(signal.SIGCONT)
    memflame.stop()
    process.communicate(leave, timeout=PATIENCE)
    equal("exit status of the program", process.returncode, 0)
    return memflame


def stacks_of(profile):
    """Number of calls by the frames of each stack, from the program on."""
    column = profile.columns.index("total-count")
    stacks = collections.Counter()
    for frames, values in profile.stacks:
        stacks[tuple(frames)] += values[column]
    return +stacks


def as_said(name, got, wanted):
    wrong = (got - wanted).most_common(3), (wanted - got).most_common(3)
    check(got == wanted, f"{name}: {sum((got - wanted).values())} of {sum(got.values())} stacks are wrong: {wrong}")
    print(f"{name}: {sum(got.values())} stacks, {len(got)} distinct, all as the program says")


def as_told(name, memflame, truth, is_script, told_of=list):
    """Compares stacks with those that a program wrote down as JSON: the number of each. `told_of`: how the program tells a
    stack."""
    equal(f"{name}: lost", losses(memflame.summary()), {})
    got = collections.Counter()
    for stack, count in stacks_of(memflame.profile()).items():
        names = told_of([frame for frame in stack if is_script(frame)])
        check(names and names[-1].startswith("mark ("), f"{name}: the stack of a call of mark(): {stack}")
        got[json.dumps(names[:-1], ensure_ascii=False)] += count
    wanted = collections.Counter({json.dumps(json.loads(key), ensure_ascii=False): count for key, count in truth.items()})
    as_said(name, got, wanted)


def same_native_frames(name, runs, is_script):
    """Compares memflame's runs without and with functions of the language."""
    native = []
    for memflame in runs:
        stacks = collections.Counter()
        for stack, count in stacks_of(memflame.profile()).items():
            stacks[tuple(frame for frame in stack if not is_script(frame))] += count
        native.append(stacks)
    equal(f"{name}: native frames that differ without and with the language's functions",
          (native[0] - native[1], native[1] - native[0]), ({}, {}))
