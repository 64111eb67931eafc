# SPDX-License-Identifier: BSD-2-Clause
"""pprof with addresses: `go tool pprof` shows files and lines. Its own symbolizer and addr2line find the same
lines at the addresses, build ids are those of the files, and a round trip changes nothing."""
import json
import os
import re
import shutil
import subprocess
import sys

from lib import check, equal, path, run

tools = {name: shutil.which(name) for name in ("go", "cc", "addr2line", "readelf", "strip")}
missing = [name for name, tool in tools.items() if not tool]
if missing:
    print("SKIPPED: not here:", ", ".join(missing))
    sys.exit(77)

SOURCE = """#include <stdlib.h>
#include <string.h>
void *volatile kept;
static inline __attribute__((always_inline)) void keep(size_t size) {
  kept = malloc(size);  /* LINE keep */
}
__attribute__((noinline)) void parse(size_t size) {
  keep(size);  /* LINE parse */
  memset(kept, 1, size);
}
int main(void) {
  for (int i = 0; i < 10; ++i) parse(1000);  /* LINE main */
  return 0;
}
"""
FLAGS = ["-g", "-O2", "-Wl,--build-id=sha1"]


def line_of(mark):
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if f"LINE {mark} " in line)


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "PPROF_TMPDIR": path("")}, cwd=path(""))
    equal(f"{command}, which said {done.stderr}", done.returncode, 0)
    return done.stdout


def pprof(file, *options, symbolize="none"):
    return output("go", "tool", "pprof", f"-symbolize={symbolize}", "-sample_index=total", *options, file)


def raw(file, symbolize="none"):
    """The mappings and locations as pprof itself understands them."""
    mappings, locations, section = {}, {}, ""
    # Newer ones tell a column, too, which is 0.
    said = re.sub(r"(:\d+):\d+ s=", r"\1 s=", pprof(file, "-raw", symbolize=symbolize))
    for line in said.splitlines():
        if line in ("Locations", "Mappings"):
            section = line
        elif section == "Mappings":
            number, start, limit, offset, rest = re.match(
                r"(\d+): 0x(\w+)/0x(\w+)/0x(\w+) (.*)", line).groups()
            flags = re.findall(r"\[(?:FN|FL|LN|IN)\]", rest)
            words = re.sub(r"\s*\[(?:FN|FL|LN|IN)\]", "", rest).split()
            mappings[int(number)] = {"start": int(start, 16), "limit": int(limit, 16),
                                     "offset": int(offset, 16), "file": words[0],
                                     "id": words[1] if len(words) > 1 else "", "flags": flags}
        elif section == "Locations" and (begin := re.match(r"\s+(\d+): 0x(\w+) (M=(\d+))? ?(.*)", line)):
            number = int(begin[1])
            locations[number] = {"address": int(begin[2], 16), "mapping": int(begin[4] or 0),
                                 "lines": [begin[5].strip()]}
        elif section == "Locations":
            locations[number]["lines"].append(line.strip())
    return mappings, locations


def stacks(file):
    """{frames with their lines: figures}, as memflame reads the file."""
    run("collapse", "--lines", file, "-o", path("stacks.json"))
    with open(path("stacks.json"), encoding="utf-8") as stream:
        document = json.load(stream)
    places = [None] + document["places"]
    sums = {}
    for stack in document["stacks"]:
        frames = tuple((name, json.dumps(places[place]))
                       for name, place in zip(stack["frames"], stack["places"]))
        equal("one row for a stack", frames in sums, False)
        sums[frames] = stack["values"]
    return sums


def build_id(file):
    return re.search(r"Build ID: (\w+)", output("readelf", "-n", file))[1]


