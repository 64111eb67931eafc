# SPDX-License-Identifier: BSD-2-Clause
"""alloc -- COMMAND with the rights for BPF: agents count what they can be in, the kernel's probes all else, in one run.
A program that no agent can be in waits for its probes before its first instruction, however soon it ends."""
import os
import shutil
import subprocess
import time

from lib import LOSSY, MEMFLAME, PATIENCE, Memflame, check, equal, path, run, spawn, wait_until

BLOCK, BLOCKS = 100_000, 10

with open(path("leaker.c"), "w", encoding="utf-8") as stream:
    stream.write(r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) static void keep(int blocks) {
  for (int i = 0; i < blocks; ++i) memset(malloc(%d), 1, %d);
}
/* leaker MS [fork] [PROGRAM WORDS…]: leaks, waits, and executes another program. */
int main(int count, char** words) {
  keep(%d);
  if (count > 1) usleep(atoi(words[1]) * 1000);
  int next = 2;
  if (count > next && strcmp(words[next], "fork") == 0) {
    ++next;
    if (fork() == 0) {
      sleep(1);
      keep(%d);
      _exit(0);
    }
    wait(NULL);
  }
  if (count > next) execv(words[next], words + next);
  return 0;
}
""" % (BLOCK, BLOCK, BLOCKS, BLOCKS))
DYNAMIC, STATIC = path("leaker"), path("leaker_static")
subprocess.run(["gcc", "-O1", "-o", DYNAMIC, path("leaker.c")], check=True)
subprocess.run(["gcc", "-O1", "-static", "-o", STATIC, path("leaker.c")], check=True)
PYTHON = "/usr/bin/python3"


def kept(*command, rounds=1, late=0, unseen=0):
    """What keep() leaked, to the byte; how many processes the kernel's probes counted."""
    memflame = Memflame("alloc", "--", *command, by_rights=True).wait()
    summary, profile, said = memflame.summary(), memflame.profile(), memflame.stderr()
    equal(f"{command}: bytes in {said}", profile.sum("live", "keep"), rounds * BLOCKS * BLOCK)
    equal(f"{command}: blocks", profile.sum("live-count", "keep"), rounds * BLOCKS)
    losses = {name: loss["events"] for name, loss in summary["losses"].items() if loss["events"]}
    equal(f"{command}: late, in {said}", losses.get("late_process", 0), late)
    equal(f"{command}: not seen, in {said}", losses.get("process_uncovered", 0), unseen)
    said = [note for note in summary["notes"] if note.startswith("processes counted by agents inside")]
    return int(said[0].rsplit(": ", 1)[1]) if said else 0


equal("the last command of a shell", kept("sh", "-c", f"exec {STATIC}"), 1)
equal("a child of a shell", kept("sh", "-c", f"{STATIC} 300; true"), 1)
equal("several that end at once", kept("sh", "-c", f"{STATIC}; {DYNAMIC}; {STATIC}; {STATIC}; true", rounds=4), 3)
# Since 3.13 it prefers posix_spawn(), which tells nobody.
VFORK = f"import subprocess; subprocess._USE_POSIX_SPAWN = False; subprocess.run(['{STATIC}'])"
equal("a child of Python, by vfork()", kept(PYTHON, "-c", VFORK), 1)
equal("the only command of a shell that ends before it", kept("sh", "-c", f"(exec {STATIC} 700) & exit 0"), 1)
equal("without the variable, behind a parent that has ended", kept("sh", "-c", f"(env -i {DYNAMIC} 700) & exit 0"), 1)
equal("without the variable", kept("env", "-i", DYNAMIC), 1)
equal("without the variable, and a child", kept("sh", "-c", f"env -u LD_PRELOAD {DYNAMIC}; true"), 1)
equal("a program in which an agent can be, executed by one in which none can",
      kept("sh", "-c", f"{STATIC} 300 {DYNAMIC}; true", rounds=2), 1)
equal("and back", kept("sh", "-c", f"{STATIC} 0 {DYNAMIC} 0 {STATIC}; true", rounds=3), 2)
equal("too little address space for an agent", kept("prlimit", "--as=100000000", DYNAMIC), 1)
equal("too few descriptors for an agent", kept("sh", "-c", f"ulimit -n 4; exec {DYNAMIC}"), 1)
SETUID = shutil.copy(DYNAMIC, path("leaker_setuid"))
os.chmod(SETUID, 0o4755)
equal("a program that gives another user rights that memflame has",
      kept("setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", f"{SETUID}; true"), 1)
equal("in a PID namespace of its own", kept("unshare", "-pf", STATIC), 1)
equal("programs with agents only", kept("sh", "-c", f"{DYNAMIC}; {DYNAMIC}; not-there; true", rounds=2), 0)

