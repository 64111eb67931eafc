# SPDX-License-Identifier: BSD-2-Clause
"""record --free-stacks: who freed a block is known, from the kernel and from inside; a recording without these stacks
says so when it is asked."""
import json

from lib import USAGE, check, equal, example, path, run
from recording_lib import drawn

COLLECTORS = (("--collect", "kernel"), ("--inside",))
FREES = "SELECT b.free_stack IS NOT NULL AS known, count(*) AS n FROM blocks b WHERE leaked = 0 AND moved = 0 GROUP BY 1"


def recorded(*arguments):
    file = path("frees.mfr")
    done = run("record", "--detail", "events", "-o", file, *arguments, "--", example("frees"))
    return file, json.loads(done.stdout[done.stdout.index("{"):done.stdout.rindex("}") + 1])


def freed_by(file, expression):
    return drawn(file, "--where", expression, "--view", "total").sum("total-count")


for collector in COLLECTORS:
    file, truth = recorded("--free-stacks", *collector)
    for function, count in truth.items():
        equal(f"{collector}: blocks freed in {function}", freed_by(file, f'free.function = "{function}"'), count)
    # A block of make() is known by who frees it.
    equal(f"{collector}: of make()", freed_by(file, 'function = "make" and free.function = "drop"'), truth["drop"])
    equal(f"{collector}: none of drop()", freed_by(file, 'function = "drop"'), 0)
    equal(f"{collector}: leaked blocks have no such stack", freed_by(file, 'leaked and free.function ~ "."'), 0)
    # All that drop() freed, but nothing else of make().
    equal(f"{collector}: free.stack in",
          drawn(file, "--let", 'a=function = "make" and free.function = "drop"', "--where", "free.stack in a", "--view",
                "total").sum("total-count"), truth["drop"])
    rows = json.loads(run("query", "--format", "json", file, FREES).stdout)
    equal(f"{collector}: each free has a stack", [row["known"] for row in rows], [1])
    check(rows[0]["n"] >= sum(truth.values()) - truth["grow"], f"{collector}: {rows}")

    # Without them.
    file, truth = recorded(*collector)
    for expression in ('free.function ~ "drop"', "free.depth > 1", "free.stack in (leaked)"):
        said = run("render", file, "--where", expression, status=USAGE).stderr
        check("--free-stacks" in said, f"{collector}: {expression}: {said}")
    rows = json.loads(run("query", "--format", "json", file, FREES).stdout)
    equal(f"{collector}: no free has a stack", [row["known"] for row in rows], [0])

# Filters, and samples of what they let through.
for collector in COLLECTORS:
    file, truth = recorded("--free-stacks", "--min-size", "1K", *collector)
    equal(f"{collector}: filtered, moved there", freed_by(file, 'free.function = "drop_grown"'), truth["drop_grown"])
    equal(f"{collector}: filtered out", freed_by(file, 'free.function = "drop"'), 0)
file, truth = recorded("--free-stacks", "--sample", "1", "--inside")
equal("samples of every byte: all", freed_by(file, 'free.function = "drop"'), truth["drop"])

said = run("record", "--free-stacks", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
check("--free-stacks needs --detail events" in said, said)
