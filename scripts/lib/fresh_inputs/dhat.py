# SPDX-License-Identifier: BSD-2-Clause
"""valgrind --tool=dhat; it prints its totals at the end."""

import re

from fresh_inputs import massif

PACKAGES = ["valgrind"]


def check(work):
    program = work.compile("allocates", massif.SOURCE, language="c")
    _, said = work.run(["valgrind", "--tool=dhat", "--dhat-out-file=dhat.out", program])
    ours = work.totals("dhat.out")
    lines = (("Total:", "total"), ("At t-gmax:", "peak"), ("At t-end:", "end"))
    for label, column in lines:
        row = re.search(re.escape(label) + r" +([\d,]+) bytes in ([\d,]+) blocks", said)
        work.same(f"{column}, bytes", ours[column], int(row[1].replace(",", "")))
        work.same(f"{column}, blocks", ours[column + "_blocks"], int(row[2].replace(",", "")))
    for label, column in (("Reads:", "read"), ("Writes:", "written")):
        row = re.search(label + r" +([\d,]+) bytes", said)
        work.same(column, ours[column], int(row[1].replace(",", "")))
    _, said = work.run(["valgrind", "--tool=dhat", "--mode=copy", "--dhat-out-file=copy.out", program])
    row = re.search(r"Total: +([\d,]+) bytes in ([\d,]+) blocks", said)
    work.same("copied, bytes", work.total("copy.out", "total"), int(row[1].replace(",", "")))