# Whoever is held and cannot execute the program goes on, with its agent.
os.chmod(STATIC, 0o644)
command = f"import os\ntry: os.execv('{STATIC}', ['x'])\nexcept OSError: os.execv('{DYNAMIC}', ['{DYNAMIC}'])"
equal("a program that cannot be executed", kept(PYTHON, "-c", command), 0)
os.chmod(STATIC, 0o755)

# A program that would not run with the agent before its own runtime: it does not get it, however it is executed.
SANITIZED = path("sanitized")
subprocess.run(["gcc", "-O1", "-fsanitize=address", "-o", SANITIZED, path("leaker.c")], check=True)
os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
memflame = Memflame("alloc", "--", "sh", "-c", f"{SANITIZED} || exit 9; true", by_rights=True).wait()
# Its allocator is in a library that nobody has met before.
check(memflame.profile().sum("live", "keep") == BLOCKS * BLOCK or "libasan" in memflame.stderr(), memflame.stderr())
equal("with a sanitizer, the command itself", kept(SANITIZED), 0)
spawns = f"import os, sys; sys.exit(os.waitpid(os.posix_spawn('{SANITIZED}', ['x'], os.environ), 0)[1])"
for command in ([PYTHON, "-c", spawns], ["sh", "-c", f"{SANITIZED} || exit 9; true"], [SANITIZED]):
    memflame = Memflame("alloc", "--inside", "--", *command).wait()
    equal(f"{command}, inside: {memflame.stderr()}", memflame.summary()["losses"]["process_uncovered"]["events"], 1)
    check("its runtime must come first" in memflame.stderr().replace("whose", "its"), memflame.stderr())

# Another root folder, where the agent's library is not: the loader would complain in the program's own name.
ROOT = path("root")
os.makedirs(f"{ROOT}/lib64")
shutil.copy(DYNAMIC, f"{ROOT}/leaker")
for library in subprocess.run(["ldd", DYNAMIC], capture_output=True, text=True, check=True).stdout.split():
    if library.startswith("/"):
        os.makedirs(ROOT + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, ROOT + library)
memflame = Memflame("alloc", "--", "chroot", ROOT, "/leaker", "500", by_rights=True).wait()
equal(f"in another root folder: {memflame.stderr()}", memflame.profile().sum("live", "keep"), BLOCKS * BLOCK)
check("ld.so" not in memflame.stderr(), memflame.stderr())
del os.environ["ASAN_OPTIONS"]

# Another process than the one that asks becomes the program: its id is not known before. It is found while it runs.
spawned = f"import os; os.waitpid(os.posix_spawn('{STATIC}', ['x', '4000', 'fork'], os.environ), 0)"
memflame = Memflame("alloc", "--", PYTHON, "-c", spawned, by_rights=True).wait()
summary = memflame.summary()
check(summary["losses"]["late_process"]["events"] >= 1, summary["losses"])
check(any("counted by the kernel's probes from a moment after the start (leaker_static" in note
          for note in summary["notes"]), summary["notes"])
equal(f"what its child keeps: {memflame.stderr()}", memflame.profile().sum("live", "keep"), BLOCKS * BLOCK)
done = subprocess.run([MEMFLAME, "alloc", "--strict", "-o", path("out.svg"), "--", PYTHON, "-c", spawned],
                      capture_output=True, text=True, timeout=PATIENCE, check=False)
equal(f"--strict, which said {done.stderr}", done.returncode, LOSSY)

# No agent tells what a process without one executes: the kernel's probes do.
memflame = Memflame("alloc", "--", "env", "-i", "sh", "-c", f"{DYNAMIC}; {DYNAMIC}; true", by_rights=True).wait()
summary = memflame.summary()
check(sum(summary["losses"][name]["events"] for name in ("process_uncovered", "late_process")) >= 2, summary["losses"])
check(any("not seen (leaker" in note for note in summary["notes"]), summary["notes"])

# A picture on request has both.
live = Memflame("alloc", "--", "sh", "-c", f"{DYNAMIC} 15000 & {STATIC} 15000; wait", by_rights=True,
                output="svg")


def has_both():
    with open(run("control", live.process.pid, "snapshot").stdout.strip(), encoding="utf-8") as stream:
        return "leaker_static" in stream.read()


wait_until(has_both, "the picture has the static program")
live.stop()

# memflame is killed: whoever waits goes on.
held = spawn([MEMFLAME, "alloc", "-o", path("killed.svg"), "--", "sh", "-c",
              f"sleep 1; for i in 1 2 3 4 5 6 7 8 9; do {STATIC} 100; done; echo done > {path('done')}"],
             stderr=subprocess.DEVNULL)
time.sleep(1.1)
held.kill()
wait_until(lambda: os.path.exists(path("done")), "the command goes on")

# The user may ask for agents alone.
memflame = Memflame("alloc", "--inside", "--", "sh", "-c", f"{STATIC}; true").wait()
equal(f"--inside: {memflame.stderr()}", memflame.summary()["losses"]["process_uncovered"]["events"], 1)
