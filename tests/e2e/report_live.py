# SPDX-License-Identifier: BSD-2-Clause
"""memflame report --live: who may see the page, that it renews itself with figures that grow, only while somebody asks,
and that its last figures are those of the recording."""
import base64
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from lib import MEMFLAME, PATIENCE, USAGE, check, equal, path, run, spawn, wait_until

BLOCK = 100_000
# Keeps as many blocks as a line says.
PROGRAM = f"""
import sys
kept = []
def leak(count):
    for _ in range(count): kept.append(bytearray({BLOCK}))
for line in sys.stdin:
    leak(int(line))
    print("done", flush=True)
"""


class Numbers:
    """What render/report/report_block.h describes."""

    def __init__(self, packed):
        self.bytes, self.at = gzip.decompress(base64.b64decode(packed)), 0

    def number(self):
        value = shift = 0
        while True:
            part = self.bytes[self.at]
            self.at += 1
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                return value

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def signed(self, count):
        return [(value >> 1) ^ -(value & 1) for value in self.numbers(count)]


class Page:
    def __init__(self, text):
        def part(name):
            return re.search(rf'<script type="[a-z/]+" class="mf-{name}">(.*?)</script>', text, re.S)[1]
        self.text, self.facts, self.data = text, json.loads(part("facts")), part("data")
        rows = Numbers(part("rows"))
        steps = rows.numbers(rows.number())
        self.seconds = sum(steps) / 1e9
        count = rows.number()
        rows.numbers(2 * count)
        freed, size = rows.numbers(count), rows.signed(count)
        self.live = sum(value for value, code in zip(size, freed) if code == 0)


