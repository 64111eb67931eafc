# SPDX-License-Identifier: BSD-2-Clause
"""Stacks stay complete however late memflame reads what its BPF programs have sent.

Commands stop memflame, which is their parent, and let it go on when processes have come and gone.
"""
import os

from chains import complete
from lib import SLOW, Memflame, check, example, lossless


def watch(script):
    memflame = Memflame("alloc", "--value", "total", "--", "/bin/sh", "-c", script).wait()
    summary = memflame.summary()
    complete(summary)
    # All processes of the machine fill the kernel's log of mappings, which is not read meanwhile.
    unread = summary["losses"]["mapping_records_lost"]
    summary["lost_events"] -= unread["events"]
    unread["events"] = 0
    lossless(memflame.profile(), summary)
    return summary["stacks"]


# A process runs three programs, one after the other. When memflame looks, /proc describes the last one.
if os.path.exists("/usr/bin/env"):
    watch("kill -STOP $PPID; exec /usr/bin/env M=$PPID /bin/sh -c 'kill -CONT $M; sleep 0.2'")

# Stacks through known files need no copies, however many processes run them before memflame looks: the
# BPF programs find mappings by themselves.
ROUNDS = 600
stacks = watch(f"""{example("short_lived")}
                   sleep {5 if SLOW else 1}
                   kill -STOP $PPID
                   i=0
                   while [ $i -lt {ROUNDS} ]; do {example("short_lived")}; i=$((i + 1)); done
                   kill -CONT $PPID""")
check(stacks["captured"] >= ROUNDS, f"only {stacks['captured']} stacks")
check(stacks["deferred"] < ROUNDS / 2, f"stacks are copied of files that are known: {stacks}")
