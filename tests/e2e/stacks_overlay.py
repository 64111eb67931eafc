# SPDX-License-Identifier: BSD-2-Clause
"""Programs on an overlay, as in containers: the mapped file is the one below, whose inode is not the one
that stat() returns. If several run one after the other, the later ones need no copied stacks."""
import json
import os
import shutil
import subprocess
import sys

from chains import compare, complete
from lib import Memflame, check, example, lossless, path

PROGRAM = "no_frame_pointer"
RUNS, ROUNDS = 60, 20  # so many that what a busy machine copies of the first ones is a small part
MOUNT = 'mount -t overlay none -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" "$0/merged"'
MOST_COPIED = 0.1  # 1 % where nothing else runs

# On a file system of its own, because one overlay cannot be the upper layer of another.
place = path("place")
os.mkdir(place)
subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
try:
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(f"{place}/{name}")
    shutil.copy(example(PROGRAM), f"{place}/lower/{PROGRAM}")
    tried = subprocess.run(["unshare", "-m", "sh", "-c", MOUNT, place], stderr=subprocess.PIPE,
                           text=True, check=False)
    if tried.returncode:
        print(f"SKIPPED: no overlay can be mounted: {tried.stderr.strip()}")
        sys.exit(77)
    script = (f'{MOUNT} && for i in $(seq {RUNS}); do "$0/merged/{PROGRAM}" alloc {ROUNDS} '
              '>"$0/truth" || exit; done')
    memflame = Memflame("alloc", "--value", "total", "--max-depth", "1023", "--", "unshare", "-m",
                        "sh", "-c", script, place).wait()
    with open(f"{place}/truth", encoding="utf-8") as stream:
        truth = json.load(stream)
finally:
    subprocess.run(["umount", place], check=True)

profile, summary = memflame.profile(), memflame.summary()
lossless(profile, summary)
complete(summary, 0.99)
for figures in truth["functions"].values():
    for name in figures:
        figures[name] *= RUNS
profile.stacks = [stack for stack in profile.stacks if stack[0][0] == PROGRAM[:15]]
# Stacks of the first program may be copied; those deeper than a copy are marked as cut.
compare(profile, truth, "alloc", cut=True)
stacks = summary["stacks"]
print(f"{stacks['deferred']} of {stacks['captured']} stacks were copied")
check(stacks["deferred"] < stacks["captured"] * MOST_COPIED, f"walked by BPF: {stacks}")
