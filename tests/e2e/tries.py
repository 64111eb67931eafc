# SPDX-License-Identifier: BSD-2-Clause
"""Runs an end-to-end case as ctest does: tries.py SECONDS CASE.py

$MEMFLAME_TRIES (1 if not set) says how often it may fail before that is the result: other load on a machine can upset
a case that watches real processes. Each try has SECONDS, and its output is kept. scripts/test looks for AGAIN in it.
"""

import os
import signal
import subprocess
import sys

SKIPPED = 77
AGAIN = "TRIED AGAIN"


def parents():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
                found[int(pid)] = int(stream.read().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended
    return found


def end(pid):
    """Ends a process and what it has started. It is stopped first, so that it starts nothing meanwhile."""
    try:
        os.kill(pid, signal.SIGSTOP)
        for child, parent in parents().items():
            if parent == pid:
                end(child)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(case, seconds):
    # Programs in Python that a case watches keep what they write until they end, whoever runs the case.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen([sys.executable, case], env=environment) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            end(process.pid)
            print(f"FAILED: not through after {seconds} s", flush=True)
            return 1


def main():
    seconds, case = int(sys.argv[1]), sys.argv[2]
    for left in reversed(range(int(os.environ.get("MEMFLAME_TRIES") or 1))):
        result = run(case, seconds)
        if result in (0, SKIPPED) or not left:
            sys.exit(result if result >= 0 else 128 - result)
        print(f"{AGAIN}, after exit code {result}:", flush=True)


main()
