#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that no folder includes one that stands above it: scripts/lib/floors.txt has the order.

  scripts/lib/floors.py        run by scripts/check-includes
"""

import os
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')


def files(room):
    for folder, _, names in os.walk(room):
        for name in names:
            # BPF programs are made of one file each, of parts that a table in bpf/ puts together.
            if name.endswith((".h", ".cc")) and not name.endswith(".bpf.h"):
                yield folder, os.path.join(folder, name)


def floors_of(path):
    """Folder -> its floor, of all rooms."""
    floors = {}
    with open(path) as lines:
        for line in lines:
            room, colon, folders = line.split("#")[0].strip().partition(":")
            if not colon:
                continue
            begun = max((floors[each] + 1 for each in floors if each.split("/")[0] == room), default=0)
            for floor, folder in enumerate(folders.split(), begun):
                for each in folder.split(","):
                    floors[room if each == "." else f"{room}/{each}"] = floor
    return floors


def main():
    floors = floors_of(os.path.join(os.path.dirname(__file__), "floors.txt"))
    wrong = []
    seen = set()
    for room in sorted({folder.split("/")[0] for folder in floors}):
        for folder, path in files(room):
            seen.add(folder)
            if folder not in floors:
                wrong.append(f"{folder}: has no floor in scripts/lib/floors.txt")
                floors[folder] = -1
            with open(path, errors="replace") as text:
                for number, line in enumerate(text, 1):
                    included = INCLUDE.match(line)
                    target = os.path.dirname(included[1]) if included else ""
                    if target == folder or target not in floors or target.split("/")[0] != room:
                        continue
                    if floors[target] >= floors[folder]:
                        wrong.append(f"{path}:{number}: {folder} may not include {target}, which stands "
                                     f"{'beside' if floors[target] == floors[folder] else 'above'} it")
    wrong += [f"{folder}: in scripts/lib/floors.txt, but has no files" for folder in floors if folder not in seen]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
