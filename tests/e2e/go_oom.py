# SPDX-License-Identifier: BSD-2-Clause
"""heap --at-kill: what a Go program had in use when the kernel's out-of-memory killer, or somebody else, killed it.
record and leaks keep the same figures."""
import os
import signal
import subprocess
import sys

from go_lib import build
from lib import MEMFLAME, PATIENCE, USAGE, Memflame, Profile, check, equal, path, run, spawn, wait_until

# Every block of `main.leak` stays and is sampled. With a limit of blocks, it stops there and waits for input.
SOURCE = """
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

var kept [100000][]byte

//go:noinline
func leak(i int) {
	kept[i] = make([]byte, 65536)
	for at := range kept[i] {
		kept[i][at] = 1
	}
}

func main() {
	runtime.MemProfileRate = 1
	limit, _ := strconv.Atoi(os.Args[1])
	leak(0)
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	in.ReadString('\\n')
	for i := 1; i != limit; i++ {
		leak(i)
		if i%50 == 0 {
			runtime.GC()
			runtime.GC()
		}
	}
	runtime.GC()
	runtime.GC()
	fmt.Println("full")
	in.ReadString('\\n')
	fmt.Println(pprof.Profiles())
}
"""
BLOCK = 65536
LIMIT = 100 << 20


def memory_group():
    """A control group with a limit on memory, of cgroup v1 or v2: the folder; none if that cannot be had."""
    name = f"memflame_oom_{os.getpid()}"
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        mounts = [line.split() for line in stream]
    for words in mounts:
        rest = words[words.index("-") + 1:]
        if rest[0] == "cgroup" and "memory" in rest[2].split(","):
            file = "memory.limit_in_bytes"
        elif rest[0] == "cgroup2":
            file = "memory.max"
            with open(f"{words[4]}/cgroup.controllers", encoding="utf-8") as stream:
                if "memory" not in stream.read().split():
                    continue
            with open(f"{words[4]}/cgroup.subtree_control", "w", encoding="utf-8") as stream:
                stream.write("+memory")
        else:
            continue
        folder = f"{words[4]}/{name}"
        os.mkdir(folder)
        with open(f"{folder}/{file}", "w", encoding="utf-8") as stream:
            stream.write(str(LIMIT))
        return folder
    return None


class Leaking:
    def __init__(self, program, limit, group=None):
        enter = (lambda: open(f"{group}/cgroup.procs", "w", encoding="utf-8").write("0")) if group else None
        self.process = spawn([program, str(limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "GOMAXPROCS": "2"}, preexec_fn=enter)
        equal("the program", self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


def watch(pid, *arguments):
    memflame = spawn([MEMFLAME, "heap", "-p", str(pid), "--at-kill", "-o", path("killed.json"), *arguments],
                     stderr=subprocess.PIPE, text=True)
    said = memflame.stderr.readline()
    check("waiting until" in said, said)
    return memflame


def end_of(memflame, status=0):
    said = memflame.communicate(timeout=PATIENCE)[1]
    equal(f"exit status, which said {said}", memflame.returncode, status)
    return said


def leaked(column="inuse_space", file="killed.json"):
    return Profile(path(file)).sum(column, "main.leak")


def out_of_memory(program, group):
    leaking = Leaking(program, 0, group)
    memflame = watch(leaking.pid)
    leaking.go()
    equal("the program's end", leaking.process.wait(PATIENCE), -signal.SIGKILL)
    said = end_of(memflame)
    check("was killed by the kernel's out-of-memory killer" in said, said)
    # As of its last garbage collection, at most 50 blocks before; what came since is known, too.
    got, since = leaked(), leaked("since_gc_space")
    check(got > 0 and since <= 51 * BLOCK and LIMIT * 0.8 < got + since < LIMIT, f"in use {got}, since then {since}")


def killed(program):
    """By somebody else. What it had is known to the byte."""
    leaking = Leaking(program, 300)
    memflame = watch(leaking.pid)
    leaking.go()
    equal("the program", leaking.process.stdout.readline(), "full\n")
    run("heap", "-p", leaking.pid, "-o", path("before.json"))
    leaking.process.kill()
    said = end_of(memflame)
    check("was killed (SIGKILL)" in said, said)
    equal("main.leak", leaked(), 300 * BLOCK)
    before, after = Profile(path("before.json")), Profile(path("killed.json"))
    equal("columns", after.columns, [*before.columns, "since_gc_space", "since_gc_objects"])
    equal("as it was just before", sorted((frames, values[:4]) for frames, values in after.stacks if any(values[:4])),
          sorted(before.stacks))


def not_killed(program):
    leaking = Leaking(program, 30)
    memflame = watch(leaking.pid)
    leaking.go()
    equal("the program", leaking.process.stdout.readline(), "full\n")
    leaking.go()
    equal("the program's end", leaking.process.wait(PATIENCE), 0)
    said = end_of(memflame, 1)
    check("ended by itself" in said and "memflame record" in said, said)
    # The user ends the wait.
    leaking = Leaking(program, 30)
    memflame = watch(leaking.pid)
    leaking.go()
    equal("the program", leaking.process.stdout.readline(), "full\n")
    memflame.send_signal(signal.SIGINT)
    said = end_of(memflame)
    check("was not killed: this is its heap profile as it is now" in said, said)
    equal("main.leak", leaked(), 30 * BLOCK)
    run("heap", "-p", leaking.pid, "--at-kill", "-d", "1", status=USAGE)
    run("heap", "-p", leaking.pid, "--value", "since_gc_space", status=USAGE)
    leaking.process.kill()


def recorded(program):
    leaking = Leaking(program, 300)
    recorder = Memflame("record", "-p", leaking.pid, "--interval", "30", output="mfr")
    leaking.go()
    equal("the program", leaking.process.stdout.readline(), "full\n")
    leaking.process.kill()
    said = recorder.wait().stderr()
    check("was killed (SIGKILL): this is its heap profile at that moment" in said, said)
    run("render", recorder.output, "-o", path("recorded.json"))
    equal("main.leak in the recording's end", leaked("live", "recorded.json"), 300 * BLOCK)


binary = build("oom", SOURCE)
killed(binary)
not_killed(binary)
recorded(binary)
folder = memory_group()
if folder is None:
    print("SKIPPED: no control group can limit memory")
    sys.exit(77)
try:
    for _ in range(3):
        out_of_memory(binary, folder)
finally:
    wait_until(lambda: not open(f"{folder}/cgroup.procs", encoding="utf-8").read(), "the group is empty", 10)
    os.rmdir(folder)
