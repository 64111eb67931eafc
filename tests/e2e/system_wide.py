# SPDX-License-Identifier: BSD-2-Clause
"""Without a target: the whole system but memflame, with a root frame per process name."""
import re
import subprocess

from lib import Memflame, USAGE, check, equal, example, run

expected = {"fault": ("fault_truth", "gained", "write_pages", 3000),
            "brk": ("brk_truth", "grown", "grow_index", 1000003),
            "mmap": ("mmap_truth", "outstanding", "map_anonymous", 245 * 4096)}
for probe, (program, column, function, wanted) in expected.items():
    memflame = Memflame(probe, "--per-pid")
    targets = [subprocess.Popen([example(program)], stdout=subprocess.DEVNULL) for _ in range(2)]
    for target in targets:
        equal(f"exit status of {program}", target.wait(), 0)
    memflame.stop()
    profile = memflame.profile()
    # After a process has ended, its mappings are no longer outstanding; what it did still counts.
    column = {"outstanding": "total"}.get(column, column)
    by_pid = {int(pid): root for root in profile.roots
              for pid in re.findall(r" \(pid (\d+)\)$", root)}
    for target in targets:
        root = by_pid.get(target.pid)
        check(root and root.startswith(program), f"{program}, {target.pid}, among {by_pid}")
        equal(f"{function} of {root}", profile.sum(column, root, function), wanted)
    equal("stacks of no process", [f for f, _ in profile.stacks if f[0].startswith("[")], [])
    equal("memflame itself", by_pid.get(memflame.process.pid), None)

done = run("alloc", "-d", "1", status=USAGE)
check("-p" in done.stderr and "--comm" in done.stderr, f"alloc says what it needs: {done.stderr}")
