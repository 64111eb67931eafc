# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: programs that no agent can be in are counted and named however soon they end, by whichever function
they were executed; programs that allocate nothing, or that are not there, are not taken for them."""
import os
import subprocess

from lib import LOSSY, MEMFLAME, PATIENCE, Memflame, check, equal, example, path

EXECUTES = example("executes")
FUNCTIONS = 14  # each of them executes the program once
WITHOUT_ENVIRONMENT = 2  # of them

with open(path("silent.c"), "w", encoding="utf-8") as stream:
    stream.write("int main(void) { return 0; }\n")
DYNAMIC, STATIC = path("silent"), path("silent_static")
subprocess.run(["gcc", "-o", DYNAMIC, path("silent.c")], check=True)
subprocess.run(["gcc", "-static", "-o", STATIC, path("silent.c")], check=True)


def unseen(*command, **options):
    memflame = Memflame("alloc", "--inside", "--", *command, **options).wait()
    summary = memflame.summary()
    return summary["losses"]["process_uncovered"]["events"], summary["notes"], memflame.stderr()


count, notes, said = unseen(EXECUTES, STATIC)
equal(f"static programs, of which it says {said}", count, FUNCTIONS)
check(any(f"silent_static ({FUNCTIONS} times): it is linked statically" in note for note in notes) or
      any("silent_static (" in note and "and it ended before its memory was read" in note for note in notes), notes)
count, notes, said = unseen(EXECUTES, DYNAMIC)
equal(f"programs without the variable that brings the agent: {said}", count, WITHOUT_ENVIRONMENT)
equal("programs that are not there", unseen("sh", "-c", "/not/there; not-there; /usr/bin/true; ls >/dev/null")[0], 0)
equal("of many programs", unseen("sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9; do {DYNAMIC}; {STATIC}; done; true")[0], 9)

count, notes, said = unseen("env", "-i", "sh", "-c", f"{DYNAMIC}; {STATIC}; {DYNAMIC}; true")
equal(f"programs that one without an agent executes: {said}", count, 4)
# One that was seen alive is named with its memory, beside those that had ended by then.
check(any(note.startswith("4 processes were not seen (") and all(name in note for name in ("sh: ", "silent_static: ")) and
          ("silent (2 times): executed by a process without an agent" in note or note.count("silent") >= 3)
          for note in notes), notes)
for limit, why in (("prlimit --as=100000000", "ulimit -v"), ("prlimit --nofile=5", "ulimit -n")):
    count, notes, said = unseen(*limit.split(), DYNAMIC)
    equal(f"programs in which the agent finds no room: {said}", count, 1)
    check(any("silent" in note and why in note for note in notes), notes)

# The run goes on while one of its processes does, also if none of them ever had an agent, and their parents have ended.
notes = unseen("env", "-i", "sh", "-c", "(exec sleep 2) & exit 0")[1]
check(any(note.startswith("2 processes were not seen") and "sleep" in note and "sh: " in note for note in notes), notes)

done = subprocess.run([MEMFLAME, "alloc", "--inside", "--strict", "-o", path("out.svg"), "--", "sh", "-c", f"{STATIC}; true"],
                      capture_output=True, text=True, timeout=PATIENCE, check=False)
equal(f"--strict, which said {done.stderr}", done.returncode, LOSSY)

# Without any rights.
os.chmod(STATIC, 0o755)
done = subprocess.run([MEMFLAME, "alloc", "-o", path("nobody.svg"), "--", EXECUTES, STATIC], capture_output=True,
                      text=True, timeout=PATIENCE, check=False, user="nobody",
                      env={**os.environ, "HOME": path("")})
equal(f"status, with {done.stderr}", done.returncode, 0)
check(f"{FUNCTIONS} processes were not seen" in done.stderr, done.stderr)

# In a process that memflame came into, programs that it executes have no agent.
with subprocess.Popen([EXECUTES, DYNAMIC, "--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
    equal("the program is there", target.stdout.readline(), "ready\n")
    memflame = Memflame("alloc", "--inside", "-p", target.pid)
    target.communicate("go\n")
    memflame.wait()
equal(f"programs of a process that was attached to: {memflame.stderr()}",
      memflame.summary()["losses"]["process_uncovered"]["events"], FUNCTIONS)
