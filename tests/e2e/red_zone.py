# SPDX-License-Identifier: BSD-2-Clause
"""alloc: the data of a function stays as it is where the kernel turns a nop into a call: declared functions and USDT
probes with nops of five bytes are counted without one changed argument, or refused by name."""
import ctypes
import errno
import json
import subprocess

from lib import REQUIREMENT, Memflame, Target, check, equal, example, lossless, observe, run

DECLARED = [word for name in ("zone", "first")
            for word in ("--alloc", f"{name}_alloc(size=arg0,ptr=ret)", "--free", f"{name}_free(ptr=arg0)")]


def calls_from_nops():
    """What the system call of a probed nop answers outside of one (since Linux 6.18)."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(336) == -1 and ctypes.get_errno() == errno.ENXIO


def exact(profile, summary, truth):
    equal("calls with changed arguments", truth["counters"]["wrong"]["events"], 0)
    profile.compare(truth["functions"])
    lossless(profile, summary)


exact(*observe("alloc", "red_zone_truth", *DECLARED))

memflame = Memflame("alloc", *DECLARED, "--", example("red_zone_truth"), stdout=subprocess.PIPE, text=True)
said, _ = memflame.process.communicate()
memflame.wait()
exact(memflame.profile(), memflame.summary(), json.loads(said))

# USDT probes are where the program has them.
exact(*observe("alloc", "red_zone_nop1"))
if calls_from_nops():
    target = Target("red_zone_nop5")
    error = run("alloc", "-p", target.pid, "-d", "1", status=REQUIREMENT).stderr
    for word in ("red_zone_nop5: the USDT probe otel_memory:", "nop of five bytes", "-mno-red-zone", "--obj libc.so"):
        check(word in error, f"{word!r} is not in {error!r}")
    run("alloc", "-p", target.pid, "-d", "0.2", "--obj", "libc.so")
    equal("changed arguments", target.work()["counters"]["wrong"]["events"], 0)
    target.end()
else:
    exact(*observe("alloc", "red_zone_nop5"))
