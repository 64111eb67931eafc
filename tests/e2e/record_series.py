# SPDX-License-Identifier: BSD-2-Clause
"""A recording's figures at any moment are those of a picture that another run makes at that moment, by stack."""
import os

from leaks_lib import Steps
from lib import Memflame, Profile, check, equal, run, wait_until
from recording_lib import at, drawn, mark, wait_for_looks

WORDS = ("small", "many", "large", "free", "calls", "small")


def figures(profile, columns, prefix=""):
    """What the stacks have in these columns, by their names. Stacks without figures are left out."""
    places = [profile.columns.index(prefix + column) for column in columns]
    stacks = {}
    for frames, values in profile.stacks:
        chosen = [values[place] for place in places]
        if any(chosen):
            stacks.setdefault(tuple(frames), []).append(chosen)
    return {frames: sorted(rows) for frames, rows in stacks.items()}


def same(what, recorded, pictures):
    """Compares with pictures of runs of one probe each; the first probe of a recording has no prefix alone."""
    several = len(pictures) > 1
    for probe, picture in pictures.items():
        prefix = f"{probe}-" if several and probe != "alloc" else ""
        wanted = figures(picture, picture.columns)
        got = figures(recorded, picture.columns, prefix)
        different = [(frames, got.get(frames), wanted.get(frames)) for frames in {**wanted, **got}
                     if got.get(frames) != wanted.get(frames)]
        check(not different, f"{what}, {probe}: {len(different)} of {len(wanted)} stacks differ: {different[:3]}")
        for column in picture.columns:
            equal(f"{what}, {probe}: {column}", recorded.sum(prefix + column), picture.sum(column))


# Probes on functions take pages and a mapping, which the others count, so alloc has a run without them.
for probes in (("alloc",), ("brk", "mmap", "fault")):
    target = Steps()
    pictures = {probe: Memflame(probe, "-p", target.pid) for probe in probes}
    record = Memflame("record", "--probes", ",".join(probes), "--interval", "0.1", "-p", target.pid, output="mfr")
    wait_until(lambda: os.path.exists(record.output), "the recording")
    moments = []
    for number, word in enumerate(WORDS):
        target.do(word)
        wait_for_looks(record.output)
        seconds = mark(record, word)
        taken = {probe: Profile(run("control", memflame.process.pid, "snapshot").stdout.rstrip("\n"))
                 for probe, memflame in pictures.items()}
        same(f"{number}, after {word}, in a file that is being written", at(record.output, seconds), taken)
        moments.append((f"{number}, after {word}", seconds, taken))
    record.stop()
    for memflame in pictures.values():
        memflame.stop()
    target.end()
    for what, seconds, taken in moments:
        same(what, at(record.output, seconds), taken)
    same("the end", drawn(record.output), {probe: memflame.profile() for probe, memflame in pictures.items()})
    check(len({tuple(picture.sum(column) for picture in taken.values() for column in picture.columns)
               for _, _, taken in moments}) > 2, "the figures change from step to step")
