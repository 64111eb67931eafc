#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""watch: windows of a rule have the heap of Go programs, to the byte, beside that of other programs of the same rule; a
rule that reads only Go's heaps says which processes it leaves out."""
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

import lib
from go_lib import build
from lib import MEMFLAME, Profile, Target, check, equal, example, free_ports, path, run, wait_until, window_heads

# Every block is sampled. Figures are those of the last but one collection. None begins within setup(), which has less than
# 4 MB, as what the runtime makes for the first one would count there.
SOURCE = """
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

var table [1000][]byte
var kept [2000][]byte
var ring [10][]byte
var next int

//go:noinline
func setup(i int) { table[i] = make([]byte, 1024) }

//go:noinline
func leak() { kept[next] = make([]byte, 1024); next++ }

//go:noinline
func churn(i int) { ring[i%10] = make([]byte, 2048) }

func publish() {
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
}

func main() {
	runtime.MemProfileRate = 1
	for i := range table {
		setup(i)
	}
	publish()
	fmt.Println("ready", len(pprof.Profiles()) > 0)
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		for i := 0; i < 500; i++ {
			leak()
			churn(i)
		}
		publish()
		fmt.Println("done")
	}
}
"""
NAME = f"both{os.getpid()}"[:15]
FOLDER = path("profiles")
program = build("served", SOURCE)
for kind in ("go", "native"):
    os.mkdir(path(kind))
shutil.copy(program, path(f"go/{NAME}"))
os.symlink(example("alloc_truth"), path(f"native/{NAME}"))
(port,) = free_ports(1)


class Go:
    def __init__(self):
        self.process = lib.spawn([path(f"go/{NAME}")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal("the Go program", self.process.stdout.readline(), "ready true\n")

    def work(self):
        """500 blocks of 1 KiB stay, and as many of 2 KiB come and go."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        equal("its work", self.process.stdout.readline(), "done\n")

    def end(self):
        self.process.stdin.close()
        equal("its end", self.process.wait(lib.PATIENCE), 0)


class Watch:
    def __init__(self, name, **rule):
        with open(path(f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump({"memory": "256M", "max_cpu": 100, "spool": {"folder": path("spool")}, "outputs": {
                "files": {"kind": "directory", "folder": FOLDER},
                "metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}},
                "rules": [{"name": name, "match": {"comm": NAME}, "window": "1s", **rule}]}, file)
        self.service = name
        self.errors = open(path(f"{name}.stderr"), "w+", encoding="utf-8")
        self.process = lib.spawn([MEMFLAME, "watch", path(f"{name}.json")], stderr=self.errors)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def heads(self):
        return window_heads(FOLDER, self.service)

    def wait_for(self, what, **figures):
        wait_until(lambda: self.process.poll() is None and any(
            all(head["figures"].get(name) == value for name, value in figures.items()) for head in self.heads()), what)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        equal(f"exit status of memflame watch, which said:\n{self.said()}\n", self.process.wait(lib.PATIENCE), 0)
        self.profiles = []
        for number, head in enumerate(self.heads()):
            file = path(f"{self.service}.{number}.json")
            run("collapse", "--format", "json", "-o", file, head["profile"])
            self.profiles.append(Profile(file))

    def total(self, column, function):
        return sum(profile.sum(column, function) for profile in self.profiles)

    def last(self, column, function):
        return self.profiles[-1].sum(column, function)


def metric(name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", None, lib.PATIENCE) as reply:
        lines = reply.read().decode().split("\n")
    return [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{")]


def both():
    """A Go program that runs, one that begins later, and one that calls malloc: one service."""
    go, native = Go(), Target("alloc_truth", executable=path(f"native/{NAME}"))
    watch = Watch("both", sample="all")
    watch.wait_for("the first two", processes=2, go_processes=1)
    go.work()
    truth = native.work()
    later = Go()
    watch.wait_for("all three", processes=3, go_processes=2)
    time.sleep(1.5)
    watch.stop()
    for function, figures in truth["functions"].items():
        equal(f"{function} allocated", watch.total("alloc_space", function), figures["total"])
        equal(f"{function} in use", watch.last("inuse_space", function), figures["live"])
    equal("leaked", (watch.total("alloc_space", "main.leak"), watch.last("inuse_space", "main.leak"),
                     watch.last("inuse_objects", "main.leak")), (500 * 1024, 500 * 1024, 500))
    equal("come and gone", (watch.total("alloc_space", "main.churn"), watch.total("alloc_objects", "main.churn")),
          (500 * 2048, 500))
    # What was there before counts as in use only; what a program does that begins later, in full.
    equal("set up", (watch.total("alloc_objects", "main.setup"), watch.last("inuse_objects", "main.setup")), (1000, 2000))
    equal("nothing is missing", {head["figures"]["unwatched_processes"] for head in watch.heads()}, {0})
    check("is not watched" not in watch.said(), watch.said())
    go.work()
    later.end()
    native.end()
    return go


def only_go(go):
    native = Target("alloc_truth", executable=path(f"native/{NAME}"))
    watch = Watch("onlygo", collect="go")
    watch.wait_for("the Go program", processes=1, go_processes=1, unwatched_processes=1, go_sample_bytes=0)
    go.work()
    wait_until(lambda: metric("memflame_rule_unwatched_processes") == [1], "the metric")
    check(f"rule onlygo: the heap of 1 process is not watched: {NAME} ({native.pid}) is not a Go program" in watch.said(),
          watch.said())
    time.sleep(1.5)
    watch.stop()
    equal("leaked", (watch.total("alloc_space", "main.leak"), watch.last("inuse_space", "main.leak")),
          (500 * 1024, 1500 * 1024))
    native.end()


def refused():
    for more, words in (({"sample": "512K"}, "samples by itself"), ({"max_overhead": 1}, "samples by itself"),
                        ({"probes": ["alloc", "brk"]}, "--probes"), ({"probes": "brk"}, "only the probe alloc")):
        with open(path("wrong.json"), "w", encoding="utf-8") as file:
            json.dump({"outputs": {"files": {"kind": "directory", "folder": FOLDER}},
                       "rules": [{"name": "a", "match": {"comm": NAME}, "collect": "go", **more}]}, file)
        said = run("watch", "--check", path("wrong.json"), status=1).stderr
        check(words in said, f"{more}: {said}")


refused()
program = both()
only_go(program)
program.end()
