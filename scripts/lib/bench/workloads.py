# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are traced: a loop that does one thing, and whole programs with much to allocate."""

import os
import subprocess
import time

from lib import check, equal, path, spawn
from report import progress
from tracers import Breakpoints, output_of, tool


class Pairs:
    """scripts/lib/bench/pairs.cc, waiting for a number."""

    def __init__(self, what="malloc", depth=20, program="pairs", environment=None):
        self.process = spawn([tool(program), what, str(depth)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, env={**os.environ, **(environment or {})})
        self.pid = self.process.pid
        equal("pairs says", self.process.stdout.readline(), "ready\n")

    def work(self, times):
        """Nanoseconds for each: CPU, CPU with what comes after, wall."""
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        word, *figures = self.process.stdout.readline().split()
        equal("pairs says", word, "done")
        return [int(figure) / times for figure in figures]

    def end(self):
        self.process.communicate()


class Canary:
    """A process that nobody measures: breakpoints in it when nothing of ours runs are somebody else's."""

    def __init__(self, patience):
        self.patience = patience  # seconds; 0: takes what it gets
        self.process = Pairs()
        self.breakpoints = Breakpoints(self.process.pid)
        self.disturbed = 0

    def quiet(self, seconds):
        end = time.monotonic() + seconds
        while self.breakpoints.some():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def alone(self, measure, *arguments):
        """What measure() gives, again when another tracer was there before or after it."""
        for _ in range(5 if self.patience else 1):
            before = self.quiet(self.patience)
            result = measure(*arguments)
            if before and self.quiet(min(2, self.patience)):
                return result
            progress("another tracer has probes in libc")
        self.disturbed += 1
        return result


SQL = """
create table words(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  insert into words select i, printf('%064d', i * 7919 % {rows}) from n;
create index by_word on words(word);
select count(*), sum(length(upper(word) || id)) from words;
update words set word = word || 'x' where id % 3 = 0;
delete from words where id % 2 = 0;
"""

PYTHON = """
table = {{str(i) * 4: {{"number": i, "list": [float(i)] * 10, "word": "w%d" % i}} for i in range({rows})}}
again = sorted(table, key=lambda word: word[::-1])
for word in again[::2]:
    del table[word]
"""

CPP = """
template <int n> struct List {{ int head; List<n - 1> tail; int sum() const {{ return head + tail.sum(); }} }};
template <> struct List<0> {{ int sum() const {{ return 0; }} }};
template <int n> int work(int x) {{
  List<n % 13> list{{}};
  int sum = x;
  for (int i = 0; i < x; ++i) sum += i % (n + 3) ? list.sum() * i : sum / (n + 1);
  return sum;
}}
"""


def written(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def sqlite(scale):
    script = written("words.sql", SQL.format(rows=int(40000 * scale)))
    return ["/usr/bin/sqlite3", ":memory:", f".read {script}"], {}


def python(scale):
    return ["/usr/bin/python3", "-c", PYTHON.format(rows=int(30000 * scale))], {"PYTHONMALLOC": "malloc"}


def compiler(scale):
    calls = "\n".join(f"int call_{n}(int x) {{ return work<{n}>(x); }}" for n in range(int(150 * scale)))
    source = written("much.cc", CPP.format() + calls + "\n")
    cc1plus = output_of("g++", "-print-prog-name=cc1plus").strip()
    return [cc1plus, "-quiet", "-O1", source, "-o", "/dev/null"], {}


PROGRAMS = {"sqlite3": sqlite, "python3": python, "cc1plus": compiler}


class Whole:
    """A program from its first instruction to its last. Before it there is a shell that waits."""

    def __init__(self, command, variables, environment):
        gate = ["/bin/sh", "-c", 'echo ready; read line; exec "$@" > /dev/null', "gate"]
        # What has to be there from the start gets lost in the shell, and need not be waited for.
        self.waits = environment is None
        self.start = time.monotonic()
        self.process = spawn([*(gate if self.waits else []), *command], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE if self.waits else subprocess.DEVNULL,
                             env={**os.environ, **variables, **(environment or {})})
        self.pid = self.process.pid
        if self.waits:
            equal("the gate says", self.process.stdout.readline(), b"ready\n")

    def work(self):
        """Nanoseconds: CPU, wall."""
        if self.waits:
            self.start = time.monotonic()
        self.process.stdin.write(b"\n")
        self.process.stdin.close()
        _, status, usage = os.wait4(self.pid, 0)
        wall = time.monotonic() - self.start
        self.process.returncode = os.waitstatus_to_exitcode(status)
        check(self.process.returncode == 0, f"{self.process.args} failed: {self.process.returncode}")
        return [(usage.ru_utime + usage.ru_stime) * 1e9, wall * 1e9]
