# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside -p of a process with a filter for system calls (seccomp): one that would kill it is seen before
anything is called in it, and it runs on; with one that is harmless it is watched."""
import os
import signal
import sys

from attached import Waiting, cycle
from lib import check, equal, path, run

# memfd_create and mmap of code are among what the agent needs; getppid is not.
MEMFD_CREATE, GETPPID = 319, 110
ALLOW, KILL, TRAP = 0x7fff0000, 0x80000000, 0x00030000

FILTERED = """
import ctypes, os, struct, sys, threading
def forbid(number, action):
    steps = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, action), (0x06, 0, 0, {allow}))
    steps = [struct.pack("HBBI", *step) for step in steps]
    program = ctypes.create_string_buffer(b"".join(steps))
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(Program(len(steps), ctypes.addressof(program))), 0, 0) == 0
if sys.argv[1] == "thread":
    go_on = threading.Event()
    inside = threading.Event()
    def run():
        forbid({number}, {action})
        inside.set()
        go_on.wait()
    threading.Thread(target=run, daemon=True).start()
    inside.wait()
else:
    forbid({number}, {action})
print("ready", flush=True)
total = 0
while not __import__("select").select([sys.stdin], [], [], 0.01)[0]:
    total += len(bytes(1000))
print(total > 0, flush=True)
os._exit(0)
"""


def filtered(number, action, where="process"):
    return Waiting(sys.executable, "-c", FILTERED.format(number=number, action=action, allow=ALLOW), where)


for action, words in ((KILL, "kills it at memfd_create"), (TRAP, "sends it a signal at memfd_create")):
    target = filtered(MEMFD_CREATE, action)
    said = run("alloc", "--inside", "-p", target.pid, "-o", path("x.json"), status=1).stderr
    check(words in said and "--collect kernel" in said, said)
    equal("it works on", target.end().strip(), "True")
target = filtered(MEMFD_CREATE, KILL, "thread")
said = run("alloc", "--inside", "-p", target.pid, "-o", path("x.json"), status=1).stderr
check("its threads have different filters" in said, said)
equal("it works on", target.end().strip(), "True")
target = filtered(GETPPID, KILL)
cycle(target, 2)
equal("it works on", target.end().strip(), "True")
