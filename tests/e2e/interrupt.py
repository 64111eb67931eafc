"""Ctrl-C and SIGTERM end the watching, and the output is written."""
import os
import signal
import subprocess
import time

from lib import Memflame, Target, check, consistent, equal, example, path

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

# From a terminal, Ctrl-C reaches the command too, and its end is memflame's.
memflame = Memflame("alloc", "--", example("leaky"), "60", stdout=subprocess.DEVNULL,
                    start_new_session=True)
time.sleep(1)
os.killpg(memflame.process.pid, signal.SIGINT)
memflame.wait(128 + signal.SIGINT)
check(memflame.profile().sum("live") > 0, "what leaked until Ctrl-C")

# SIGTERM to memflame alone leaves the command running to its own end.
memflame = Memflame("brk", "--", "sh", "-c", f"sleep 1; echo done > {path('went-on')}; exit 5")
memflame.process.send_signal(signal.SIGTERM)
memflame.wait(5)
equal("the command went on", os.path.exists(path("went-on")), True)