with open(path("parse.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)

for name, flags in (("pie", ["-fPIE", "-pie"]), ("no_pie", ["-no-pie"]),
                    ("one_segment", ["-fPIE", "-pie", "-Wl,-z,noseparate-code"])):
    program, file = path(name), path(f"{name}.pb.gz")
    output("cc", *FLAGS, *flags, "-o", program, path("parse.c"))
    # Two processes have the program at different addresses.
    run("alloc", "--children", "exact", "-o", file, "--", "sh", "-c", f"{program}; {program}")
    mappings, locations = raw(file)
    of_program = [mapping for mapping in mappings.values() if mapping["file"] == program]
    equal(f"{name}: mappings of the program", len(of_program), 1)
    equal(f"{name}: the main program is the first", mappings[1]["file"], program)
    equal(f"{name}: its flags", mappings[1]["flags"], ["[FN]", "[FL]", "[LN]", "[IN]"])
    equal(f"{name}: numbers", sorted(mappings), list(range(1, len(mappings) + 1)))
    for mapping in mappings.values():
        if mapping["id"]:
            equal(f"build id of {mapping['file']}", mapping["id"], build_id(mapping["file"]))
    asked = 0
    for location in locations.values():
        mapping = mappings[location["mapping"]]
        if not location["address"]:
            continue
        check(mapping["start"] <= location["address"] < mapping["limit"], f"in its mapping: {location}")
        if mapping["file"] != program:
            continue
        found = output("addr2line", "-i", "-e", program, hex(location["address"])).split("\n")[:-1]
        found = [re.sub(r" \(discriminator \d+\)", "", line) for line in found]
        ours = [re.search(r" (\S+):(\d+) s=", line) for line in location["lines"]]
        if "??" in found[0]:
            continue
        asked += 1
        equal(f"{name}: lines at {location['address']:#x}", [f"{m[1]}:{m[2]}" for m in ours], found)
    check(asked >= 2, f"{name}: {asked} places had lines")
    one = [location for location in locations.values()
           if any(line.startswith("parse ") for line in location["lines"])]
    equal(f"{name}: places in parse, of both processes", len(one), 1)
    check(one[0]["lines"][0].startswith("keep "), f"innermost first: {one[0]['lines']}")
    equal(f"{name}: where keep begins", one[0]["lines"][0].split("s=")[1].split("(")[0], "4")

    # pprof's own views.
    listed = pprof(file, "-list", "^parse$")
    check(re.search(rf"B\s+{line_of('parse')}:  keep\(size\);", listed), f"-list: {listed}")
    check(f"parse.c:{line_of('keep')}" in pprof(file, "-top", "-lines"), "-lines")
    pprof(file, "-weblist", "^parse$", "-output", path("list.html"))
    with open(path("list.html"), encoding="utf-8") as stream:
        check("keep(size)" in stream.read(), "-weblist")
    # pprof's own symbolizer at the same addresses. It does not know inlined functions: it names the
    # outermost function with the innermost line.
    again = raw(file, "force:local")[1]
    looked_up = 0
    for number, location in locations.items():
        if not location["address"] or location["mapping"] != 1 or ":0 " in location["lines"][0]:
            continue
        looked_up += 1
        function = location["lines"][-1].split(" ")[0]
        place = location["lines"][0].split(" ")[1]
        equal(f"{name}: {location} looked up again", again[number]["lines"][0].split(" ")[:2],
              [function, place])
    check(looked_up >= 2, f"{name}: {looked_up} places looked up again")

    # Round trips.
    output("go", "tool", "pprof", "-symbolize=none", "-proto", f"-output={path('again.pb.gz')}", file)
    equal(f"{name}: by way of pprof", stacks(path("again.pb.gz")), stacks(file))
    run("collapse", file, "-o", path("twice.pb.gz"))
    equal(f"{name}: by way of memflame", raw(path("twice.pb.gz")), raw(file))

# Without symbols there are no lines, so a symbolizer looks for them; memflame's own names survive.
bare, file = path("bare"), path("bare.pb.gz")
output("strip", "-o", bare, path("pie"))
run("alloc", "-o", file, "--", bare)
mappings, locations = raw(file)
equal("the stripped program", (mappings[1]["file"], mappings[1]["id"], "[FN]" in mappings[1]["flags"]),
      (bare, build_id(path("pie")), False))
places = [location for location in locations.values()
          if location["mapping"] == 1 and location["lines"] == [""]]
check(places, f"places without lines: {locations}")
found = {output("addr2line", "-f", "-e", path("pie"), hex(place["address"])).split("\n")[0]
         for place in places}
check({"parse", "keep"} & found, f"with the symbols there, pprof finds {found}")
output("go", "tool", "pprof", "-symbolize=none", "-proto", f"-output={path('again.pb.gz')}", file)
names = {name for frames in stacks(file) for name, _ in frames}
check(any(name.startswith("[bare+0x") for name in names), f"memflame's names: {names}")
equal("names by way of pprof", stacks(path("again.pb.gz")), stacks(file))
