# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside -p on programs that others wrote, while they work: redis, nginx and a compiler. What they answer and
write is what it is without memflame."""
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from attached import CYCLES, cycle, say, visit
from lib import PATIENCE, check, equal, path, spawn, wait_until


class Client:
    """Asks a server in a thread of its own, without a pause, until it is told to stop."""

    def __init__(self, ask):
        self.ask, self.asked, self.problem, self.stopped = ask, 0, None, False
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        try:
            while not self.stopped:
                self.ask(self.asked)
                self.asked += 1
        except Exception as error:  # what an assertion says belongs to the main thread
            self.problem = error

    def stop(self):
        self.stopped = True
        self.thread.join(PATIENCE)
        check(self.problem is None and self.asked > CYCLES, f"{self.asked} answers, then {self.problem}")


class Connection:
    """Lines and counted bytes from a server's socket."""

    def __init__(self, place):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(place)
        self.input = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        return self.input.readline().rstrip(b"\r\n")


class Redis:
    """Stores values of many sizes under few names, and reads them back."""

    program = "redis-server"

    def __init__(self):
        place = path("redis.sock")
        self.process = spawn(["redis-server", "--port", "0", "--unixsocket", place, "--save", "", "--dir", path(""),
                              "--activedefrag", "no"], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_until(lambda: os.path.exists(place), "redis")
        self.connection = Connection(place)

    def ask(self, number):
        name, value = f"name:{number % 100}".encode(), f"{number},".encode() * (number % 2000 + 1)
        for words in ((b"SET", name, value), (b"GET", name)):
            self.connection.send(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        equal("answer to SET", self.connection.line(), b"+OK")
        equal("length of the value", self.connection.line(), b"$%d" % len(value))
        check(self.connection.input.read(len(value) + 2) == value + b"\r\n", f"value {number} is another one")

    def end(self):
        self.process.terminate()
        equal("exit status of redis", self.process.wait(PATIENCE), 0)


class Nginx:
    """Serves a file, in a worker process, to a client that connects anew each time."""

    program = "nginx"

    def __init__(self):
        folder = path("nginx")
        os.makedirs(f"{folder}/logs")
        self.place, self.content = f"{folder}/socket", os.urandom(40_000)
        with open(f"{folder}/file", "wb") as file:
            file.write(self.content)
        with open(f"{folder}/conf", "w", encoding="utf-8") as file:
            file.write(f"""daemon off; user root; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen unix:{self.place}; root {folder}; }} }}
""")
        self.process = spawn(["nginx", "-p", folder, "-c", f"{folder}/conf"])
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        wait_until(lambda: os.path.exists(self.place) and open(children, "rb").read(), "nginx")
        with open(children, encoding="ascii") as file:
            self.pid = int(file.read().split()[0])

    def ask(self, _):
        connection = Connection(self.place)
        connection.send(b"GET /file HTTP/1.0\r\n\r\n")
        answer = connection.input.read()
        check(answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n" + self.content), answer[:200])
        connection.socket.close()

    def end(self):
        self.process.terminate()
        equal("exit status of nginx", self.process.wait(PATIENCE), 0)


class Compiler:
    """One compilation after the other; memflame comes into each as often as it can."""

    templates = """
template <int n> struct List { int head; List<n - 1> tail; int sum() const { return head + tail.sum(); } };
template <> struct List<0> { int sum() const { return 0; } };
template <int n> int work(int x) { List<n % 40> list{}; for (int i = 0; i < x; ++i) x += list.sum() * n; return x; }
"""

    def __init__(self):
        with open(path("source.cc"), "w", encoding="utf-8") as file:
            file.write(self.templates + "".join(f"int call_{n}(int x) {{ return work<{n}>(x); }}\n" for n in range(1500)))
        program = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
        self.command = [program.stdout.strip(), "-quiet", "-O1", path("source.cc"), "-o"]
        began = time.monotonic()
        subprocess.run([*self.command, path("expected.s")], check=True)
        self.seconds = time.monotonic() - began
        self.begin()

    def begin(self):
        self.process = spawn([*self.command, path("written.s")])
        self.pid, self.began = self.process.pid, time.monotonic()
        time.sleep(0.05)  # it loads its libraries

    def end(self):
        equal("exit status of the compiler", self.process.wait(PATIENCE), 0)
        equal("what it has written", digest(path("written.s")), digest(path("expected.s")))

    def cycle(self, count):
        visits = []
        while len(visits) < count:
            if time.monotonic() - self.began > self.seconds / 2:
                self.end()
                self.begin()
            visits.append(visit(self))
        self.end()
        say(visits)


def digest(name):
    with open(name, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


missing = []
for server in (Redis, Nginx):
    if not shutil.which(server.program):
        missing.append(server.program)
        continue
    print(server.__name__)
    started = server()
    client = Client(started.ask)
    cycle(started, CYCLES)
    client.stop()
    print(f"{client.asked:,} answers")
    started.end()
if shutil.which("g++"):
    print("Compiler")
    Compiler().cycle(CYCLES)
if missing:
    print(f"SKIPPED: {', '.join(missing)} not installed")
    sys.exit(77)
