# SPDX-License-Identifier: BSD-2-Clause
"""What a process can be traced with. Each attaches to a process that waits, and detaches again."""

import glob
import os
import re
import shutil
import signal
import subprocess
import time

from lib import EXAMPLES, MEMFLAME, Memflame, check, path, spawn

root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
built = os.path.join(os.path.dirname(EXAMPLES), "scripts/lib/bench")
FUNCTIONS = ["malloc", "calloc", "realloc", "free"]
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"


def tool(name):
    file = os.path.join(built, name)
    check(os.path.exists(file), f"{file} is not there: build the target `bench`")
    return file


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library:
    """The C library of a process: where its allocator is in the file."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            line = re.search(r"(\w+)-\w+ r-xp (\w+) \S+ \d+ +(\S*/libc\.so\.6)", maps.read())
        check(line, "the process has no libc.so.6")
        self.path = line[3]
        self.bias = int(line[1], 16) - int(line[2], 16)  # of file offsets
        symbols = output_of("readelf", "-W", "--dyn-syms", self.path)
        # Text of libc begins at the same offset in the file and in memory.
        self.offsets = {name: int(re.search(rf"(\w+) +\d+ FUNC +\w+ +DEFAULT +\d+ {name}@@", symbols)[1], 16)
                        for name in FUNCTIONS}

    def chosen(self, pid):
        """Where memflame puts its probes, as it says itself: bytes behind each function's start."""
        memflame = Memflame("alloc", "-p", pid, "-v").stop()
        line = re.search(rf"probes in {re.escape(self.path)}\b(.*)", memflame.stderr())
        check(line, f"memflame alloc -v names no probes in {self.path}:\n{memflame.stderr()}")
        moved = {}
        for name in FUNCTIONS:
            site = re.search(rf"(?<![\w.]){name}(?:\+(0x[0-9a-f]+|\d+))?(?![\w.])", line[1])
            check(site, f"memflame alloc -v names no {name}: {line[0]}")
            moved[name] = int(site[1] or "0", 0)
        return moved


class Tracer:
    slow = False   # so slow that one repeat, or less work, has to do
    group = ""

    def __init__(self, key, title):
        self.key, self.title = key, title

    def missing(self):
        """Why it cannot be measured here."""
        return ""

    def environment(self):
        """For the process, when it has to be started in another way."""
        return None

    def attach(self, pid):
        pass

    def detach(self):
        """Figures of its own."""
        return {}


class Floor(Tracer):
    """A program of floor.bpf.c, or two."""

    def __init__(self, key, title, work, link, library, moved):
        super().__init__(key, title)
        self.group = key.rsplit("-", 1)[0]
        self.slow = not any(moved.values())
        self.arguments = [work, link, library.path] + [
            f"{name}={library.offsets[name] + moved.get(name, 0):x}" for name in FUNCTIONS]
        self.link = link
        self.process = None

    def missing(self):
        process = self.start()
        said = process.stdout.readline()
        process.communicate()
        return "" if said == "ready\n" else f"the kernel has no {self.link} links for uprobes"

    def start(self):
        return spawn([tool("floor"), tool("floor.bpf.o"), *self.arguments], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def attach(self, pid):
        self.process = self.start()
        check(self.process.stdout.readline() == "ready\n", f"{self.key} did not get ready")

    def detach(self):
        out, _ = self.process.communicate()
        return {"records": int(out)}


class FloorFault(Floor):
    def __init__(self, key, title, tracepoint):
        Tracer.__init__(self, key, title)
        self.arguments = ["empty", "fault", tracepoint]
        self.link = tracepoint

    def missing(self):
        return Floor.missing(self) and f"the kernel has no tracepoint {self.link}"


class Ours(Tracer):
    def __init__(self, key, title, *options, probe="alloc"):
        super().__init__(key, title)
        self.probe, self.options = probe, options
        self.memflame = self.pid = None

    def missing(self):
        text = subprocess.run([MEMFLAME, self.probe, "--help"], check=False, capture_output=True,
                              text=True).stdout
        unknown = [option for option in self.options if option.startswith("--") and option not in text]
        return f"this memflame has no {' '.join(unknown)}" if unknown else ""

    def attach(self, pid):
        self.pid = pid
        self.memflame = Memflame(self.probe, "-p", pid, *self.options)

    def detach(self):
        if os.path.exists(f"/proc/{self.pid}"):  # else it ends by itself
            self.memflame.process.send_signal(signal.SIGINT)
        self.memflame.wait()
        return self.memflame.summary()


class Peer(Tracer):
    """Another tool that puts breakpoints into libc. It does not say when it is ready: its descriptors do."""
    slow = True
    probes = 7  # at least: entry and return of three functions, and the entry of free

    def __init__(self, key, title):
        super().__init__(key, title)
        self.process = None

    def command(self, pid):
        raise NotImplementedError

    def events(self):
        found = 0
        for file in glob.glob(f"/proc/{self.process.pid}/fd/*"):
            try:
                found += "[perf_event]" in os.readlink(file)
            except OSError:
                pass
        return found

    def attach(self, pid):
        with open(path(self.key + ".out"), "w", encoding="utf-8") as out:
            self.process = spawn(self.command(pid), stdout=out, stderr=out,
                                 env={**os.environ, "BPFTRACE_MAP_KEYS_MAX": "1000000"})
        seen, since = 0, time.monotonic()
        while seen < self.probes or time.monotonic() < since + 1:
            with open(path(self.key + ".out"), encoding="utf-8", errors="replace") as out:
                check(self.process.poll() is None, f"{self.key} ended: {out.read()}")
            check(time.monotonic() < since + 60, f"{self.key} has {seen} probes, and no more after a minute")
            time.sleep(0.05)
            now = self.events()
            if now != seen:
                seen, since = now, time.monotonic()

    def detach(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return {}


class Memleak(Peer):
    def __init__(self, file):
        super().__init__("memleak", "bcc memleak")
        self.file = file

    def missing(self):
        if not self.file:
            return "no --memleak PATH was given (docs/benchmarks.md says how to build it)"
        return "" if os.access(self.file, os.X_OK) else f"{self.file} is not a program"

    def command(self, pid):
        return [self.file, "-p", str(pid), "1000000", "1"]


class Bpftrace(Peer):
    def __init__(self):
        super().__init__("bpftrace", "bpftrace live.bt")

    def missing(self):
        return "" if shutil.which("bpftrace") else "not installed: scripts/setup bench"

    def command(self, pid):
        return ["bpftrace", "-p", str(pid), os.path.join(root, "scripts/lib/bench/live.bt")]


class Heaptrack(Tracer):
    """Its library in the process, writing raw data to a file: what makes use of them is not counted."""

    def missing(self):
        return "" if os.path.exists(HEAPTRACK) else "not installed: scripts/setup bench"

    def environment(self):
        return {"LD_PRELOAD": HEAPTRACK, "DUMP_HEAPTRACK_OUTPUT": path("heaptrack.raw")}


class Breakpoints:
    """The first bytes of libc's allocator in a process, in which uprobes are to be seen."""

    def __init__(self, pid):
        library = Library(pid)
        self.places = [library.bias + offset for offset in library.offsets.values()]
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        with open(library.path, "rb") as file:
            text = file.read()
        self.clean = [text[offset:offset + 16] for offset in library.offsets.values()]

    def now(self):
        return [os.pread(self.memory, 16, place) for place in self.places]

    def some(self):
        return self.now() != self.clean
