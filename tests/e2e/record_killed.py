# SPDX-License-Identifier: BSD-2-Clause
"""record is killed at any moment: what the file has is right, and the target runs on untouched."""
import os
import random
import signal
import time

from lib import LONG, SLOW, Memflame, check, equal, path, wait_until
from proc import orphaned_programs, programs
from steady_lib import Counting, Steady, check_figures

KILLS = 100 if LONG else 10
SEED = int(os.environ.get("MEMFLAME_SEED", random.randrange(10**6)))
print(f"MEMFLAME_SEED={SEED} kills at the same moments")
chance = random.Random(SEED)
scale = 10 if SLOW else 1


def killed_run(steady, number):
    """One recording. Most are killed early or late in a run, some while it ends, some before it begins."""
    kind = ("run", "run", "end", "run", "start")[number % 5]
    options = ["--probes", "alloc,fault"] if number % 3 == 2 else []
    if steady.wide:
        options += ["--max-file", "1M"]
    counting = Counting()
    memflame = Memflame("record", *options, "--interval", "0.1", "-p", steady.pid, output="mfr", wait=kind != "start")
    if kind == "start":
        time.sleep(chance.uniform(0, 1.5) * scale)
    else:
        counting.ask(memflame.process.pid)
        time.sleep(chance.uniform(0, 6 if steady.wide else 2) * scale)
    if kind == "end":
        memflame.process.send_signal(signal.SIGINT)
        time.sleep(chance.uniform(0, 0.5) * scale)
    memflame.process.kill()
    status = memflame.process.wait(60)
    counting.ends()
    check(status == -signal.SIGKILL or (kind == "end" and status == 0),
          f"memflame ended by {status}: {memflame.stderr()}")
    return memflame.output, counting


narrow, wide = Steady(), Steady(40)
runs = []
for number in range(KILLS):
    steady = wide if number % 4 == 3 else narrow
    runs.append((*killed_run(steady, number), steady))
wait_until(lambda: not orphaned_programs(), f"programs are gone ({programs()})", 60)
for steady in (narrow, wide):
    steady.end()

looks, refused = [], []
for recording, counting, steady in runs:
    if os.path.exists(recording):
        looks.append(check_figures(recording, steady, counting, refused))
print(f"{len(runs)} kills, {len(looks)} files, {len(refused)} without a look, looks: {looks}")
for words in refused:
    check("before its first look" in words or "not a recording" in words, words)
check(len(looks) - len(refused) >= KILLS // 2, f"most runs had begun: {looks}, {refused}")
check(max(looks) > 3, f"some runs went on for a while: {looks}")
