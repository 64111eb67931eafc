# SPDX-License-Identifier: BSD-2-Clause
"""What 'heaptrack --raw' recorded is a recording with events: each command that reads these reads it, and its figures are
those of heaptrack_print. Files of heaptrack_interpret are refused where single blocks are asked for.

$MEMFLAME is the binary under test. Needs no privilege, and binutils.
"""
import csv
import glob
import gzip
import io
import json
import os
import re
import subprocess
import tempfile

MEMFLAME = os.path.abspath(os.environ["MEMFLAME"])
DATA = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "data"))
PATIENCE = 120  # seconds
FAILURE, USAGE = 1, 2

# What heaptrack_print 1.4.0 says of the interpreted file of the same run. It counts one block too many as temporary
# (docs/formats.md): this is what heaptrack_interpret counts.
LEAKED, LEAKED_BLOCKS, PEAK, ALLOCATIONS, TEMPORARY = 22474, 22, 96013, 105, 64

scratch = tempfile.mkdtemp(prefix="memflame-heaptrack-")
os.chdir(scratch)
with open(os.path.join(DATA, "heaptrack_raw", "server.raw"), encoding="ascii") as stream:
    TEXT = stream.read()
RAW = "server.raw.gz"
with gzip.open(RAW, "wt") as stream:
    stream.write(TEXT)
INTERPRETED = os.path.join(DATA, "inputs", "heaptrack", "v3.txt")


