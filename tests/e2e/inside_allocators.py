# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: every function of every allocator, and operators new and delete of an allocator's own, when the agent
is there from the start and when it comes later; and exceptions that pass through it."""
import json
import os
import subprocess

from allocator_matrix import CELLS, environment, missing, program, strange
from lib import MEMFLAME, PATIENCE, Memflame, Profile, Target, check, equal, example, losses, path, run

SHARED = [(allocator, way) for allocator, ways in CELLS for way in ways if way in ("dynamic", "preload")]


def inside(*command, status=0, **options):
    """A command whose agent is there from the start: its picture, its summary and its output."""
    output, summary = path("command.json"), path("command.summary")
    done = subprocess.run([MEMFLAME, "alloc", "--inside", "-o", output, "--summary", summary, "--", *command],
                          capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    equal(f"exit status of {command}: {done.stderr}", done.returncode, status)
    if not os.path.exists(output):
        return None, None, done
    with open(summary, encoding="utf-8") as stream:
        return Profile(output), json.load(stream), done


for allocator, way in SHARED:
    name, what = program("allocator_matrix", allocator, way), f"{allocator}, {way}"
    wrong = missing("allocator_matrix", allocator, way)
    check(not wrong, wrong)
    # Containers are gone when the program has ended.
    profile, summary, done = inside(example(name), env=environment(allocator, way))
    functions = json.loads(done.stdout[done.stdout.index("{"):done.stdout.rindex("}") + 1])["functions"]
    profile.compare({name: figures for name, figures in functions.items() if name != "of_containers"})
    check(not losses(summary), f"{what}: lost {losses(summary)}")
    if allocator == "musl":
        continue  # no agent comes later there: inside_attach
    target = Target(name, env=environment(allocator, way))
    memflame = Memflame("alloc", "--inside", "-p", target.pid)
    functions = target.work()["functions"]
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(functions)
    equal(f"{what}: what else allocates", strange(profile, functions), "")
    equal(f"{what}: lost, and freed without being allocated",
          (losses(summary), summary["losses"]["free_miss"]["events"]), ({}, 0))
    # What operator new throws passes through the agent, and what comes after is counted.
    name, caught = example(program("throwing_new", allocator, way)), 0
    for arguments in ([], ["handler"]):
        alone = subprocess.run([name, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False,
                               env=environment(allocator, way))
        status = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
        profile, _, done = inside(name, *arguments, status=status, env=environment(allocator, way))
        equal(f"{what}, {arguments}: output", done.stdout, alone.stdout)
        if status:
            continue
        equal(f"{what}: after an exception", [profile.sum(column, "goes_on") for column in profile.columns],
              [128 * 100, 128, 128 * 300, 256])
        equal(f"{what}: kept of what failed", profile.sum("live", "asks_for_too_much"), 0)

# An allocator in the program's own file is called directly. (From the start: inside_exec.)
for allocator in ("jemalloc", "tcmalloc"):
    name = program("allocator_matrix", allocator, "archive")
    if not os.path.exists(example(name)):
        continue
    target = Target(name)
    words = run("alloc", "--inside", "-p", target.pid, "-o", path("x.json"), status=1).stderr
    check("part of the program" in words, words)
    target.work()
    target.end()
