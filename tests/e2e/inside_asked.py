# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: what a program allocates with functions that it asked dlsym() for is counted to the byte, launched and
attached. Namespaces of libraries (dlmopen) are named, and the kernel's collector counts them."""
import subprocess

from attached import Waiting, attach
from lib import LOSSY, Memflame, check, equal, example, losses

ONE = {"live": 100_000, "live_count": 100, "total": 200_000, "total_count": 200}
WAYS = ("by_default", "by_next", "by_handle", "by_version", "by_plugin_next", "by_plugin", "by_registered")


def launched(*arguments, collect="inside", status=0):
    memflame = Memflame("alloc", "--strict", "--collect", collect, "--", example("asked"), *arguments,
                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    memflame.process.communicate("\n\n\n")
    memflame.wait(status)
    return memflame.profile(), memflame.summary()


def attached(*arguments, status=0):
    target = Waiting(example("asked"), *arguments)
    memflame = attach(target, "--strict")
    target.process.stdin.write("\n")
    target.process.stdin.flush()
    equal("the target", target.process.stdout.readline(), "done\n")
    memflame.stop(status)
    target.process.stdin.write("\n\n")
    target.end()
    return memflame.profile(), memflame.summary()


for see in (launched, attached):
    profile, summary = see()
    profile.compare({way: ONE for way in WAYS})
    check(not losses(summary), f"something was lost: {losses(summary)}")

    profile, summary = see("apart", status=LOSSY)
    profile.compare({"by_default": ONE, "by_plugin": {"total": 0}})
    equal("losses", {name: each["events"] for name, each in losses(summary).items()}, {"namespace_unseen": 1})

profile, summary = launched("apart", collect="kernel")
profile.compare({"by_default": ONE, "by_plugin": ONE})
check(not losses(summary), f"something was lost: {losses(summary)}")