def equal(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"FAILED: {what}: got {got!r}, wanted {wanted!r}")


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def memflame(*arguments, status=0, **options):
    done = subprocess.run([MEMFLAME, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    equal(f"exit status of {arguments}, which said {done.stderr!r}", done.returncode, status)
    if status != 0:
        check(done.stderr.startswith("memflame: error: ") and done.stdout == "", f"{arguments}: {done.stderr}")
    return done


def figures(*options, file=RAW):
    """The totals of the columns."""
    listed = memflame("collapse", file, "--list", *options).stdout
    return {row[0]: int(row[2]) for row in (line.split("\t") for line in listed.splitlines())}


def blocks():
    """The blocks of the text: size, allocated, freed (or None), in ticks and in order."""
    live, found, tick, last = {}, [], 0, None
    for line in TEXT.splitlines():
        kind, *fields = line.split(" ")
        if kind == "c":
            tick = int(fields[0], 16)
        elif kind == "+":
            last = {"size": int(fields[0], 16), "born": tick, "freed": None, "at_once": False}
            live[fields[2]] = last
            found.append(last)
        elif kind == "-":
            block = live.pop(fields[0], None)
            if block:
                block["freed"], block["at_once"] = tick, block is last
            last = None
    return found


def summed(chosen, name):
    chosen = list(chosen)
    return {name: sum(block["size"] for block in chosen), f"{name}-count": len(chosen)}


# ---- the figures of heaptrack_print, and those of the text by a naive reader
all_blocks = blocks()
whole = figures()
equal("allocations", whole["total-count"], ALLOCATIONS)
equal("what lives at the end", (whole["live"], whole["live-count"]), (LEAKED, LEAKED_BLOCKS))
equal("all bytes", whole["total"], sum(block["size"] for block in all_blocks))
equal("leaked", figures("--view", "leaked"), {"leaked": LEAKED, "leaked-count": LEAKED_BLOCKS})
equal("the peak", figures("--view", "peak")["peak"], PEAK)
equal("temporary", figures("--view", "transient")["transient-count"], TEMPORARY)
equal("transient", figures("--view", "transient"),
      summed((block for block in all_blocks if block["at_once"]), "transient"))
equal("--leaked", figures("--leaked")["live"], LEAKED)
equal("--where", figures("--where", "size > 1010 and leaked", "--view", "leaked"),
      summed((block for block in all_blocks if block["freed"] is None and block["size"] > 1010), "leaked"))
long = [block for block in all_blocks if block["freed"] and block["freed"] - block["born"] >= 40]
equal("--min-lifetime", figures("--freed", "--min-lifetime", "40ms", "--view", "freed"), summed(long, "freed"))
check(0 < len(long) < len(all_blocks), "some lived so long")
# Ticks are followed by what happened until the next one.
middle = 0.3
equal("--at", figures("--at", f"{middle}s")["live"],
      sum(block["size"] for block in all_blocks
          if block["born"] < 300 and (block["freed"] is None or block["freed"] >= 300)))
equal("--between", figures("--between", "0.1..0.3", "--view", "total")["total-count"],
      sum(100 <= block["born"] < 300 for block in all_blocks))

# ---- from a pipe, and other commands
with open(RAW, "rb") as stream:
    piped = memflame("collapse", "--view", "leaked", stdin=stream).stdout
check(f"value=leaked total={LEAKED}" in piped, piped)
check("heaptrack reads the clock every 10 ms" in piped and "a realloc is a free" in piped, piped)
svg = memflame("render", RAW).stdout
check("<svg" in svg and "server" in svg, "a picture")
rows = list(csv.DictReader(io.StringIO(memflame("query", RAW, "--format", "csv", "select count(*) as n, sum(bytes) as b, "
                                                "sum(leaked) as l from blocks").stdout)))
equal("query", rows, [{"n": str(ALLOCATIONS), "b": str(whole["total"]), "l": str(LEAKED_BLOCKS)}])
report = json.loads(memflame("report", RAW, "--format", "json").stdout)
check(report["rows"], "rows of the report")
check("resident" in memflame("timeline", RAW).stdout, "timeline")
leaks = memflame("leaks", "--from", RAW).stdout
check("21.9 KiB live in 22 blocks on 1 stack" in leaks, leaks)

# ---- an explicit conversion
memflame("symbolize", RAW, "-o", "server.mfr")
equal("figures of the recording", figures(file="server.mfr"), whole)
equal("its leaks", figures("--view", "leaked", file="server.mfr"), figures("--view", "leaked"))
refused = memflame("symbolize", RAW, status=USAGE)
check("-o OUT.mfr" in refused.stderr, refused.stderr)

# ---- names: from files of this machine that have the segments that were recorded
library = next(iter(glob.glob("/lib/*/libc.so.6") + ["/lib64/libc.so.6"]))
headers = subprocess.run(["readelf", "-lW", library], capture_output=True, text=True, check=True).stdout
segments = [(int(row[0], 16), int(row[1], 16))
            for row in re.findall(r"^  LOAD +\S+ (0x\w+) \S+ \S+ (0x\w+)", headers, re.M)]
symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
place = int(re.search(r"^(\w+) [TW] strtoull?(?:@|$)", symbols, re.M)[1], 16)
BASE = 0x7f0000000000


def raw_of(changed):
    numbers = " ".join(f"{start:x} {size + changed:x}" for start, size in segments)
    return (f"v 10400 3\nx 5 /a/go\nX ./go\nI 1000 1\nm 1 -\nm {len(library):x} {library} {BASE:x} {numbers}\n"
            f"t {BASE + place + 1:x} 0\n+ 10 1 1000\nc a\n")


for name, changed in (("same.raw", 0), ("other.raw", 1)):
    with open(name, "w", encoding="ascii") as stream:
        stream.write(raw_of(changed))
named = memflame("collapse", "same.raw").stdout
check(re.search(r"go;strtou?ll?|go;\S*strto", named), named)
unnamed = memflame("collapse", "other.raw")
check("[libc.so.6" in unnamed.stdout and "strto" not in unnamed.stdout, unnamed.stdout)
check(f"{library}: names unknown, the file was replaced" in unnamed.stdout, unnamed.stdout)
check("strto" not in memflame("collapse", "same.raw", "--no-symbols").stdout, "--no-symbols")

# ---- what cannot be
for arguments, words in (((INTERPRETED, "--leaked"), "--leaked"), ((INTERPRETED, "--where", "lifetime > 1s"), "--where"),
                         ((INTERPRETED, "--view", "leaked"), "--view"), ((INTERPRETED, "--at", "1"), "--at")):
    said = memflame("collapse", *arguments, status=USAGE).stderr
    check(words in said and "heaptrack_interpret has left out" in said and "heaptrack --raw" in said, said)
for command in (["report", INTERPRETED, "-o", "r.html"], ["query", INTERPRETED], ["timeline", INTERPRETED]):
    said = memflame(*command, status=FAILURE).stderr
    check("heaptrack --raw" in said, said)
with open("old.raw", "w", encoding="ascii") as stream:
    stream.write("v 10200 2\nx /opt/prog\nX prog\nm x 1000 0 900\nt 1001 0\n+ 1 1 1000\n")
check("version 2" in memflame("collapse", "old.raw", status=FAILURE).stderr, "an old one")
with open("cut.raw", "w", encoding="ascii") as stream:
    stream.write(TEXT[:-3])
check("in the middle of a line" in memflame("collapse", "cut.raw").stderr, "cut")
memflame("collapse", "cut.raw", "--refuse-truncated", status=FAILURE)
with open(RAW, "rb") as whole, open("cut.raw.gz", "wb") as stream:
    stream.write(whole.read()[:-100])
check("its gzip data ends in the middle" in memflame("collapse", "cut.raw.gz").stderr, "cut, packed")
memflame("collapse", "cut.raw.gz", "--refuse-truncated", status=FAILURE)
