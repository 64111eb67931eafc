# SPDX-License-Identifier: BSD-2-Clause
"""alloc --preset: each preset is exact to the byte with its library, called by a Python program."""
import os
import subprocess
import sys

from lib import PATIENCE, Memflame, check, equal, run, spawn

PROLOGUE = """
import ctypes, os, sys
def function(name, *arguments):
    found = getattr(library, name)
    found.restype = ctypes.c_void_p
    found.argtypes = arguments
    return found
P, Z, I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
"""

EPILOGUE = """
print("ready", flush=True)
sys.stdin.readline()
work()
print("done", flush=True)
sys.stdin.readline()
"""

APR = """
library = ctypes.CDLL("libapr-1.so.0")
library.apr_initialize()
create = function("apr_pool_create_ex", P, P, P, P)
palloc, pcalloc = function("apr_palloc", P, Z), function("apr_pcalloc", P, Z)
clear, destroy = function("apr_pool_clear", P), function("apr_pool_destroy", P)
def new_pool(parent=None):
    pool = P()
    create(ctypes.byref(pool), parent, None, None)
    return pool
stays, cleared = new_pool(), new_pool()
parent = new_pool()
child = new_pool(parent)
def work():
    for _ in range(10): palloc(stays, 1000)
    for _ in range(4): pcalloc(child, 500)
    palloc(parent, 90)
    destroy(parent)
    for _ in range(3): palloc(cleared, 300)
    clear(cleared)
    palloc(cleared, 70)
"""

GLIB = """
library = ctypes.CDLL("libglib-2.0.so.0")
alloc, alloc0 = function("g_slice_alloc", Z), function("g_slice_alloc0", Z)
copy, free = function("g_slice_copy", Z, P), function("g_slice_free1", Z, P)
free(48, alloc(48))
def work():
    blocks = [alloc(48) for _ in range(20)]
    for block in blocks[:5]: free(48, block)
    for _ in range(3): alloc0(100)
    for _ in range(2): copy(32, blocks[5])
"""

SQLITE = """
library = ctypes.CDLL("libsqlite3.so.0")
library.sqlite3_initialize()
malloc, malloc64 = function("sqlite3_malloc", I), function("sqlite3_malloc64", ctypes.c_uint64)
realloc, free = function("sqlite3_realloc", P, I), function("sqlite3_free", P)
def work():
    a, b, c = (malloc(1000) for _ in range(3))
    free(a)
    realloc(b, 5000)
    realloc(c, 0)
    malloc64(200)
    malloc(-1)
"""


def watch(preset, library, program, live, live_count, total, total_count):
    target = spawn([sys.executable, "-c", PROLOGUE + program + EPILOGUE], stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, text=True)
    equal(f"the program for {preset} says", target.stdout.readline(), "ready\n")
    memflame = Memflame("alloc", "-p", target.pid, "--preset", preset, "--obj", library)
    target.stdin.write("go\n")
    target.stdin.flush()
    equal(f"the program for {preset} says", target.stdout.readline(), "done\n")
    memflame.stop()
    target.communicate("leave\n", timeout=PATIENCE)
    profile = memflame.profile()
    got = tuple(profile.sum(column) for column in ("live", "live-count", "total", "total-count"))
    equal(f"what {preset} has seen", got, (live, live_count, total, total_count))
    check(memflame.summary()["losses"]["free_miss"]["events"] == 0, f"{preset}: free misses")
    calls = [note for note in memflame.summary()["notes"] if note.startswith("calls of declared")]
    equal(f"notes of {preset} about calls", len(calls), 1)
    return calls[0]


def inlined(python):
    """Debian's CPython is refused, whether it runs already or is started."""
    target = spawn([python, "-c", "input()"], stdin=subprocess.PIPE)
    for who, status in ((["-p", target.pid], 1), (["--", python, "-c", "0"], 125)):
        said = run("alloc", "--preset", "python", *who, status=status).stderr
        for word in ("inlined ", "PyObject_Malloc in ", "PyMem_RawMalloc in ",
                     "PYTHONMALLOC=malloc"):
            check(word in said, f"{word!r} is not in {said!r}")
    target.communicate(b"\n", timeout=PATIENCE)


watch("apr-pools", "libapr-1.so.0", APR, 10070, 11, 13060, 19)
watch("glib-slices", "libglib-2.0.so.0", GLIB, 1084, 20, 1324, 25)
calls = watch("sqlite", "libsqlite3.so.0", SQLITE, 5200, 2, 8200, 5)
for word in ("sqlite3_malloc 4", "sqlite3_free 2", "sqlite3_realloc 2"):
    check(word in calls, f"{word!r} is not in {calls!r}")
if os.path.exists("/usr/bin/python3.11"):
    inlined("/usr/bin/python3.11")
