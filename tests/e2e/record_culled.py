# SPDX-License-Identifier: BSD-2-Clause
"""record --cull: blocks that lived shorter are not in the file, but their sums are, and what is made of blocks says so."""
import json
import os

from lib import USAGE, check, equal, example, path, run
from recording_lib import drawn

COLLECTORS = (("--collect", "kernel"), ("--inside",))


def recorded(name, *arguments):
    file = path(name)
    run("record", "--detail", "events", "-o", file, *arguments, "--", example("alloc_truth"))
    return file


def ask(file, sql):
    done = run("query", "--format", "json", file, sql)
    return json.loads(done.stdout), done.stderr


for collector in COLLECTORS:
    # alloc_truth ends in less than that, so what it has freed is culled, and what it has not freed is left.
    file = recorded("culled.mfr", "--cull", "1m", *collector)
    sums = drawn(file)
    live = drawn(file, "--where", "size >= 0")
    for column in ("live", "live-count"):
        equal(f"{collector}: {column} by blocks and by sums", live.sum(column), sums.sum(column))
    check(live.sum("total-count") < sums.sum("total-count"), f"{collector}: freed blocks are culled")
    equal(f"{collector}: no block that was freed is left", ask(file, "SELECT count(*) AS n FROM blocks b WHERE "
                                                                     "chain_leaked = 0")[0], [{"n": 0}])
    # Each stack has all its blocks in group.count.
    rows, said = ask(file, "SELECT sum(c) AS n FROM (SELECT max(group_count) AS c FROM blocks GROUP BY stack)")
    known = sum(values[sums.columns.index("total-count")] for _, values in sums.stacks
                if values[sums.columns.index("live-count")] != 0)
    check(rows[0]["n"] >= known > 0, f"{collector}: {rows}, {known}")
    culled = sums.sum("total-count") - live.sum("total-count")
    for words in (f"culled: {culled:,} blocks", "shorter than 60 s (--cull)"):
        check(words in said, f"{collector}: query says '{words}': {said}")
    picture = run("render", file, "--where", "size >= 0", "--format", "json").stdout
    check(f"culled: {culled:,} blocks" in picture, f"{collector}: a picture says how many")
    report = run("report", file, "--format", "json").stdout
    check(f"culled: {culled:,} blocks" in report, f"{collector}: a report says how many")
    said = run("render", file, "--view", "transient", status=USAGE).stderr
    check("--cull" in said, said)

    # Where nothing lives as shortly as that, all is as without.
    plain, fine = recorded("plain.mfr", *collector), recorded("fine.mfr", "--cull", "1ns", *collector)
    for column in ("live-count", "total-count"):
        equal(f"{collector}: {column} with --cull 1ns", drawn(fine, "--where", "size >= 0").sum(column),
              drawn(plain, "--where", "size >= 0").sum(column))
    check("culled" not in run("render", fine, "--where", "leaked", "--format", "json").stdout, "nothing is culled")

# A busy program: the file is a small part of what it would be.
sizes = []
for options in ((), ("--cull", "100ms")):
    file = path("storm.mfr")
    run("record", "--detail", "events", "--inside", *options, "-o", file, "--", example("alloc_storm"), "--threads", "2",
        "--operations", "300000")
    sizes.append(os.path.getsize(file))
check(sizes[1] < sizes[0] / 3, f"sizes without and with --cull: {sizes}")

for text in ("0", "2m", "soon", "-1s"):
    said = run("record", "--detail", "events", f"--cull={text}", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
    check("--cull: expected a length of time" in said, said)
said = run("record", "--cull", "1s", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
check("--cull needs --detail events" in said, said)
