# SPDX-License-Identifier: BSD-2-Clause
"""--comm NAME: every process of that name, whether it runs already or starts later. A program started
by a link or a descriptor has the name that it was started by."""
import os
import sys

from lib import Memflame, Profile, Target, equal, example, own_libraries, path, run, wait_until
from proc import changed_code

own = own_libraries("many_stacks")
earlier = Target("many_stacks", "300")
other = Target("alloc_truth")
memflame = Memflame("alloc", "--comm", "many_stacks")
later = Target("many_stacks", "500", env=own)
wait_until(lambda: changed_code(later.pid, path("own")), "probes in the process that began later")
for target in (earlier, other, later):
    target.work()
memflame.stop()
for target in (earlier, other, later):
    target.end()
profile = memflame.profile()
equal("blocks of both", profile.sum("live-count", "many_stacks", "reach_leaf"), 800)
equal("processes", profile.roots, {"many_stacks"})
equal("pids", sorted(set(memflame.summary()["pids"])), sorted([earlier.pid, later.pid]))

# A process's frame has the name it was started by; the module is the file.
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
