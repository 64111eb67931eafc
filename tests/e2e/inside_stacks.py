# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: a stack told by what differs from the one before is the stack that a full walk finds.

The agent of this memflame walks each stack twice and counts what differs. MEMFLAME_VERIFIED_STACKS=N goes on with each
program until N stacks were walked; programs named as arguments are the only ones."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys

from lib import LONG, PATIENCE, check, equal, example, losses, path, spawn, wait_until

CHECKED = os.environ["MEMFLAME_CHECKED"]
WANTED = int(os.environ.get("MEMFLAME_VERIFIED_STACKS", "0"))
LEAST = 1000  # stacks of a program that are worth a judgement
SCALE = 50 if WANTED else 10 if LONG else 1
PYTHON = f"""
import json
rows = [{{"number": i, "text": str(i) * 3}} for i in range({2000 * min(SCALE, 10)})]
for _ in range({10 * max(1, SCALE // 10)}):
    rows = json.loads(json.dumps(rows))
print(len(rows))
"""
SQL = f"""
create table words(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {4000 * SCALE})
  insert into words select i, printf('%064d', i * 7919 % 1000) from n;
create index by_word on words(word);
select count(*) from words where word like '%99%';
"""
SMALL_CODE = """
#include <map>
#include <string>
std::map<std::string, int> all;
int f(const std::string& s) { return all[s]; }
"""
LARGE_CODE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
std::map<std::string, std::regex> all;
bool f(const std::string& s) { return std::regex_match(s, all[s]); }
"""
JAVASCRIPT = f"""
let kept = [];
let sum = 0;
for (let round = 0; round < {2 * SCALE}; ++round) {{
  const map = new Map();
  for (let i = 0; i < 20000; ++i) map.set('key' + i, {{ number: i, list: [i, i + 1, i + 2] }});
  for (const [key, value] of map) sum += key.length + value.list.reduce((a, b) => a + b, 0);
  for (let i = 0; i < 1500; ++i) {{
    kept.push(Buffer.alloc(9000 + i));
    sum += JSON.stringify(JSON.parse('{{"a": [1, 2, {{"b": "' + i + '"}}]}}')).length;
    sum += new TextDecoder('utf-16le').decode(new Uint16Array([i, i + 1, 300])).length;
  }}
  if (round % 10 === 9) kept = [];
}}
console.log(sum);
"""


class Verified:
    """What the agents of a memflame, run after run, said of the stacks of a program."""

    def __init__(self, name):
        self.name, self.walked, self.differing, self.cut = name, 0, 0, {}

    def add(self, summary):
        with open(summary, encoding="utf-8") as stream:
            document = json.load(stream)
        note = next((re.match(r"stacks walked twice: (\d+), differing: (\d+)", note) for note in document["notes"]
                     if note.startswith("stacks walked twice")), None)
        check(note, f"{self.name}: the agent checks itself: {document['notes']}")
        self.walked += int(note[1])
        self.differing += int(note[2])
        for reason, count in losses(document, "cut").items():
            self.cut[reason] = self.cut.get(reason, 0) + count["events"]
        lost = {name: count for name, count in losses(document).items() if name != "agent_ring_full"}
        check(not lost, f"{self.name}: lost: {lost}")

    def judge(self, least):
        cut = sum(self.cut.values())
        print(f"{self.name}: {self.walked} stacks, {self.differing} differ, "
              f"{100 - 100 * cut / max(self.walked, 1):.4f} % complete {self.cut or ''}", flush=True)
        check(self.walked >= least, f"{self.name}: {self.walked} stacks")
        equal(f"{self.name}: stacks that differ", self.differing, 0)
        check(cut <= self.walked / 1000, f"{self.name}: {cut} of {self.walked} stacks are cut: {self.cut}")


def arguments(*command):
    return [CHECKED, "alloc", "--inside", "--max-depth", "1023", "-o", path("stacks.folded"), "--summary",
            path("stacks.summary"), "--", *command]


def walk(name, *command, text=None, least=LEAST):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    verified = Verified(name)
    while verified.walked < max(WANTED, least):
        done = subprocess.run(arguments(*command), input=text, capture_output=True, text=True, timeout=20 * PATIENCE,
                              check=False, env={**os.environ, "PYTHONMALLOC": "malloc"})
        equal(f"exit status of {name}: {done.stderr}", done.returncode, 0)
        verified.add(path("stacks.summary"))
    verified.judge(least)


def walk_redis(requests):
    """A server that this script talks to."""
    if not shutil.which("redis-server") or (sys.argv[1:] and "redis" not in sys.argv[1:]):
        return
    verified = Verified("redis")
    words = [(b"SET", b"key:%d", b"%0200d"), (b"LPUSH", b"list:%d", b"%d"), (b"HSET", b"hash:%d", b"field", b"%050d"),
             (b"GET", b"key:%d"), (b"LRANGE", b"list:%d", b"0", b"10"), (b"SADD", b"set:%d", b"%d")]
    while verified.walked < max(WANTED, LEAST):
        name = path("redis.socket")
        server = spawn(arguments("redis-server", "--port", "0", "--unixsocket", name, "--save", "", "--appendonly",
                                 "no", "--dir", path(".")), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with socket.socket(socket.AF_UNIX) as client:
            wait_until(lambda: client.connect_ex(name) == 0, "redis listens")
            for first in range(0, requests, 300):
                batch = b""
                for i in range(first, first + 300):
                    request = [word % (i % 5000) if b"%" in word else word for word in words[i % len(words)]]
                    batch += b"*%d\r\n" % len(request) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                                                  for word in request)
                client.sendall(batch + b"*2\r\n$4\r\nECHO\r\n$3\r\n<=>\r\n")
                answer = b""
                while not answer.endswith(b"<=>\r\n"):
                    answer = answer[-8:] + client.recv(1 << 16)
            client.sendall(b"SHUTDOWN NOSAVE\r\n")
        equal("exit status of redis", server.wait(PATIENCE), 0)
        verified.add(path("stacks.summary"))
    verified.judge(LEAST)


walk("python3", sys.executable, "-c", PYTHON)
walk("sqlite3", "sqlite3", ":memory:", text=SQL)
with open(path("many.cc"), "w", encoding="utf-8") as stream:
    stream.write(SMALL_CODE if SCALE == 1 else LARGE_CODE)
walk("cc1plus", "g++", "-O1", "-g", "-c", path("many.cc"), "-o", path("many.o"))
walk_redis(6000 * SCALE)
with open(path("work.js"), "w", encoding="utf-8") as stream:
    stream.write(JAVASCRIPT)
if shutil.which("node"):
    walk("node", "node", path("work.js"))
# Threads that come and go, exceptions, longjmp(), contexts, coroutines, signal handlers, libraries that are loaded
# and unloaded.
walk("stack_storm", example("stack_storm"), str(5000 * SCALE))
walk("alloc_storm", example("alloc_storm"), "--threads", "4", "--operations", str(50000 * SCALE))
walk("life", example("life"), "alloc", "20", least=100)
walk("loader", example("loader"), "alloc", "20", "1", least=100)
walk("no_frame_pointer", example("no_frame_pointer"), "alloc", "400" if LONG else "100")
