# SPDX-License-Identifier: BSD-2-Clause
"""Source lines of programs whose debug information is packed, with zlib or zstd, in the program or beside it."""
import json
import os
import shutil
import subprocess
import sys

from lib import Memflame, check, example, path

if shutil.which("objcopy") is None:
    print("SKIPPED: there is no objcopy")
    sys.exit(77)


def tool(*arguments):
    return subprocess.run(["objcopy", *arguments], check=False, stderr=subprocess.DEVNULL).returncode == 0


def has_lines(program):
    memflame = Memflame("alloc", "--collect", "inside", "--", program, wait=False, stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL).wait()
    with open(memflame.output, encoding="utf-8") as stream:
        document = json.load(stream)
    files = {os.path.basename(place.get("file", "")) for place in document["places"]}
    return "alloc_truth.cc" in files, document["notes"]


for kind in ("zlib", "zstd"):
    packed = path(f"{kind}-packed")
    if not tool(f"--compress-debug-sections={kind}", example("alloc_truth"), packed):
        print(f"this objcopy does not pack with {kind}")
        continue
    there, notes = has_lines(packed)
    check(there, f"{kind}: source lines: {notes}")
    names, bare = path(f"{kind}.debug"), path(f"{kind}-bare")
    check(tool("--only-keep-debug", packed, names), "debug file")
    check(tool("--strip-all", f"--add-gnu-debuglink={names}", packed, bare), "program without names")
    there, notes = has_lines(bare)
    check(there, f"{kind}: source lines beside it: {notes}")
    if kind != "zstd":
        continue
    # Damaged: a note says why there are none.
    text = subprocess.run(["readelf", "-SW", packed], check=True, stdout=subprocess.PIPE, text=True).stdout
    line = next(line.split("]", 1)[1].split() for line in text.splitlines() if " .debug_line " in line)
    with open(packed, "r+b") as stream:
        stream.seek(int(line[3], 16) + 24 + 8)
        stream.write(b"\xff" * 64)
    there, notes = has_lines(packed)
    check(not there and any("packed with zstd, could not be unpacked" in note for note in notes), f"damaged: {notes}")
