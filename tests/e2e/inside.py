# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: the collector in the process counts what the probes in the kernel count, to the byte."""
import functools
import json
import os
import pwd
import signal
import subprocess
import sys
import time

from lib import (COMMAND_FAILED, LONG, MEMFLAME, PATIENCE, USAGE, Profile, check, equal, example,
                 losses, path, run, spawn,
                 wait_until)


def inside(*command, options=(), status=0, **more):
    """Runs a command under --inside: its picture, its summary, and what it printed."""
    output, summary = path("inside.json"), path("inside.summary")
    done = subprocess.run([MEMFLAME, "alloc", "--inside", *options, "-o", output, "--summary", summary, "--",
                           *command], capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
    equal(f"exit status of {command}, which said:\n{done.stderr}\n", done.returncode, status)
    with open(summary, encoding="utf-8") as stream:
        return Profile(output), json.load(stream), done


def has_ended(said):
    """Whether a program has printed all of its truth."""
    with open(said, encoding="utf-8") as stream:
        return stream.read().endswith("}\n")


def truth_of(text):
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


# Every function of the ground truth, in all four columns, with a forked child and threads.
profile, summary, done = inside(example("alloc_truth"))
truth = truth_of(done.stdout)
equal("columns", profile.columns, ["live", "live-count", "total", "total-count"])
for section in ("functions", "frameless", "child"):
    profile.compare(truth[section])
check(not losses(summary), f"something was lost: {losses(summary)}")
for column in profile.columns:
    equal(f"total of {column}", summary["totals"][column], profile.sum(column))
equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)
stacks = summary["stacks"]
check(stacks["captured"] > 1000, f"stacks: {stacks}")

# Code without frame pointers, and 5,000 stacks.
profile, summary, _ = inside(example("many_stacks"), "5000")
equal("all of reach_leaf", profile.sum("live", "reach_leaf"), 80000)
equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)

# A storm of threads that free each other's blocks: nothing is lost, and nothing stays.
OPERATIONS = 5_000_000 if LONG else 300_000
profile, summary, done = inside(example("alloc_storm"), "--threads", "8", "--operations", str(OPERATIONS))
check(not losses(summary), f"something was lost: {losses(summary)}")
equal("live blocks of the storm", profile.sum("live-count", "storm_allocate"), 0)
equal("allocations of the storm", profile.sum("total-count", "storm_allocate"), OPERATIONS)

# Blocks that another thread frees at once: no free is stamped before its block was there.
profile, summary, done = inside(example("alloc_storm"), "--threads", "4", "--operations", str(2 * OPERATIONS),
                                "--mailboxes", "2")
equal("live blocks of the quick storm", profile.sum("live-count", "storm_allocate"), 0)
equal("frees that were not seen, or are of no block",
      (summary["frees"]["unseen"], summary["losses"]["free_miss"]["events"]), (0, 0))

def has_threads(memflame):
    """Whether the storm has begun: by then its agent has joined."""
    with open(f"/proc/{memflame.pid}/task/{memflame.pid}/children", encoding="utf-8") as stream:
        return any(os.path.exists(f"/proc/{pid}/task") and len(os.listdir(f"/proc/{pid}/task")) > 4
                   for pid in stream.read().split())


# If memflame is killed or stopped, the program runs on to its end, and says what it says without memflame.
for harm in (signal.SIGKILL, signal.SIGSTOP):
    said = path(f"{harm.name}.out")
    with open(said, "w", encoding="utf-8") as output:
        memflame = spawn([MEMFLAME, "alloc", "--inside", "-o", path("killed.json"), "--summary",
                          path("stopped.summary"), "--", example("alloc_storm"), "--threads", "4", "--operations",
                          "20000000"], stdout=output, stderr=subprocess.DEVNULL)
    wait_until(functools.partial(has_threads, memflame), "the storm's threads")
    time.sleep(0.1)
    check(memflame.poll() is None and not os.path.getsize(said), "memflame watches the storm")
    memflame.send_signal(harm)
    wait_until(functools.partial(has_ended, said), f"the storm ends after {harm.name}")
    memflame.send_signal(signal.SIGCONT)
    memflame.wait(PATIENCE)
