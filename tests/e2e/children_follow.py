# SPDX-License-Identifier: BSD-2-Clause
"""--children: by default only watched processes have probes. A child gets its own as soon as it begins,
and memflame says how long it ran without them. `exact` puts them into every process."""
import os
import subprocess
import sys
import time

from lib import (LOSSY, USAGE, Memflame, Target, check, equal, example, lossless, own_libraries, path, run,
                 spawn, wait_until)
from proc import changed_code

BLOCKS = 500
OWN = own_libraries("many_stacks")


def probed_libc(pid):
    return [file for file in changed_code(pid, path("own")) if "/libc" in file]


def wait_for_probes(pid):
    """Probes reach a new process a moment after it has started."""
    wait_until(lambda: probed_libc(pid), f"probes in process {pid}")


def only_the_watched():
    watched, other = (Target("many_stacks", str(BLOCKS), env=OWN) for _ in range(2))
    memflame = Memflame("alloc", "-p", watched.pid)
    check(probed_libc(watched.pid), "the watched process has probes")
    equal("code of the other process", changed_code(other.pid, path("own")), [])
    watched.work()
    other.work()
    memflame.stop()
    profile = memflame.profile()
    lossless(profile, memflame.summary())
    equal("blocks of the watched process", profile.sum("live-count", "reach_leaf"), BLOCKS)
    check("--children" not in memflame.stderr(), memflame.stderr())
    memflame = Memflame("alloc", "-p", watched.pid, "--children", "exact")
    check(probed_libc(other.pid), "with --children exact the other process has probes, too")
    check("takes" in memflame.stderr() and "longer" in memflame.stderr(), memflame.stderr())
    memflame.stop()
    watched.end()
    other.end()


def late(memflame, processes):
    summary = memflame.summary()
    equal(f"processes without probes at first, {summary['notes']}",
          summary["losses"]["late_process"]["events"], processes)
    check(any("ran before the probes came" in note for note in summary["notes"]), summary["notes"])


def child_that_executes():
    """A child's probes come after its fork, and stay with it through exec."""
    pipe = path("pipe")
    os.mkfifo(pipe)
    code = ("import os, sys\n"
            "os.read(0, 3)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    open(sys.argv[2]).read()\n"
            "    os.execv(sys.argv[1], [sys.argv[1], sys.argv[3]])\n"
            "os.waitpid(child, 0)\n"
            "print('done', flush=True)\n"
            "os.read(0, 4)\n")
    parent = spawn([sys.executable, "-c", code, example("many_stacks"), pipe, str(BLOCKS)],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=OWN)
    memflame = Memflame("alloc", "-p", parent.pid, "--strict")
    parent.stdin.write("go\n")
    parent.stdin.flush()
    with open(pipe, "w", encoding="utf-8") as stream:
        # Its pages are copies of its parent's, breakpoints included, so its own cannot be told from them.
        time.sleep(2)
        stream.write("now\n")
    while "done\n" != (line := parent.stdout.readline()):
        check(line, "the parent waits for its child")
    memflame.stop(LOSSY)
    parent.communicate("end\n")
    equal("blocks of the child", memflame.profile().sum("live-count", "reach_leaf"), BLOCKS)
    late(memflame, 1)


def thread_that_executes():
    """The links of a process belong to its first thread, which has ended here."""
    code = ("import os, sys, threading\n"
            "def go():\n os.read(0, 3)\n os.execv(sys.argv[1], sys.argv[1:])\n"
            "threading.Thread(target=go).start()\n")
    process = spawn([sys.executable, "-c", code, example("many_stacks"), str(BLOCKS), "--wait"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=OWN)
    wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2, "a second thread")
    memflame = Memflame("alloc", "-p", process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    equal("the program is ready", process.stdout.readline(), f"ready {process.pid}\n")
    wait_for_probes(process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    while process.stdout.readline() != "done\n":
        pass
    memflame.stop()
    process.communicate("leave\n")
    equal("blocks", memflame.profile().sum("live-count", "reach_leaf"), BLOCKS)
    late(memflame, 1)


def command_alone():
    other = Target("many_stacks", "1", env=OWN)
    memflame = Memflame("alloc", "--children", "follow", "--", "sh", "-c",
                        f"echo $$ > {path('pid')}; read word; exec {example('many_stacks')} {BLOCKS}",
                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=OWN)
    wait_until(lambda: os.path.exists(path("pid")) and os.path.getsize(path("pid")), "the command runs")
    with open(path("pid"), encoding="utf-8") as stream:
        wait_for_probes(int(stream.read()))
    equal("code of the other process", changed_code(other.pid, path("own")), [])
    memflame.process.communicate(b"go\n")
    memflame.wait()
    other.end()
    equal("blocks of the command", memflame.profile().sum("live-count", "reach_leaf"), BLOCKS)


def refused():
    for words in (["--children", "some"], ["--children", "exact", "--no-children"],
                  ["--children", "follow", "--check"]):
        run("alloc", *words, "-p", os.getpid(), status=USAGE)
    run("brk", "--children", "exact", "-p", os.getpid(), status=USAGE)


only_the_watched()
child_that_executes()
thread_that_executes()
command_alone()
refused()
