# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints of the kernel's collector: they come without a gap, agree with the events, and have a block that is inside
a realloc() once."""
import json
import struct

from lib import SLOW, check, equal, example, path, run

PAIRS = 2_400_000  # a checkpoint comes after 4 Mi events, some seconds before the end


def chunks(file):
    """The kinds of all chunks, in their order."""
    with open(file, "rb") as stream:
        data = stream.read()
    kinds, at = [], 8
    while at < len(data):
        kinds.append(data[at:at + 4].decode())
        at += 24 + struct.unpack_from("<I", data, at + 8)[0]
    return kinds


def ask(file, sql):
    done = run("query", "--format", "json", file, sql)
    return json.loads(done.stdout), done.stderr


if SLOW:
    print("not checked: an emulated processor takes an hour for that many events")
else:
    file = path("checkpoints.mfr")
    done = run("record", "--detail", "events", "--collect", "kernel", "-o", file, "--", example("slow_realloc"), str(PAIRS),
               timeout=800)
    moved = int(done.stdout.split()[-1])
    kinds = chunks(file)
    check("GAPS" not in kinds, f"nothing is lost: {done.stderr}")
    check("CKPT" in kinds, f"there is a checkpoint: {set(kinds)}")
    check(moved > 5, f"reallocs went on meanwhile: {moved}")
    # The events and the checkpoint agree, so no reader has anything to say.
    rows, said = ask(file, "SELECT count(*) AS n, max(chain_length) AS longest, sum(leaked) AS leaked FROM blocks "
                           "WHERE chain_length > 1")
    check("contradicts" not in said, said)
    equal("blocks of the chain that grows", rows, [{"n": moved + 1, "longest": moved + 1, "leaked": 1}])
    rows, _ = ask(file, "SELECT count(*) AS n FROM blocks WHERE size = 24 AND leaked = 0")
    check(PAIRS <= rows[0]["n"] < PAIRS + 10, f"blocks of the others: {rows}")