# The one that was only stopped says that it missed the rest.
with open(path("stopped.summary"), encoding="utf-8") as stream:
    summary = json.load(stream)
equal("counting ended early", losses(summary).get("agent_gave_up", {}).get("events"), 1)
check(any(note.startswith("nothing was recorded after ") for note in summary["notes"]), summary["notes"])

# Programs that it starts are followed, also where descriptors are closed and the environment has LD_PRELOAD.
profile, summary, done = inside(sys.executable, "-c",
                                "import subprocess; subprocess.run(['cat', '/dev/null'], check=True)",
                                env={**os.environ, "LD_PRELOAD": "libm.so.6"})
check({"cat", "python3"} <= {root.split()[0] for root in profile.roots}, f"roots: {profile.roots}")

# What the program sees of it: its arguments, input, status and descriptors are as without memflame.
STATE = "import os, sys; print(sys.argv[1:], sys.stdin.read(), sorted(os.listdir('/proc/self/fd'))); sys.exit(7)"
alone = subprocess.run([sys.executable, "-c", STATE, "two words"], input="text", capture_output=True, text=True,
                       check=False)
_, _, done = inside(sys.executable, "-c", STATE, "two words", status=7, input="text")
equal("what it saw", done.stdout, alone.stdout)

# No rights are needed: an ordinary user, without capabilities.
nobody = pwd.getpwnam("nobody")
folder = path("nobody")
os.makedirs(folder)
os.chown(folder, nobody.pw_uid, nobody.pw_gid)
done = subprocess.run([MEMFLAME, "alloc", "--inside", "-o", f"{folder}/own.json", "--", example("many_stacks"), "50"],
                      user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True, text=True,
                      env={**os.environ, "HOME": folder, "XDG_CACHE_HOME": folder}, timeout=PATIENCE, check=False)
equal(f"exit status as nobody: {done.stderr}", done.returncode, 0)
equal("all of reach_leaf", Profile(f"{folder}/own.json").sum("live", "reach_leaf"), 800)

# Their HOME may still be root's, where they can keep nothing.
own = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
done = subprocess.run([MEMFLAME, "alloc", "--inside", "-o", f"{folder}/home.json", "--", example("many_stacks"), "50"],
                      user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True, text=True,
                      env={**own, "HOME": "/root"}, timeout=PATIENCE, check=False)
equal(f"exit status as nobody in root's HOME: {done.stderr}", done.returncode, 0)
equal("all of reach_leaf again", Profile(f"{folder}/home.json").sum("live", "reach_leaf"), 800)

# A command is recorded so by itself, unless it can have no agent, or an option needs the kernel.
for program, options, itself in ((example("many_stacks"), (), True), (example("many_stacks"), ("--every", "1"), False),
                                 (example("alloc_truth_static"), (), False)):
    if os.path.exists(program):
        done = subprocess.run([MEMFLAME, "alloc", *options, "-o", path("auto.json"), "--", program, "50"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        equal(f"{program} {options}: {done.stderr}", (done.returncode, "(--inside), at a fraction" in done.stderr),
              (0, itself))
        check(Profile(path("auto.json")).sum("total-count") > 0, f"{program} {options}: it allocates")

# What it cannot see is named with the way out, and the program's status is kept.
static = example("alloc_truth_static")
if os.path.exists(static):
    done = run("alloc", "--inside", "-o", path("static.json"), "--", static)
    check("static" in done.stderr and "--collect kernel" in done.stderr, done.stderr)
for options in (("--check",), ("--every", "2")):
    words = run("alloc", "--inside", *options, "-o", path("x.json"), "--", "true", status=USAGE).stderr
    check(options[0] in words, words)
