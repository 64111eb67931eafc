# SPDX-License-Identifier: BSD-2-Clause
"""memflame -- COMMAND: probed from its first instruction, and otherwise as if run without memflame."""
import os
import pwd
import stat
import subprocess
import sys

from lib import (COMMAND_FAILED, MEMFLAME, NOT_EXECUTABLE, NOT_FOUND, PATIENCE, Memflame, equal,
                 example, lossless, path, run)

STATE = """import os, sys
print(sys.argv[1:], os.environ["COLOUR"], sys.stdin.read(), os.getcwd())
sys.exit(7)"""

# A command keeps its arguments (with spaces, or like our options), environment, input, folder and status.
words = ["two words", "", "-p", "--", "$HOME", "ä\n"]
done = run("alloc", "-o", path("state.json"), "--", sys.executable, "-c", STATE, *words, status=7,
           input="line 1\nline 2", env={**os.environ, "COLOUR": "blue green"}, cwd="/usr")
equal("what the command saw", done.stdout,
      f"{words} blue green line 1\nline 2 /usr\n")

# Its output is its own: the picture goes to a file.
done = run("brk", "-o", path("out.svg"), "--", "sh", "-c", "echo out; echo err >&2")
equal("output of the command", done.stdout, "out\n")
equal("errors of the command are there", "err" in done.stderr.splitlines(), True)

# Death by a signal is 128 + its number, as in a shell.
for name, number in (("TERM", 15), ("KILL", 9), ("SEGV", 11)):
    run("brk", "-o", path("killed.json"), "--", "sh", "-c", f"kill -{name} $$",
        status=128 + number)
    equal(f"output after SIG{name}", os.path.exists(path("killed.json")), True)

# Signals that memflame blocks or ignores for itself are not inherited.
mask = 'import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), ' \
       '*(signal.getsignal(n) for n in (2, 13, 15, 17)))'
alone = subprocess.run([sys.executable, "-c", mask], capture_output=True, text=True, check=True)
equal("signals", run("brk", "-o", path("m.json"), "--", sys.executable, "-c", mask).stdout,
      alone.stdout)
# Nor are its descriptors.
files = "import os; print(sorted(os.listdir('/proc/self/fd')))"
alone = subprocess.run([sys.executable, "-c", files], capture_output=True, text=True, check=True)
equal("descriptors", run("alloc", "-o", path("f.json"), "--", sys.executable, "-c", files).stdout,
      alone.stdout)

# Figures are exact from the first allocation on.
memflame = Memflame("alloc", "--", example("many_stacks"), "500", stdout=subprocess.PIPE).wait()
profile = memflame.profile()
equal("all of reach_leaf", profile.sum("live", "reach_leaf"), 8000)
lossless(profile, memflame.summary())

# As another user: its identity and groups; memflame's own files stay root's. By brk, because small
# machines have static programs without an allocator's symbols.
nobody = pwd.getpwnam("nobody")
done = run("brk", "--user", "nobody", "-o", path("user.json"), "--", "id")
alone = subprocess.run(["id"], capture_output=True, text=True, check=True, user=nobody.pw_uid,
                       group=nobody.pw_gid, extra_groups=[nobody.pw_gid])
equal("who the command is", done.stdout, alone.stdout)
equal("whose the output is", os.stat(path("user.json")).st_uid, 0)
run("brk", "--user", "no such user", "-o", path("none.json"), "--", "id", status=COMMAND_FAILED)

# Commands that cannot be run: exit codes as in a shell, and no file is left.
with open(path("plain"), "w", encoding="utf-8") as stream:
    stream.write("no program\n")
os.chmod(path("plain"), stat.S_IRUSR)
for command, status in (("/no/such/command", NOT_FOUND), ("no-such-command-here", NOT_FOUND),
                        (path("plain"), NOT_EXECUTABLE), ("/usr", NOT_EXECUTABLE)):
    done = run("alloc", "-o", path("none.json"), "--", command, status=status)
    equal(f"one line about {command}", len(done.stderr.splitlines()), 1)
    equal("output file", os.path.exists(path("none.json")), False)

# -d ends the run, not the command.
done = subprocess.run([MEMFLAME, "brk", "-d", "0.2", "-o", path("d.json"), "--", "sh", "-c",
                       "sleep 1; echo to the end; exit 3"], capture_output=True, text=True,
                      timeout=PATIENCE, check=False)
equal("a command that outlives -d", (done.stdout, done.returncode), ("to the end\n", 3))
