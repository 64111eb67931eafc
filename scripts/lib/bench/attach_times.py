# SPDX-License-Identifier: BSD-2-Clause
"""How long it takes to attach and to detach, and what memory memflame needs: the third part of bench-alloc."""

import glob
import re
import signal
import time

from lib import wait_until
from report import median
from tracers import Breakpoints, Floor, Ours, Peer
from workloads import Pairs

REPEATS = 3


def memory(pid):
    """Bytes: resident now, resident at most, of the kernel's BPF maps."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        text = status.read()
    resident, most = (int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M)[1]) * 1024
                      for name in ("VmRSS", "VmHWM"))
    maps = {}
    for file in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(file, encoding="utf-8") as stream:
                text = stream.read()
        except OSError:
            continue
        number, size = re.search(r"^map_id:\s*(\d+)", text, re.M), re.search(r"^memlock:\s*(\d+)", text, re.M)
        if number and size:
            maps[number[1]] = int(size[1])
    return resident, most, sum(maps.values())


def process_of(tracer):
    return tracer.memflame.process if isinstance(tracer, Ours) else tracer.process


def stop(tracer):
    process = process_of(tracer)
    if isinstance(tracer, Floor):
        process.stdin.close()
    else:
        process.send_signal(signal.SIGINT)
    return process


def course(tracer, target):
    """Seconds: until the last breakpoint was in place, until the last was gone, until the end."""
    breakpoints = Breakpoints(target.pid)
    start = time.monotonic()
    tracer.attach(target.pid)
    attached = None
    if not isinstance(tracer, Peer):  # which is ready when they have settled
        attached = time.monotonic() - start
    target.work(1000 if tracer.slow else 20000)
    figures = memory(process_of(tracer).pid)
    start = time.monotonic()
    process = stop(tracer)
    while breakpoints.some() and time.monotonic() < start + 30:
        time.sleep(0.0005)
    detached = time.monotonic() - start
    wait_until(lambda: process.poll() is not None, f"{tracer.key} ends")
    return attached, detached, time.monotonic() - start, figures


def attach(tracers, report):
    report.say("### Attaching and detaching, in seconds, and memory, in MiB")
    report.say()
    report.table("tracer", "attach", "breakpoints gone", "ended", "resident", "at most", "BPF maps")
    floors = []
    for tracer in tracers:
        if not isinstance(tracer, (Floor, Ours, Peer)):
            continue
        target = Pairs()
        runs = [course(tracer, target) for _ in range(1 if isinstance(tracer, Peer) else REPEATS)]
        target.end()
        attached, detached, ended, figures = zip(*runs)
        if isinstance(tracer, Floor):
            floors.append(median(attached))
        figures = [f"{median(column) / 2**20:.1f}" for column in zip(*figures)]
        report.row(f"`{tracer.key}` {tracer.title}", "" if attached[0] is None else f"{median(attached):.3f}",
                   f"{median(detached):.3f}", f"{median(ended):.3f}", *figures)
        if tracer.key == "exact":
            report.goal("detach, in seconds", median(detached), most=0.1)
            if floors:
                report.goal("attach over the floor, in seconds", median(attached) - min(floors), most=0.1)
    report.say()
