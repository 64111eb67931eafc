# SPDX-License-Identifier: BSD-2-Clause
"""--comm NAME: every process of that name, those that run already and those that start later; the name
of a program that was started by a link or a descriptor."""
import os
import sys
import time

from lib import SLOW, Memflame, Profile, Target, equal, example, path, run

earlier = Target("many_stacks", "300")
other = Target("alloc_truth")
memflame = Memflame("alloc", "--comm", "many_stacks")
later = Target("many_stacks", "500")
time.sleep(3 if SLOW else 1)  # probes reach a new process a moment after it has started
for target in (earlier, other, later):
    target.work()
memflame.stop()
for target in (earlier, other, later):
    target.end()
profile = memflame.profile()
equal("blocks of both", profile.sum("live-count", "many_stacks", "reach_leaf"), 800)
equal("processes", profile.roots, {"many_stacks"})
equal("pids", sorted(set(memflame.summary()["pids"])), sorted([earlier.pid, later.pid]))

# The frame of a process is what was started, the module is the file.
os.symlink(example("many_stacks"), path("by_link"))
run("alloc", "-o", path("link.json"), "--", path("by_link"), "300")
equal("by a link", Profile(path("link.json")).roots, {"by_link"})
# Its comm is "9", or the file's name since Linux 6.14; only the program itself knows its name.
code = (f"import os, sys; os.dup2(os.open('{example('many_stacks')}', os.O_RDONLY), 9);"
        "os.execv('/proc/self/fd/9', ['/opt/applet', '--wait', '300'])")
target = Target("many_stacks", "-c", code, executable=sys.executable)
memflame = Memflame("alloc", "-p", target.pid)
target.work()
memflame.stop()
target.end()
equal("by a descriptor", len(memflame.profile().roots & {"applet", "many_stacks"}), 1)