class Live:
    """memflame report --live beside a program of its own, or one that runs."""

    def __init__(self, *arguments, **options):
        self.errors = open(path("live.stderr"), "w+", encoding="utf-8")
        self.process = spawn([MEMFLAME, "report", "--live", *map(str, arguments)], stderr=self.errors, text=True, **options)
        wait_until(lambda: re.search(r"the report is at http://", self.said()) or self.process.poll() is not None, "the address")
        found = re.search(r"the report is at http://127\.0\.0\.1:(\d+)(/([0-9a-f]{32})/)\n", self.said())
        check(found, f"there is an address: {self.said()}")
        self.port, self.place, self.token = int(found[1]), found[2], found[3]

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def ask(self, place, method="GET", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, place, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def state(self):
        return json.loads(self.ask(self.place + "state")[1])

    def page(self, is_wanted=lambda page: True):
        """The first page that is wanted; asks for newer ones as browsers do."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.state()["version"] > 0:
                page = Page(self.ask(self.place)[1])
                if is_wanted(page):
                    return page
            time.sleep(0.1)
        raise SystemExit(f"FAILED: no page that is wanted; memflame said:\n{self.said()}")

    def stop(self):
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        check(time.monotonic() - begin < PATIENCE / 10, "memflame ends soon")
        return self.process.returncode


def leak(process, count):
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    equal("the program", process.stdout.readline(), "done\n")


# ---- a program from its start, and the recording is kept
live = Live("--detail", "events", "--interval", "0.2", "-o", path("run.mfr"), "--", sys.executable, "-c", PROGRAM,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
stalled = socket.create_connection(("127.0.0.1", live.port))
stalled.sendall(f"GET {live.place} HTTP/1.1\r\nHost: 127".encode())

first = live.page()
equal("what the page says of itself", first.facts["live"]["ended"], False)
equal("the file that commands name", first.facts["file"], path("run.mfr"))
check("connect-src 'self'" in first.text and "default-src 'none'" in first.text, "the policy")
check("so far: the run continues" in first.text and "was not finished" not in first.text, "what it says of the end")

answer, text = live.ask(live.place)
equal("the page", (answer.status, answer.getheader("Cache-Control"), answer.getheader("Referrer-Policy")),
      (200, "no-store", "no-referrer"))
equal("localhost", live.ask(live.place, host=f"localhost:{live.port}")[0].status, 200)
other = live.token[:-1] + ("0" if live.token[-1] != "0" else "1")
for place in ("/", "/state", f"/{other}/", f"/{other}/state", f"/{live.token}", f"/{live.token}/../", f"{live.place}x"):
    answer, text = live.ask(place)
    equal(place, answer.status, 404)
    check(live.token not in text and "mf-rows" not in text, "it tells nothing")
for host in ("evil.example", f"evil.example:{live.port}", "127.0.0.1", f"127.0.0.1:{live.port + 1}"):
    equal(host, live.ask(live.place, host=host)[0].status, 403)
for method in ("POST", "HEAD", "PUT", "DELETE"):
    equal(method, live.ask(live.place, method=method)[0].status, 405)
    equal(f"{method} without token", live.ask("/", method=method)[0].status, 404)

COUNT = 50  # more than the interpreter needs for itself
leak(live.process, COUNT)
grown = live.page(lambda page: page.live >= COUNT * BLOCK)
check(grown.seconds > first.seconds and grown.facts["live"]["version"] > first.facts["live"]["version"], "a newer page")
check(b"PyByteArray_Resize" in gzip.decompress(base64.b64decode(grown.data)), "functions have names while the run goes on")

# While nobody asks, nothing is made.
time.sleep(3)
before = live.state()["version"]
time.sleep(6)
leak(live.process, COUNT)
equal("the version after a while without questions", live.state()["version"] - before <= 1, True)
check(live.page(lambda page: page.live >= 2 * COUNT * BLOCK).live >= grown.live, "it goes on")

live.process.stdin.close()
wait_until(lambda: "the run has ended; its report stays at" in live.said(), "the end of the run")
last = live.page(lambda page: page.facts["live"]["ended"])
equal("the state at the end", live.state(), {"version": last.facts["live"]["version"], "ended": True})
check("so far" not in last.text, "the last page is not one so far")
equal("memflame after the run", live.process.poll(), None)
run("report", path("run.mfr"), "-o", path("report.html"))
with open(path("report.html"), encoding="utf-8") as stream:
    report = Page(stream.read())
equal("stacks and their sums", last.data, report.data)
equal("live bytes", last.live, report.live)
equal("the sum that leads to resident memory", last.facts["sums"], report.facts["sums"])
equal("the other page does not ask", "live" in report.facts or "connect-src" in report.text, False)
equal("exit status", live.stop(), 0)
stalled.close()

# ---- blocks are selected as for a file, anew at each renewal
SELECTED = ("--where", f"size >= {BLOCK}", "--where", f"size < {BLOCK + 100}", "--not-through", "nobody")
live = Live("--detail", "events", "--interval", "0.2", *SELECTED, "-o", path("selected.mfr"), "--", sys.executable, "-c",
            PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
text = live.ask(live.place)[1]
check("nothing to show" in text or "begins to record" in text or "mf-rows" in text, "a page before there is a block")
leak(live.process, COUNT)
page = live.page(lambda page: page.live >= COUNT * BLOCK)
equal("only these blocks", page.live, COUNT * (BLOCK + 1))
equal("the options that commands repeat", sorted(page.facts["options"]), sorted(SELECTED))
leak(live.process, COUNT)
page = live.page(lambda page: page.live > COUNT * (BLOCK + 1))
equal("blocks of a later page", page.live, 2 * COUNT * (BLOCK + 1))
live.process.stdin.close()
last = live.page(lambda page: page.facts["live"]["ended"])
run("report", path("selected.mfr"), *SELECTED, "-o", path("selected.html"))
with open(path("selected.html"), encoding="utf-8") as stream:
    report = Page(stream.read())
equal("selected stacks and their sums", last.data, report.data)
equal("the same words", last.facts["options"], report.facts["options"])
equal("what lives at the end", last.live, report.live)
equal("exit status", live.stop(), 0)

# ---- a process that runs, without a file
folder = path("temporary")
os.mkdir(folder)
target = spawn([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
live = Live("--inside", "-p", target.pid, env={**os.environ, "TMPDIR": folder})
leak(target, COUNT)
page = live.page(lambda page: page.live >= COUNT * BLOCK)
equal("no commands can name a recording without a name", page.facts["file"], "")
equal("files with a name", os.listdir(folder), [])
equal("exit status of what Ctrl-C ended", live.stop(), 0)
check("stays at" not in live.said(), "it does not stay")
target.communicate()

# ---- what cannot be
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
taken.listen()
refused = run("report", "--live", "--port", taken.getsockname()[1], "-p", os.getpid(), status=1)
check("Address already in use" in refused.stderr and "--port" in refused.stderr, refused.stderr)
for arguments, words in ((("--port", "70000", "-p", "1"), "--port takes"), ((), "needs a target"),
                         (("-o", "-", "-p", "1"), "leave out"), (("--where", "leaked", "-p", "1"), "add --detail events"),
                         (("--leaked", "-p", "1"), "--leaked selects single blocks"),
                         (("--detail", "events", "--where", "size >", "-p", "1"), "--where")):
    refused = run("report", "--live", *arguments, status=USAGE)
    check(words in refused.stderr, f"{arguments}: {refused.stderr}")
check("--port needs --live" in run("report", "--port", "8000", path("run.mfr"), status=USAGE).stderr, "--port alone")
