# SPDX-License-Identifier: BSD-2-Clause
"""Ctrl-C and SIGTERM end the run, and the output is written."""
import os
import signal
import subprocess
import time

from lib import Memflame, Target, check, consistent, equal, example, path, wait_until

for number in (signal.SIGINT, signal.SIGTERM):
    target = Target("alloc_truth")
    memflame = Memflame("alloc", "-p", target.pid)
    truth = target.work()
    memflame.process.send_signal(number)
    memflame.wait()
    profile = memflame.profile()
    profile.compare(truth["functions"])
    consistent(profile, memflame.summary())
    target.end()

# From a terminal, Ctrl-C reaches the command too, and memflame ends with it.
memflame = Memflame("alloc", "--", example("leaky"), "60", stdout=subprocess.DEVNULL,
                    start_new_session=True)
time.sleep(1)
os.killpg(memflame.process.pid, signal.SIGINT)
memflame.wait(128 + signal.SIGINT)
check(memflame.profile().sum("live") > 0, "what leaked until Ctrl-C")

# SIGTERM to memflame alone ends the run at once, and the command runs on.
memflame = Memflame("brk", "--", "sh", "-c", f"read word; echo done > {path('went-on')}", stdin=subprocess.PIPE,
                    text=True)
time.sleep(0.5)
memflame.process.send_signal(signal.SIGTERM)
memflame.wait()
equal("the command is not done yet", os.path.exists(path("went-on")), False)
check(memflame.profile().sum("grown") > 0, "what the command did until then")
memflame.process.stdin.write("go\n")
memflame.process.stdin.close()
wait_until(lambda: os.path.exists(path("went-on")), "the command goes on", 20)
