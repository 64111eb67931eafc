# SPDX-License-Identifier: BSD-2-Clause
"""leaks, record, alloc and diff on a Go program take the heap profile of its runtime, say so, and find what grows."""
import json
import os
import time

from go_lib import build, start
from lib import USAGE, Memflame, check, equal, path, run, spawn

# A thousand blocks a second stay, ten thousand come and go, and three thousand are there from the start. Every 4 KiB
# one block is sampled.
SOURCE = """
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

var kept [][]byte
var table = map[int][]byte{}
var ring [1000][]byte

//go:noinline
func leak() { kept = append(kept, make([]byte, 1024)) }

//go:noinline
func churn(i int) { ring[i%1000] = make([]byte, 2048) }

//go:noinline
func setup(i int) { table[i] = make([]byte, 4096) }

func main() {
	runtime.MemProfileRate = 4096
	kept = make([][]byte, 0, 10000000)
	for i := 0; i < 3000; i++ {
		setup(i)
	}
	fmt.Println("ready")
	end := time.Now().Add(300 * time.Second)
	if len(os.Args) > 1 {
		end = time.Now().Add(6 * time.Second)
	}
	for i := 0; time.Now().Before(end); i++ {
		leak()
		for j := 0; j < 10; j++ {
			churn(10*i + j)
		}
		if i%200 == 0 {
			runtime.GC()
		}
		time.Sleep(900 * time.Microsecond)
	}
	fmt.Println(len(kept), len(table), len(pprof.Profiles()))
}
"""

SAID = "is a Go program: reading the heap profile of its runtime"


def stack_of(report, function):
    found = [stack for stack in report["top"] if any(function in frame for frame in stack["frames"])]
    check(found, f"{function} in {report}")
    return found[0]


def of_stack(text, function):
    """The sentence on a stack, in a report for people."""
    for stack in text.split("\n\n"):
        if function in stack:
            return stack.splitlines()[1].strip()
    raise SystemExit(f"FAILED: {function} is not in {text}")


def grown(pid):
    recorder = Memflame("record", "-p", pid, "-d", "58", "--interval", "0.5", output="mfr")
    reports = run("leaks", "-p", pid, "25", "2", "--format", "jsonl")
    check(SAID in reports.stderr, reports.stderr)
    said = recorder.wait().stderr()
    check(SAID in said and "main.leak: leak: in use grows by" in said, said)
    check("live is all that is in use on Go's heap" in said, said)
    first, last = (json.loads(line) for line in reports.stdout.splitlines())
    equal("the verdict before there is enough to tell", stack_of(first, "main.leak")["verdict"]["kind"], "cannot tell yet")
    verdict = stack_of(last, "main.leak")["verdict"]
    equal("leak", verdict["kind"], "leak")
    seconds = last["seconds"]
    check(300_000 < verdict["bytes_per_second"]["value"] < 1_300_000, f"its rate over {seconds} s: {verdict}")
    for function in ("main.churn", "main.setup"):
        check(stack_of(last, function)["verdict"]["kind"] != "leak", f"{function}: {last}")
    return recorder.output


def from_file(recording):
    text = run("leaks", "--from", recording).stdout
    check(of_stack(text, "main.leak").startswith("leak: in use grows by"), text)
    check(of_stack(text, "main.setup").startswith("kept: nothing new since"), text)
    check(of_stack(text, "main.churn").startswith("level: in use has not grown"), text)
    run("leaks", "--from", recording, "--fail-on", "leak", status=5)
    # Its points over time.
    series = json.loads(run("timeline", recording, "--format", "json").stdout)
    check("main.leak" in json.dumps(series), "the timeline has the stack")
    check("main.leak" in run("timeline", recording, "--format", "text").stdout, "as text, too")
    page = path("go.html")
    run("report", recording, "-o", page)
    check(os.path.getsize(page) > 10000, "the report is a page")

    def live(at):
        folded = run("render", recording, "--at", at, "--format", "folded").stdout
        return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if "main.leak" in line)

    check(live(10) < live(30) < live(50), f"live bytes at 10, 30 and 50 s: {live(10)}, {live(30)}, {live(50)}")
    after = run("diff", "--at", "10", "--at", "50", recording, "--format", "folded").stdout
    columns = next(line for line in after.splitlines() if "main.leak" in line).split()[-2:]
    check(int(columns[0]) < int(columns[1]), after)


def other_commands(pid):
    got = run("alloc", "-p", pid, "-d", "1", "--format", "folded")
    check(SAID in got.stderr, got.stderr)
    check("main.setup" in got.stdout, got.stdout)
    said = run("alloc", "-p", pid, "-d", "1", "--collect", "kernel", status=1).stderr
    check(SAID not in said and "has no malloc and free to probe" in said, said)
    # Two files of `heap` are two inputs of `diff`.
    for form in ("json", "pb.gz"):
        files = [path(f"{when}.{form}") for when in ("before", "after")]
        run("heap", "-p", pid, "-o", files[0])
        time.sleep(2)
        run("heap", "-p", pid, "-o", files[1])
        both = run("diff", *files, "--format", "folded").stdout
        columns = next(line for line in both.splitlines() if "main.leak" in line).split()[-2:]
        check(int(columns[0]) < int(columns[1]), both)
        said = run("leaks", "--from", files[0], status=1).stderr
        check("is not a recording" in said, said)


def refused(pid):
    for arguments in (("leaks", "--older", "100"), ("leaks", "--show-blocks"),
                      ("alloc", "--collect", "go", "--sample", "4K"),
                      ("record", "--collect", "go", "--detail", "events", "-o", path("no.mfr")),
                      ("record", "--collect", "go", "--probes", "alloc,fault", "-o", path("no.mfr"))):
        run(arguments[0], "-p", pid, *arguments[1:], "-d", "1", status=USAGE)
    run("alloc", "--collect", "go", "--comm", "leaking", "-d", "1", status=USAGE)
    sleeper = spawn(["sleep", "60"])
    said = run("alloc", "--collect", "go", "-p", sleeper.pid, "-d", "1", status=1).stderr
    check("no code of Go was found in sleep" in said, said)
    sleeper.kill()
    run("alloc", "--collect", "go", "-p", "4194303", "-d", "1", status=1)


def ends():
    """What a program had in use when it ended is shown, with the time of the reading, and is not called a leak."""
    process = start(build("leaking", SOURCE), "short")
    got = run("leaks", "-p", process.pid, "3")
    last = "[" + got.stdout.rsplit("\n[", 1)[1]
    check("main.leak" in last and "which has ended" in last, last)
    check("leak:" not in last, last)
    equal("its end", process.wait(30), 0)


process = start(build("leaking", SOURCE))
file = grown(process.pid)
other_commands(process.pid)
refused(process.pid)
process.kill()
from_file(file)
ends()
