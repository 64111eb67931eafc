# SPDX-License-Identifier: BSD-2-Clause
"""heap: the profile of Go's runtime, read from outside, is the one that the program writes itself: to the byte, by
function and line, in programs with symbols and without, and while the program collects garbage."""
import collections
import re
import subprocess

from go_lib import build, start
from lib import LONG, check, equal, path, run, spawn

SOURCE = """
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

type node struct {
	next *node
	data [4096]byte
}

type shape interface{ grow() }
type box struct{ size int }

var list *node
var kept [][]byte
var tables []map[int]string

func (b box) grow() { kept = append(kept, make([]byte, b.size)) }

func push() { list = &node{next: list} }

func small(n int) {
	for i := 0; i < n; i++ {
		push()
	}
}

func pair[T any](n int) []T { return make([]T, n) }

//go:noinline
func deep(n int) {
	if n == 0 {
		kept = append(kept, make([]byte, 3000))
		return
	}
	deep(n - 1)
}

func main() {
	runtime.MemProfileRate = 512
	small(3000)
	var grows shape = &box{5000}
	for i := 0; i < 500; i++ {
		grows.grow()
	}
	done := make(chan bool)
	go func() {
		for i := 0; i < 150; i += 5 {
			deep(i)
		}
		tables = append(tables, map[int]string{})
		for i := 0; i < 1000; i++ {
			tables[0][i] = fmt.Sprint(i)
		}
		done <- true
	}()
	<-done
	kept = append(kept, pair[byte](70000))
	numbers := pair[int64](9000)
	sink := 0
	for i := 0; i < 20000; i++ {
		sink += len(fmt.Sprint("gone", i))
	}
	runtime.GC()
	runtime.GC()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		file, _ := os.Create(lines.Text())
		pprof.Lookup("heap").WriteTo(file, 0)
		file.Close()
		fmt.Println("written")
	}
	fmt.Println(len(numbers), sink, len(kept))
}
"""

# Every block is sampled, and what lives does not change: so each reading has the same blocks in use.
CHURN = """
package main

import (
	"fmt"
	"runtime"
	"runtime/pprof"
)

var kept [1000][]byte

func keep() {
	for i := range kept {
		kept[i] = make([]byte, 2048)
	}
}

func main() {
	runtime.MemProfileRate = 1
	keep()
	runtime.GC()
	runtime.GC()
	fmt.Println("ready")
	total := 0
	for i := 0; ; i++ {
		total += len(make([]byte, 100+i%7*100))
		if i%500 == 0 {
			runtime.GC()
		}
		if total < 0 {
			fmt.Println(pprof.Profiles(), len(kept))
		}
	}
}
"""

WITHOUT = """
package main

import (
	"fmt"
	"time"
)

var kept [][]byte

func grow() {
	for i := 0; i < 200; i++ {
		kept = append(kept, make([]byte, 10000))
	}
}

func main() {
	fmt.Println("ready")
	for {
		grow()
		time.Sleep(20 * time.Millisecond)
	}
}
"""


def heap(pid, *options):
    return run("heap", "-p", pid, "--format", "folded", "--lines", *options).stdout


def stacks(text, own):
    """By stack, as pprof has them: without the program, the place where goroutines begin, and the runtime's own
    functions at the innermost end."""
    sums = collections.Counter()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        stack, value = line.rsplit(" ", 1)
        # The table of symbols has the types of a generic function, the runtime's has [...].
        frames = [re.sub(r"\[go\.shape\.[^]]*\]", "[...]", frame.replace(".abi0", "").replace("_[i]", ""))
                  for frame in stack.split(";")[own:]]
        frames = [frame for frame in frames if not frame.startswith(("[truncated", "runtime.goexit"))]
        if any(not frame.startswith(("runtime.", "internal/runtime/")) for frame in frames):
            while frames[-1].startswith(("runtime.", "internal/runtime/")):
                frames.pop()
        sums[";".join(frames)] += int(value)
    return sums


def as_the_program_says(name, *options):
    process = start(build(name, SOURCE, *options), stdin=subprocess.PIPE)
    for value in ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects"):
        seen = heap(process.pid, "--value", value)
        profile = path(f"{name}.pb.gz")
        process.stdin.write(profile + "\n")
        process.stdin.flush()
        equal("the program", process.stdout.readline(), "written\n")
        told = run("render", profile, "--value", value, "--format", "folded", "--lines").stdout
        seen, told = stacks(seen, own=1), stacks(told, own=0)
        check(len(told) > 8, f"{name} {value}: {told}")
        equal(f"{name} {value}: only memflame", seen - told, collections.Counter())
        equal(f"{name} {value}: only the program", told - seen, collections.Counter())
    text = heap(process.pid)
    check("main.small main.go" in text and "main.push main.go" in text, f"inlined functions: {text}")
    check("main.pair[" in text, f"a generic function: {text}")
    check("[truncated: Go's runtime keeps no more]" in text, f"long stacks are cut: {text}")
    process.stdin.close()
    equal("its end", process.wait(30), 0)


def while_it_collects():
    process = start(build("churn", CHURN))
    for _ in range(100 if LONG else 15):
        sums = stacks(heap(process.pid, "--value", "inuse_objects"), own=1)
        kept = sum(value for stack, value in sums.items() if "main.keep" in stack)
        equal("blocks that live", kept, 1000)
    process.kill()


def switched_on():
    process = start(build("without", WITHOUT))
    said = run("heap", "-p", process.pid, status=1).stderr
    check("runtime.MemProfileRate is 0" in said and "net/http/pprof" in said, said)
    check("--start-go-profile" in said, said)
    text = run("heap", "-p", process.pid, "-d", "2", "--start-go-profile", "--format", "folded").stdout
    check("main.grow" in text, text)
    check("runtime.MemProfileRate is 0" in run("heap", "-p", process.pid, status=1).stderr, "it is off again")
    run("heap", "-p", process.pid, "--start-go-profile", status=2)  # without -d
    # What the first one sampled is still there, and did not come in the second.
    again = run("heap", "-p", process.pid, "-d", "1", "--start-go-profile", "--format", "folded").stdout
    before, after = map(int, next(line for line in again.splitlines() if "main.grow" in line).split()[-2:])
    check(0 < before <= after, again)
    process.kill()


def refused():
    sleeper = spawn(["sleep", "60"])
    said = run("heap", "-p", sleeper.pid, status=1).stderr
    check("no code of Go was found in sleep" in said and "memflame alloc -p" in said, said)
    sleeper.kill()
    run("heap", status=2)
    run("heap", "-p", "0", status=2)


as_the_program_says("plain")
as_the_program_says("stripped", "-ldflags", "-s -w")
as_the_program_says("pie", "-buildmode", "pie")
as_the_program_says("stripped-pie", "-buildmode", "pie", "-ldflags", "-s -w")
while_it_collects()
switched_on()
refused()
