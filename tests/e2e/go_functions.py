# SPDX-License-Identifier: BSD-2-Clause
"""alloc --alloc/--free with Go functions: returns are never probed, arguments are in Go's registers, and
the C functions of a program in both languages stay exact."""
import os
import shutil
import struct
import subprocess
import sys

from lib import Memflame, PATIENCE, check, equal, lossless, path, run, spawn

if not shutil.which("go"):
    print("SKIPPED: no Go compiler")
    sys.exit(77)

# Each call goes deep enough for its stack to be moved, and the garbage collector scans all stacks.
SOURCE = """
package main

%(import)s
import (
	"fmt"
	"runtime"
	"unsafe"
)

var kept [][]byte

//go:noinline
func rec(n int) []byte {
	var pad [128]byte
	pad[n%%128] = 1
	if n > 0 {
		return rec(n - 1)
	}
	runtime.GC()
	return append(pad[:0:0], pad[:]...)
}

//go:noinline
func malloc(n int) []byte { return rec(n) }

//go:noinline
func free(b []byte) { kept = append(kept, b) }

// The block is the second argument; its own frame makes the stack grow.
//go:noinline
func put(n int, block unsafe.Pointer) byte {
	var pad [4096]byte
	pad[n] = 1
	return pad[(n+1)%%4096] + *(*byte)(block)
}

%(more)s

func main() {
	var word string
	fmt.Println("ready")
	fmt.Scanln(&word)
	done := make(chan bool)
	for i := 0; i < 40; i++ {
		go func(i int) {
			block := get(100 + i)
			free(malloc(200 + i))
			if i < 30 {
				put(i, block)
			}
			done <- true
		}(i)
	}
	for i := 0; i < 40; i++ {
		<-done
	}
	fmt.Println("done")
	fmt.Scanln(&word)
}
"""
PURE = {"import": "", "more": """
var mine [40][256]byte

//go:noinline
func get(n int) unsafe.Pointer { return unsafe.Pointer(&mine[n-100]) }
"""}
# A C function that calls back into Go, where the stack is moved and the garbage collector runs.
MIXED = {"import": """
/*
#include <stdatomic.h>
static char mine[1 << 20];
static atomic_size_t used;
extern void callback(void);
__attribute__((noinline)) static void* c_get(unsigned long size) {
  void* block = mine + atomic_fetch_add(&used, 256);
  callback();
  return size < 256 ? block : 0;
}
*/
import "C"
""", "more": """
//export callback
func callback() { rec(300) }

//go:noinline
func get(n int) unsafe.Pointer { return C.c_get(C.ulong(n)) }
"""}


def build(name, source, *flags, cgo="0"):
    folder = path(name + "-source")
    os.mkdir(folder)
    with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as file:
        file.write(SOURCE % source)
    subprocess.run(["go", "build", *flags, "-o", path(name), "main.go"], cwd=folder, check=True,
                   env=dict(os.environ, GO111MODULE="off", CGO_ENABLED=cgo,
                            GOCACHE=path("go-cache"), GOFLAGS=""))
    return path(name)


class Program:
    def __init__(self, executable):
        self.process = spawn([executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        equal(f"{executable} says", self.process.stdout.readline(), "ready\n")

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def work(self):
        self.say("go")
        equal("the program says", self.process.stdout.readline(), "done\n")

    def end(self):
        _, errors = self.process.communicate("leave\n", timeout=PATIENCE)
        equal("what the program ends with", (self.process.returncode, errors), (0, ""))


def offset_of(executable, function):
    """A Go function's address in the file, as "+0x…"."""
    names = subprocess.run(["nm", executable], capture_output=True, text=True, check=True).stdout
    address = [int(line.split()[0], 16) for line in names.splitlines()
               if line.endswith(" " + function)][0]
    headers = subprocess.run(["readelf", "-lW", executable], capture_output=True, text=True,
                             check=True).stdout
    for line in headers.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, start, size = (int(words[n], 16) for n in (1, 2, 4))
            if start <= address < start + size:
                return f"+{hex(address - start + offset)}"
    raise SystemExit(f"FAILED: {function} is in no segment")


def without_sections(executable):
    bare = executable + "-bare"
    with open(executable, "rb") as file:
        data = bytearray(file.read())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    # Drops the note that also names Go; the rest is what the runtime needs.
    data = data.replace(b"\x04\0\0\0Go\0\0", b"\x04\0\0\0No\0\0")
    with open(bare, "wb") as file:
        file.write(data)
    os.chmod(bare, 0o755)
    return bare


def refused(executable, *declared, words=("Go code", "unexpected return pc")):
    program = Program(executable)
    said = run("alloc", "-p", program.pid, "-d", "1", *declared, status=1).stderr
    for word in words:
        check(word in said, f"{word!r} is not in {said!r}")
    program.work()
    program.end()


def refusals(pure):
    refused(pure, "--alloc", f"{pure}:main.rec(size=arg0,ptr=ret)", words=("main.rec", "Go code"))
    refused(pure, "--alloc", "main.rec(size=arg0,ptr=ret,throws)")
    refused(pure, "--alloc", "main.get(pool=arg0,size=arg0)", "--free", "main.put(pool=arg1)")
    preset = path("go.json")
    with open(preset, "w", encoding="utf-8") as file:
        file.write('{"name": "go", "description": "", "alloc": ["main.rec(size=arg0)"], "free": []}')
    refused(pure, "--preset", preset)
    place = offset_of(pure, "main.rec")
    for other in (without_sections(pure), build("stripped", PURE, "-ldflags=-s -w")):
        refused(other, "--alloc", f"{other}:{place}(size=arg0)")
    pie = build("pie", PURE, "-buildmode=pie")
    refused(pie, "--alloc", "main.rec(size=arg0)")
    # Names like those of an allocator.
    program = Program(pure)
    memflame = Memflame("alloc", "-p", program.pid, "--symbols-prefix", "main.", "--free",
                        "main.put(ptr=arg1)", "-v")
    program.work()
    memflame.stop()
    program.end()
    check("main.malloc is not probed: it is Go code" in memflame.stderr(), memflame.stderr())


def frees(pure):
    """One hit per call, with the second argument, although each call's stack is moved."""
    program = Program(pure)
    memflame = Memflame("alloc", "-p", program.pid, "--free", "main.put(ptr=arg1)")
    program.work()
    memflame.stop()
    program.end()
    equal("frees", memflame.summary()["frees"]["seen"], 30)


def mixed(program_file):
    refused(program_file, "--alloc", "main.rec(size=arg0)")
    program = Program(program_file)
    memflame = Memflame("alloc", "-p", program.pid, "--obj", program_file,
                        "--alloc", "c_get(size=arg0,ptr=ret)", "--free", "main.put(ptr=arg1)")
    program.work()
    memflame.stop()
    program.end()
    profile = memflame.profile()
    got = {column: profile.sum(column) for column in ("live", "live-count", "total", "total-count")}
    equal("what C gave, and Go took", got,
          {"live": sum(range(130, 140)), "live-count": 10, "total": sum(range(100, 140)),
           "total-count": 40})
    lossless(profile, memflame.summary())


PROGRAM = build("pure", PURE)
refusals(PROGRAM)
frees(PROGRAM)
mixed(build("mixed", MIXED, cgo="1"))
