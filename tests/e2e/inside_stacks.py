# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: a stack told by what differs from the one before is the stack that a full walk finds.

The agent of this memflame walks each stack twice and counts what differs."""
import json
import os
import re
import subprocess
import sys

from lib import LONG, PATIENCE, check, equal, example, losses, path

CHECKED = os.environ["MEMFLAME_CHECKED"]
ROWS = 20000 if LONG else 2000
PYTHON = f"""
import json
rows = [{{"number": i, "text": str(i) * 3}} for i in range({ROWS})]
for _ in range(10):
    rows = json.loads(json.dumps(rows))
print(len(rows))
"""
SQL = f"""
create table words(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {ROWS * 2})
  insert into words select i, printf('%064d', i * 7919 % 1000) from n;
create index by_word on words(word);
select count(*) from words where word like '%99%';
"""


def walk(*command, text=None, least=1000):
    output, summary = path("stacks.folded"), path("stacks.summary")
    done = subprocess.run([CHECKED, "alloc", "--inside", "--max-depth", "1023", "-o", output, "--summary", summary,
                           "--", *command], input=text, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
                          env={**os.environ, "PYTHONMALLOC": "malloc"})
    equal(f"exit status of {command[0]}: {done.stderr}", done.returncode, 0)
    with open(summary, encoding="utf-8") as stream:
        document = json.load(stream)
    note = next((re.match(r"stacks walked twice: (\d+), differing: (\d+)", note) for note in document["notes"]
                 if note.startswith("stacks walked twice")), None)
    check(note, f"the agent checks itself: {document['notes']}")
    walked, differing = int(note[1]), int(note[2])
    print(f"{command[0]}: {walked} stacks, {differing} differ")
    check(walked >= least, f"{command[0]}: {walked} stacks")
    equal(f"{command[0]}: stacks that differ", differing, 0)
    check(not {name: count for name, count in losses(document).items() if name != "agent_ring_full"},
          f"lost: {losses(document)}")
    cut = sum(count["events"] for count in losses(document, "cut").values())
    check(cut <= walked / 1000, f"{command[0]}: {cut} of {walked} stacks are cut: {losses(document, 'cut')}")


walk(sys.executable, "-c", PYTHON)
walk("sqlite3", ":memory:", text=SQL)
with open(path("many.cc"), "w", encoding="utf-8") as stream:
    stream.write("#include <regex>\n#include <map>\n#include <string>\nstd::map<std::string, std::regex> all;\n"
                 "bool f(const std::string& s) { return std::regex_match(s, all[s]); }\n" if LONG else
                 "#include <map>\n#include <string>\nstd::map<std::string, int> all;\n"
                 "int f(const std::string& s) { return all[s]; }\n")
walk("g++", "-O1", "-g", "-c", path("many.cc"), "-o", path("many.o"))
# Threads that come and go, exceptions, signal handlers, libraries that are loaded and unloaded.
walk(example("alloc_storm"), "--threads", "4", "--operations", "1000000" if LONG else "50000")
walk(example("life"), "alloc", "20", least=100)
walk(example("loader"), "alloc", "20", "1", least=100)
walk(example("no_frame_pointer"), "alloc", "400" if LONG else "100")
