# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end cases share: start a target, attach memflame, stop it, read its output.

A case is a script that ends normally when all is well. $MEMFLAME is the binary under test, $EXAMPLES
the folder of the example programs, $MEMFLAME_KERNEL_BOOT is set where the CPU is emulated.
"""

import atexit
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

if os.geteuid() != 0:
    print("SKIPPED: BPF needs root")
    sys.exit(77)

# Under sudo, memflame would run commands as the user who called sudo.
for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"):
    os.environ.pop(name, None)

MEMFLAME = os.path.abspath(os.environ["MEMFLAME"])
EXAMPLES = os.path.abspath(os.environ["EXAMPLES"])
SLOW = "MEMFLAME_KERNEL_BOOT" in os.environ
LONG = "MEMFLAME_LONG_TESTS" in os.environ  # scripts/test full
PATIENCE = 300 if SLOW else 150  # seconds until something is taken for hanging

USAGE, REQUIREMENT, LOSSY, COMMAND_FAILED, NOT_EXECUTABLE, NOT_FOUND = 2, 3, 4, 125, 126, 127

# Programs that fork: their children are only exact with probes from their first instruction.
FORKING = {"alloc_truth", "alloc_truth_static", "alloc_checks", "forker", "life"}

scratch = tempfile.mkdtemp(prefix="memflame-e2e-")
os.chmod(scratch, 0o777)  # commands run as another user write here too
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
_started = []
_programs = {}  # by pid


@atexit.register
def _end_everything():
    for process in _started:
        if process.poll() is None:
            process.kill()


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def equal(what, got, wanted):
    check(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")


def example(name):
    return os.path.join(EXAMPLES, name)


def path(name):
    return os.path.join(scratch, name)


def spawn(arguments, **options):
    process = subprocess.Popen(arguments, **options)
    _started.append(process)
    return process


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def own_libraries(program):
    """An environment with copies of an example's libraries. Other tracers may have probes in the system's
    libraries; in the copies, only memflame changes code."""
    listed = subprocess.run([example(program)], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"},
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    folder = path("own")
    os.makedirs(folder, exist_ok=True)
    for library in re.findall(r"=> (/\S+)", listed):
        shutil.copy(library, folder)
    check(os.listdir(folder), f"libraries of {program}: {listed}")
    return {**os.environ, "LD_LIBRARY_PATH": folder}


def wait_until(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"{what}: not after {seconds} s")
        time.sleep(0.02)


def by_kernel(probe, arguments):
    """The arguments with the collector named: cases are about the kernel's, unless they say so, while memflame takes
    the one inside for a command if that can do what is asked for."""
    chosen = ("--inside", "--collect", "--probes", "--kernel")
    if probe not in ("alloc", "leaks", "record", "top") or "--" not in arguments or set(chosen) & set(arguments):
        return arguments
    return ("--collect", "kernel", *arguments)


class Target:
    """An example program that waits for a word before it begins and before it ends."""

    def __init__(self, program, *arguments, executable=None, **options):
        self.process = spawn([executable or example(program), *arguments, "--wait"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.pid = self.process.pid
        _programs[self.pid] = program
        equal(f"{program} says that it is ready", self.process.stdout.readline(),
              f"ready {self.pid}\n")

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def truth(self):
        """The figures that the program states when its work is done."""
        text = ""
        for line in self.process.stdout:
            if line == "done\n":
                return json.loads(text)
            text += line
        raise SystemExit(f"FAILED: the target ended early, after printing {text!r}")

    def work(self):
        self.begin()
        return self.truth()

    def end(self):
        self.process.communicate("leave\n", timeout=PATIENCE)
        equal("exit status of the target", self.process.returncode, 0)


class Profile:
    """A profile in JSON: inclusive sums by frame name."""

    def __init__(self, file):
        with open(file, encoding="utf-8") as stream:
            document = json.load(stream)
        equal("format", (document["format"], document["version"]), ("memflame-profile", 1))
        self.columns = [column["name"] for column in document["value_types"]]
        self.shown = self.columns[document["shown"]]
        self.stacks = [(stack["frames"], stack["values"]) for stack in document["stacks"]]
        self.roots = {frames[0] for frames, _ in self.stacks}
        self.title = document["title"]
        self.file = file

    def sum(self, column, *names):
        """The sum over all stacks that have all of these frames."""
        index = self.columns.index(column)
        return sum(values[index] for frames, values in self.stacks
                   if all(name in frames for name in names))

    def has(self, name):
        return any(name in frames for frames, _ in self.stacks)

    def marked(self, column, prefix):
        """The sum over all stacks with a frame that begins with this text, such as "[lost: "."""
        index = self.columns.index(column)
        return sum(values[index] for frames, values in self.stacks
                   if any(frame.startswith(prefix) for frame in frames))

    def compare(self, section, *names, columns=None):
        """Checks that each function of a truth section has exactly the figures that the program states."""
        wrong, compared = [], 0
        for function, figures in section.items():
            for key, wanted in figures.items():
                column = key.replace("_", "-")
                if column not in (columns or self.columns):
                    continue
                compared += 1
                got = self.sum(column, function, *names)
                slack = wanted // 2 + 8 if "approximate" in figures else 0
                if abs(got - wanted) > slack:
                    wrong.append(f"{function} {column}: got {got}, wanted {wanted}")
        check(compared, "nothing was compared")
        check(not wrong, "figures that differ:\n  " + "\n  ".join(wrong))


class Memflame:
    """memflame running beside a target. Its output is in `folder`. `wait`: until it counts (--ready-fd). `prefix`: a
    program that executes it. `by_rights`: memflame chooses the collector."""

    counter = 0

    def __init__(self, probe, *arguments, output="json", folder=scratch, wait=True, prefix=(), by_rights=False,
                 **options):
        Memflame.counter += 1
        self.output = os.path.join(folder, f"{Memflame.counter}.{output}")
        self.summary_file = path(f"{Memflame.counter}.summary")
        ready, write_end = os.pipe()
        if (probe == "alloc" and any(_programs.get(word) in FORKING for word in arguments)
                and not any("-children" in str(word) for word in arguments)):
            arguments = ("--children", "exact", *arguments)
        if not by_rights:
            arguments = by_kernel(probe, arguments)
        # A command goes last, behind memflame's own options.
        own = ["-o", self.output, "--summary", self.summary_file, "--ready-fd", str(write_end)]
        self.errors = open(path(f"{Memflame.counter}.stderr"), "w+", encoding="utf-8")
        self.process = spawn([*prefix, MEMFLAME, probe, *own, *map(str, arguments)], stderr=self.errors,
                             pass_fds=[write_end], **options)
        os.close(write_end)
        if wait:
            readable, _, _ = select.select([ready], [], [], PATIENCE)
            said = os.read(ready, 2) if readable else b""
            if not said:
                self.process.kill()
                self.process.wait()
            check(said, f"memflame {probe} did not get ready: {self.stderr()}")
        os.close(ready)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def wait(self, status=0):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise SystemExit("FAILED: memflame hangs") from None
        equal(f"exit status of memflame, which said:\n{self.stderr()}\n", self.process.returncode,
              status)
        return self

    def stop(self, status=0):
        self.process.send_signal(signal.SIGINT)
        return self.wait(status)

    def profile(self):
        return Profile(self.output)

    def summary(self):
        with open(self.summary_file, encoding="utf-8") as stream:
            return json.load(stream)


def losses(summary, kind="lost"):
    """The counters of a kind that are not 0: "lost", "cut" (stacks) or "news"."""
    return {name: count for name, count in summary["losses"].items()
            if count["kind"] == kind and (count["events"] or count["bytes"])}


def consistent(profile, summary):
    """Checks that the books balance: totals are the sums of the stacks, lost bytes have a frame, and the
    counted cut stacks are those under their mark in the picture."""
    for column in profile.columns:
        equal(f"total of {column}", summary["totals"][column], profile.sum(column))
    equal("kinds of losses", {count["kind"] for count in summary["losses"].values()},
          {"lost", "cut", "news"})
    for kind in ("lost", "cut"):
        equal(f"{kind} in all", summary[f"{kind}_events"],
              sum(count["events"] for count in losses(summary, kind).values()))
    scale = {"bytes": 1, "pages": 4096}.get(summary["units"][profile.shown], 0)
    equal("bytes of cut stacks", summary["cut_bytes"],
          scale * profile.marked(profile.shown, "[truncated: "))
    for column in {"total-count", "calls"} & set(profile.columns):
        equal(f"cut stacks in {column}", summary["cut_events"],
              profile.marked(column, "[truncated: "))


def lossless(profile, summary):
    consistent(profile, summary)
    check(not losses(summary), f"something was lost: {losses(summary)}")
    for column in profile.columns:
        equal(f"{column} under [lost: …]", profile.marked(column, "[lost: "), 0)


def observe(probe, program, *options, arguments=(), before=None, after=None):
    """A whole run: the target works while memflame watches, and then both end."""
    target = Target(program, *arguments)
    if before:
        before(target.pid)
    memflame = Memflame(probe, "-p", target.pid, *options)
    truth = target.work()
    if after:
        after(target.pid)
    memflame.stop()
    target.end()
    return memflame.profile(), memflame.summary(), truth


def window_heads(folder, service="*"):
    """The heads of windows that `memflame watch` has put into a folder, in the order of time; `profile` is the file of the
    rest."""
    found = []
    for file in glob.glob(f"{folder}/{service}/*/*.json"):
        with open(file, encoding="utf-8") as stream:
            head = json.load(stream)
        head["profile"] = file.removesuffix(".json") + ".pb.gz"
        found.append(head)
    return sorted(found, key=lambda head: head["began_ns"])


def run(*arguments, status=0, timeout=PATIENCE, **options):
    """Runs memflame to its end and returns its output."""
    words = (arguments[0], *by_kernel(arguments[0], arguments[1:]))
    done = subprocess.run([MEMFLAME, *map(str, words)], capture_output=True, text=True, timeout=timeout,
                          check=False, **options)
    equal(f"exit status of {arguments}, which said:\n{done.stderr}\n", done.returncode, status)
    return done
