# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of a Go program, with and without symbols and DWARF: they end where goroutines, threads and the
program begin. A stripped program has the same names, from its own table."""
import os
import shutil
import subprocess
import sys

from lib import Memflame, PATIENCE, check, equal, path, spawn

if not shutil.which("go"):
    print("SKIPPED: no Go compiler")
    sys.exit(77)

SOURCE = """
package main

import "fmt"

var kept [][]byte

//go:noinline
func fill(block []byte) {
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
}

//go:noinline
func grow(depth int) []byte {
	if depth > 0 {
		return grow(depth - 1)
	}
	block := make([]byte, 1<<20)
	fill(block)
	return block
}

func main() {
	var word string
	fmt.Println("ready")
	fmt.Scanln(&word)
	done := make(chan []byte)
	for i := 0; i < 40; i++ {
		go func() { done <- grow(50) }()
	}
	for i := 0; i < 40; i++ {
		kept = append(kept, <-done)
	}
	fmt.Println("done")
	fmt.Scanln(&word)
}
"""
# A function that runs on a thread's stack was called on a goroutine's stack, which is not known.
ELSEWHERE = ("runtime.systemstack", "runtime.asmcgocall")
# A child of clone() has an empty stack.
NOWHERE = ("runtime.clone",)
BEGINNINGS = ("runtime.goexit", "runtime.rt0_go", "runtime.mstart", "runtime.mcall",
              "runtime.morestack", "_rt0_amd64_linux")

with open(path("main.go"), "w", encoding="utf-8") as file:
    file.write(SOURCE)
environment = {**os.environ, "HOME": path("."), "GOCACHE": path("cache"), "CGO_ENABLED": "0"}


def plain(name):
    return name.removesuffix(".abi0")


def observe(name, *flags):
    program = path(name)
    subprocess.run(["go", "build", *flags, "-o", program, path("main.go")], check=True,
                   env=environment, cwd=path("."))
    process = spawn([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    equal("the program is ready", process.stdout.readline(), "ready\n")
    memflame = Memflame("fault", "-p", process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    equal("the program is done", process.stdout.readline(), "done\n")
    memflame.stop()
    process.communicate("end\n", timeout=PATIENCE)
    equal(f"{name}: exit status", process.returncode, 0)
    profile = memflame.profile()
    pages = profile.columns.index("gained")
    whole = filled = 0
    for frames, values in profile.stacks:
        frames = [plain(frame) for frame in frames[1:]]
        if not values[pages] or frames[0].startswith("[by another task"):
            continue
        if frames[0].startswith("[truncated: "):
            check(frames[1] in ELSEWHERE + NOWHERE, f"{name}: a stack is cut: {frames}")
            continue
        check(frames[0] in BEGINNINGS or frames[0] in ("_start", "[exec: set up by the kernel]"),
              f"{name}: a stack begins with {frames}")
        whole += 1
        if "main.fill" in frames:
            equal(f"{name}: main.fill", frames[:2], ["runtime.goexit", "main.main.func1"])
            # Recursion is one frame with its depth, or one frame per call.
            check(any(frame.startswith("main.grow") for frame in frames), f"{name}: {frames}")
            filled += values[pages]
    check(whole > 0, f"{name}: no stack is whole")
    return filled


for build, flags in (("symbols", ()), ("stripped", ("-ldflags=-s -w",)),
                     ("pie", ("-buildmode=pie", "-ldflags=-s -w"))):
    pages = observe(build, *flags)
    check(pages >= 7000, f"{build}: {pages} pages in main.fill")  # of 10,240; some were there before
