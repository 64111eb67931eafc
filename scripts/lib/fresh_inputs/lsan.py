# SPDX-License-Identifier: BSD-2-Clause
"""gcc -fsanitize=leak and address; their reports end with the sum of all leaks."""

import re

from fresh_inputs import memcheck

PACKAGES = ["g++"]


def check(work):
    for kind in ("leak", "address"):
        program = work.compile(kind, memcheck.SOURCE,
                               flags=("-g", "-O1", "-fno-omit-frame-pointer", f"-fsanitize={kind}"))
        _, said = work.run([program], check=False)
        work.write(kind + ".txt", said)
        ours = work.totals(kind + ".txt")
        row = re.search(r"(\d+) byte\(s\) leaked in (\d+) allocation", said)
        work.same(f"{kind}: bytes", ours["direct"] + ours["indirect"], int(row[1]))
        work.same(f"{kind}: blocks", ours["direct_objects"] + ours["indirect_objects"], int(row[2]))
