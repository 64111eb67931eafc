# SPDX-License-Identifier: BSD-2-Clause
"""alloc in a control group with 64 MiB: the program that grows is killed, not memflame, which tells of it. Also where
memflame may not lower its own weight (CAP_SYS_RESOURCE), and where no process is larger than memflame."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from lib import SLOW, Memflame, check, equal, path

LIMIT = 64 << 20
SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
char *volatile kept;
int main(int argc, char **argv) {
  int processes = atoi(argv[1]);
  for (int i = 1; i < processes && fork() != 0;) ++i;
  for (int i = 0; i < 4096; ++i) {
    kept = malloc(65536);
    memset(kept, 1, 65536);
    usleep(2000);
  }
  while (wait(0) > 0) {}
  return 0;
}
"""


def make_group():
    """The folder of a control group of v1 or v2 with a limit on memory."""
    for root, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = f"{root}/memflame-oom-{os.getpid()}"
        with contextlib.suppress(OSError):
            os.mkdir(folder)
            if os.path.exists(f"{folder}/{file}"):
                with open(f"{folder}/{file}", "w", encoding="utf-8") as stream:
                    stream.write(str(LIMIT))
                return folder
            os.rmdir(folder)
    print("SKIPPED: control groups with a limit on memory cannot be made here")
    sys.exit(77)


def processes():
    with open(f"{GROUP}/cgroup.procs", encoding="utf-8") as stream:
        return [int(pid) for pid in stream.read().split()]


def empty():
    end = time.monotonic() + 20
    while processes() and time.monotonic() < end:
        for pid in processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def enter():
    with open(f"{GROUP}/cgroup.procs", "w", encoding="utf-8") as stream:
        stream.write(str(os.getpid()))


if shutil.which("gcc") is None:
    print("SKIPPED: there is no gcc")
    sys.exit(77)
with open(path("grow.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
subprocess.run(["gcc", "-O1", "-o", path("grow"), path("grow.c")], check=True)
GROUP = make_group()
# Without CAP_SYS_RESOURCE, as in most containers.
DROPS = [[]] if shutil.which("setpriv") is None else [[], ["setpriv", "--bounding-set=-sys_resource"]]
try:
    for collector in ("kernel", "inside"):
        for drop in DROPS:
            for count in (1, 8):
                memflame = Memflame("alloc", "--collect", collector, "--", path("grow"), count, wait=False, prefix=drop,
                                    preexec_fn=enter)
                memflame.process.wait(300 if SLOW else 100)
                what = f"{collector}, {count} processes, {drop}"
                check(memflame.process.returncode >= 0, f"{what}: memflame was killed: {memflame.stderr()}")
                if count == 1:
                    equal(f"{what}: exit status", memflame.process.returncode, 128 + signal.SIGKILL)
                notes = memflame.summary()["notes"]
                check(any("(grow) was killed by the kernel, which was out of memory" in note for note in notes),
                      f"{what}: {notes}")
                check(memflame.profile().sum("live") > 8 << 20, f"{what}: what it had is in the profile")
                empty()
finally:
    empty()
    time.sleep(0.1)
    os.rmdir(GROUP)
