# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark scripts run to their end and print each figure. The figures themselves are not judged."""
import os
import re
import subprocess
import sys

from lib import MEMFLAME, SLOW, check, equal, path

build = os.path.dirname(os.path.dirname(MEMFLAME))
scripts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")


def report(script, *arguments):
    """The rows of its tables by their first cell."""
    output = path(f"{script}.md")
    before, after = arguments
    done = subprocess.run([sys.executable, os.path.join(scripts, script), "-b", build, *before, output, *after],
                          check=False, capture_output=True, text=True, timeout=300)
    equal(f"exit status of {script}, which said:\n{done.stdout}{done.stderr}\n", done.returncode, 0)
    with open(output, encoding="utf-8") as stream:
        rows = [line.strip("| \n").split(" | ") for line in stream if line.startswith("|")]
    return {re.sub(r"^`([\w-]+)`.*", r"\1", row[0]): row[1:] for row in rows}


def more(rows, key, than, what):
    check(float(rows[key][0]) > float(rows[than][0]), f"{what}: {key} {rows[key]} is no more than {than} {rows[than]}")


few = "500" if SLOW else "5000"
rows = report("bench-alloc", ["-r", "1", "-n", few, "--patience", "0",
                              "--only", "floor-b-multi,floor-b-perf,exact,sample"], ["pairs"])
more(rows, "exact", "none", "a pair")
if "floor-b-multi" in rows:
    more(rows, "floor-b-multi", "none", "a pair")
check(float(rows["floor-b-perf"][0]) > 0 and len(rows["none"]) == 5, f"columns of the table: {rows}")

rows = report("bench-fault", ["-r", "1", "-n", "4096"], [])
more(rows, "exact", "none", "a fault")

rows = report("soak", ["-n", "2e3" if SLOW else "2e4"], [])
equal("the soak's books", [row[-1] for name, row in rows.items() if row[-1] in ("PASS", "MISS")], ["PASS"] * 10)

if not SLOW:
    rows = report("bench-recording", ["-r", "1", "--scale", "0.02", "--patience", "0"], [])
    check({"sqlite3", "python3", "cc1plus", "alloc", "record", "render day.mfr"} <= {name.strip("`") for name in rows},
          f"rows of bench-recording: {rows}")
