#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: the windows of a rule add up to what the program did, to the byte, with either collector. A configuration is
checked and read again; what was killed is started again; and the target never notices."""
import glob
import json
import os
import signal
import subprocess
import time

import lib
from lib import MEMFLAME, Profile, Target, check, equal, example, path, run, wait_until, window_heads

NAME = f"watched{os.getpid()}"[:15]
os.symlink(example("alloc_truth"), path(NAME))
FOLDER = path("profiles")


def config(name, rules, **more):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write("// rules of a test\n")
        json.dump({"memory": "256M", "max_cpu": 100, "spool": {"folder": path("spool"), "most": "64M"},
                   "outputs": {"files": {"kind": "directory", "folder": FOLDER}}, "rules": rules, **more}, file)
    return path(name)


def rule(name, **more):
    return {"name": name, "match": {"comm": NAME}, "sample": "all", "window": "1s",
            "labels": {"version": "${env:APP_VERSION}", "program": "$comm"}, **more}


class Watch:
    """memflame watch, and what it says."""

    def __init__(self, file):
        self.errors = open(path("watch.stderr"), "w+", encoding="utf-8")
        self.process = lib.spawn([MEMFLAME, "watch", file], stderr=self.errors)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        equal(f"exit status of memflame watch, which said:\n{self.said()}\n", self.process.wait(lib.PATIENCE), 0)

    def parts(self, name):
        """Its processes of a name."""
        listed = subprocess.run(["pgrep", "-P", str(self.process.pid), "-x", name], capture_output=True, text=True,
                                check=False)
        return [int(pid) for pid in listed.stdout.split()]


def heads(service):
    return window_heads(FOLDER, service)


def profiles(service):
    result = []
    for number, head in enumerate(heads(service)):
        file = path(f"{service}.{number}.json")
        run("collapse", "--format", "json", "-o", file, head["profile"])
        result.append(Profile(file))
    return result


def watched_by(memflame, pid):
    """Whether a window has the process already."""
    del memflame
    return any(head["figures"].get("processes", 0) >= 1 for head in heads("truth")) and pid > 0


def counts(collect):
    """Windows of a program that states what it does."""
    for old in glob.glob(f"{FOLDER}/*/*/*"):
        os.unlink(old)
    target = Target("alloc_truth", executable=path(NAME), env={**os.environ, "APP_VERSION": "1.2"})
    # The program forks, and nothing of its child is to be missed.
    options = ["--children", "exact"] if collect == "kernel" else []
    memflame = Watch(config("watch.json", [rule("truth", collect=collect, options=options)]))
    wait_until(lambda: watched_by(memflame, target.pid), "a first window")
    truth = target.work()
    time.sleep(1.5)
    memflame.stop()
    target.end()
    windows = profiles("truth")
    check(len(windows) >= 2, "there are several windows")
    for function, figures in truth["functions"].items():
        for column, wanted in (("alloc_space", "total"), ("alloc_objects", "total_count")):
            equal(f"{collect}: {function} {column}", sum(window.sum(column, function) for window in windows),
                  figures[wanted])
        equal(f"{collect}: {function} in use", windows[-1].sum("inuse_space", function), figures["live"])
    all_heads = heads("truth")
    equal("labels", {key: all_heads[-1]["labels"][key] for key in ("service", "rule", "version", "program")},
          {"service": "truth", "rule": "truth", "version": "1.2", "program": NAME})
    for before, after in zip(all_heads, all_heads[1:]):
        equal("windows follow each other", after["began_ns"], before["ended_ns"])
    equal("lost", sum(head["figures"]["lost_events"] for head in all_heads), 0)
    return memflame


counts("kernel")
counts("inside")

# A process that comes later, and one after it, are watched, too, by the kernel.
for old in glob.glob(f"{FOLDER}/*/*/*"):
    os.unlink(old)
file = config("watch.json", [rule("truth", collect="kernel")])
memflame = Watch(file)
wait_until(lambda: memflame.parts("memflame-rule"), "the rule's process")
time.sleep(2)
first = Target("alloc_truth", executable=path(NAME))
truth = first.work()
wait_until(lambda: sum(head["figures"].get("processes", 0) for head in heads("truth")) >= 1, "it is seen")
first.end()

# What is killed is started again, and the others go on. The target does not notice.
second = Target("alloc_truth", executable=path(NAME))
(killed,) = memflame.parts("memflame-rule")
os.kill(killed, signal.SIGKILL)
(sender,) = memflame.parts("memflame-sender")
os.kill(sender, signal.SIGKILL)
wait_until(lambda: memflame.parts("memflame-rule") not in ([], [killed]), "another process for the rule")
wait_until(lambda: memflame.parts("memflame-sender") not in ([], [sender]), "another sender")
check("rule truth was ended by signal 9; it is started again" in memflame.said(), memflame.said())

# A file with a mistake changes nothing; a good one does, and a rule that stays is not disturbed.
(stays,) = memflame.parts("memflame-rule")
with open(file, encoding="utf-8") as stream:
    good = stream.read()
with open(file, "w", encoding="utf-8") as stream:
    stream.write(good.replace('"window"', '"windw"'))
memflame.process.send_signal(signal.SIGHUP)
wait_until(lambda: 'did you mean "window"?' in memflame.said(), "the mistake is told")
check("the configuration stays as it was" in memflame.said(), memflame.said())
words = run("watch", "--check", file, status=1).stderr
check("watch.json:2: rules[0].windw: there is no such setting" in words, words)
config("watch.json", [rule("truth", collect="kernel"),
                      {"name": "heap", "match": {"comm": NAME}, "probes": ["brk", "fault"], "window": "1s"}])
equal("a good file", run("watch", "--check", file).stdout, f"{file}: 2 rules, 1 output: no mistakes\n")
memflame.process.send_signal(signal.SIGHUP)
wait_until(lambda: len(memflame.parts("memflame-rule")) == 2, "the second rule")
check(stays in memflame.parts("memflame-rule"), "the first rule runs on")
wait_until(lambda: any(head["figures"].get("processes", 0) >= 1 for head in heads("heap")), "its windows")
second.work()
wait_until(lambda: sum(profile.sum("resident_space") for profile in profiles("heap")) > 0, "pages became resident")
second.end()

# Killed outright: what is left runs out by itself, and nothing stays behind.
parts = memflame.parts("memflame-rule") + memflame.parts("memflame-sender")
memflame.process.kill()
memflame.process.wait()
wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in parts), "all parts have ended", 30)
