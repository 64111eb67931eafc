# SPDX-License-Identifier: BSD-2-Clause
"""record --probes alloc,brk,mmap,fault on redis and PostgreSQL: each probe has the totals that it has alone, for the
same requests to a server that was just started, and what it captured is what the system says."""
import ctypes
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys

from lib import PATIENCE, Memflame, check, equal, losses, path, spawn, wait_until

ALL = ("alloc", "brk", "mmap", "fault")
NOBODY = {"user": "nobody", "group": "nogroup", "extra_groups": []}
postgres = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
redis = shutil.which("redis-server")
if not postgres or not redis:
    print("SKIPPED: redis-server and postgresql are not installed; scripts/realworld installs them")
    sys.exit(77)
postgres = postgres[-1]


class Redis:
    """Answers the same requests in the same order, each after the one before. Its work at certain times is off."""

    def __init__(self, name):
        self.name, self.socket = name, path(f"{name}.sock")
        self.process = spawn([redis, "--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
                              "--dir", path(""), "--activerehashing", "no", "--hz", "1"], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_until(lambda: os.path.exists(self.socket), "redis")

    def work(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(self.socket)
            for i in range(3000):
                for words in (("SET", f"key:{i}", "x" * 600), ("RPUSH", f"list:{i % 100}", "y" * (i % 300)),
                              ("HSET", f"hash:{i % 50}", f"field:{i}", str(i)), ("GET", f"key:{i // 2}"),
                              ("DEL", f"key:{i // 3}")):
                    client.sendall(f"*{len(words)}\r\n".encode() +
                                   b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words))
                    answer = client.recv(4096)
                    check(answer and answer[:1] != b"-", f"redis: {words}: {answer}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        equal("exit status of redis", self.process.wait(PATIENCE), 0)


class Postgres:
    """Runs the same statements in one session. What it does at certain times is off."""

    template = None
    script = """select pg_backend_pid();
create table words(id integer primary key, word text);
insert into words select i, lpad(i::text, 64, '0') from generate_series(1, 20000) i;
create index by_word on words(word);
select count(*), sum(length(word)) from words a where exists (select from words b where b.id = a.id + 1);
update words set word = reverse(word) where id % 3 = 0;
select count(distinct left(word, 3)) from words;
"""

    def __init__(self, name):
        self.folder = path(f"{name}.d")
        if not Postgres.template:
            Postgres.template = path("template")
            os.makedirs(path("template"))
            shutil.chown(path("template"), "nobody", "nogroup")
            subprocess.run([f"{postgres}/initdb", "-D", path("template/db"), "-A", "trust", "-N"], check=True,
                           cwd=path("template"), stdout=subprocess.DEVNULL, **NOBODY)
        subprocess.run(["cp", "-a", Postgres.template, self.folder], check=True)
        self.log = open(path(f"{name}.log"), "w", encoding="utf-8")
        off = ("autovacuum=off", "fsync=off", "jit=off", "max_parallel_workers_per_gather=0", "checkpoint_timeout=1h",
               "listen_addresses=", "bgwriter_delay=10s", "track_activities=off")
        self.process = spawn([f"{postgres}/postgres", "-D", f"{self.folder}/db", "-k", self.folder,
                              *(word for setting in off for word in ("-c", setting))],
                             cwd=self.folder, stdout=self.log, stderr=self.log, **NOBODY)
        self.pid = self.process.pid
        self.connect = ("-h", self.folder, "-U", "nobody")
        wait_until(lambda: subprocess.run([f"{postgres}/pg_isready", *self.connect, "-d", "postgres", "-q"],
                                          check=False).returncode == 0, "PostgreSQL")

    def work(self):
        done = subprocess.run([f"{postgres}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *self.connect, "postgres"],
                              input=self.script, capture_output=True, text=True, timeout=PATIENCE, check=False)
        equal(f"exit status of psql, which said {done.stderr!r}", done.returncode, 0)
        pid, *results = done.stdout.split()
        equal("results of PostgreSQL", results, ["19999|1279936", "1000"])
        # It ends a moment after the client.
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the session's process ends")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        equal("exit status of PostgreSQL", self.process.wait(PATIENCE), 0)


def watched(server, probes):
    """The summary of a run beside a new server, which works meanwhile."""
    started = server(f"server-{'-'.join(probes)}")
    options = ("record", "--probes", ",".join(probes)) if len(probes) > 1 else (probes[0],)
    exact = ("--children", "exact") if "alloc" in probes else ()
    memflame = Memflame(*options, *exact, "-p", started.pid, output="mfr" if len(probes) > 1 else "json")
    started.work()
    memflame.stop()
    started.end()
    summary = memflame.summary()
    check(not losses(summary), f"{probes}: something was lost: {losses(summary)}")
    return summary


def compare(server, probe, together, alone):
    """Checks the columns of one probe."""
    for column, total in alone["totals"].items():
        got = together["totals"][column if probe == "alloc" else f"{probe}-{column}"]
        # Once a second redis looks after its clients, so a run that takes longer allocates a little more.
        slack = total // 1000 if server is Redis and column in ("total", "total-count") else 0
        # A session's process takes over the server's heap, whose last page is not equally full each time.
        slack = 4096 if server is Postgres and column in ("grown", "outstanding") and probe == "brk" else slack
        check(abs(got - total) <= slack, f"{server.__name__}, {column} of {probe}: {got} together, {total} alone")


def agrees_with_system(server, summary):
    for row in summary["reconciliation"]:
        name, difference = row["name"], row["os"] - row["captured"]
        if "VmSize" in name:  # probes on functions have a page of their own in each process
            check(0 <= difference <= 4096 * len(summary["pids"]), f"{server.__name__}: {row}")
        elif "captured_is" not in row:
            equal(f"{server.__name__}: {name}, captured and the system's", row["captured"], row["os"])


# Where the heap begins is random otherwise, and so is the page in which it ends.
ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
check(ctypes.CDLL(None).personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE)) >= 0, "addresses are not random")
for server in (Redis, Postgres):
    together = watched(server, ALL)
    agrees_with_system(server, together)
    for probe in ALL:
        alone = watched(server, (probe,))
        agrees_with_system(server, alone)
        if probe != "fault":  # which pages are resident is the kernel's choice
            compare(server, probe, together, alone)
