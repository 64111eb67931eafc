# SPDX-License-Identifier: BSD-2-Clause
"""gdb's backtraces at a breakpoint in malloc are among the stacks that memflame takes there.

gdb goes first: a return probe on malloc replaces the return address that gdb would walk over. Its
breakpoint is at malloc's second instruction, where malloc has a frame of its own.
"""
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

from lib import PATIENCE, Memflame, Target, check, equal, path, spawn, wait_until

if not shutil.which("gdb"):
    print("SKIPPED: gdb is not installed")
    sys.exit(77)

ENOUGH = 40  # different stacks
LEAST = 10

# Runs in gdb. Each stack is a line of JSON: [address, name] of frames, from the inside out.
IN_GDB = """
import gdb, json, os
for command in ["pagination off", "confirm off", "debuginfod enabled off", "backtrace past-main on",
                "backtrace limit 2000", "auto-solib-add on"]:
    gdb.execute("set " + command)
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("handle SIGINT stop noprint nopass", to_string=True)
gdb.execute(f"attach {PID}", to_string=True)
output = open(OUTPUT, "w")
seen = set()

maps = []
for line in open(f"/proc/{PID}/maps"):
    span, rights, offset, _, inode, *file = line.split()
    start, end = (int(part, 16) for part in span.split("-"))
    if file and inode != "0":
        maps.append((start, end, int(offset, 16), file[0]))

def place(address):
    "The file of a function without a name, and where in it the instruction after the call is."
    for start, end, offset, file in maps:
        if start <= address < end:
            return [file, address - start + offset]
    return ["", address]

class InMalloc(gdb.Breakpoint):
    def stop(self):
        stack, frame = [], gdb.newest_frame()
        while frame is not None:
            if frame.type() != gdb.TAILCALL_FRAME:  # not on the stack, but guessed from debug information
                kind = frame.type()
                name = frame.name() if kind != gdb.SIGTRAMP_FRAME else None
                stack.append([frame.pc(), name or place(frame.pc())])
            frame = frame.older()
        addresses = tuple(address for address, _ in stack)
        if addresses not in seen:
            seen.add(addresses)
            output.write(json.dumps(stack) + "\\n")
        return len(seen) >= ENOUGH and ends_here()

def ends_here():
    "Whether nobody sends a signal to end this: one that comes after gdb left would end the program."
    try:
        open(OUTPUT + ".over", "x").close()
    except FileExistsError:
        return False
    return True

malloc = int(gdb.parse_and_eval("(unsigned long)&malloc"))
code = gdb.selected_frame().architecture().disassemble(malloc, count=2)
InMalloc(f"*{code[1]['addr']}")
open(OUTPUT + ".ready", "w").close()
gdb.execute("continue", to_string=True)
output.close()
gdb.execute("delete")
gdb.execute("detach")
open(OUTPUT + ".done", "w").close()
"""


def stacks_by_gdb(pid, work):
    """The distinct stacks at malloc during `work`."""
    output = path(f"gdb-{pid}")
    script = output + ".py"
    with open(script, "w", encoding="utf-8") as stream:
        stream.write(f"PID, OUTPUT, ENOUGH = {pid}, {output!r}, {ENOUGH}\n" + IN_GDB)
    with open(output + ".log", "w+", encoding="utf-8") as log:
        gdb = spawn(["gdb", "-nx", "-q", "-batch", "-x", script], stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, env={**os.environ, "DEBUGINFOD_URLS": ""})

        def is_there(suffix):
            log.seek(0)
            check(gdb.poll() is None or os.path.exists(output + suffix),
                  f"gdb ended early: {log.read()}")
            return os.path.exists(output + suffix)
        wait_until(lambda: is_there(".ready"), "gdb's breakpoint")
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        wait_until(lambda: not worker.is_alive() or is_there(".done"), "the work under gdb")
        with contextlib.suppress(FileExistsError):  # gdb has seen enough and leaves by itself
            open(output + ".over", "x", encoding="utf-8").close()
            os.kill(pid, signal.SIGINT)  # gdb's, which waits for it, not the program's
        gdb.wait(PATIENCE)
        worker.join(PATIENCE)
        check(not worker.is_alive(), "the work does not end without gdb")
    with open(output, encoding="utf-8") as stream:
        return [[(address, name if isinstance(name, str) else nameless(*name))
                 for address, name in json.loads(line)] for line in stream]


@functools.cache
def functions_of(file):
    """The start and end of each function, as readelf prints them."""
    # readelf may complain about other sections, such as links to missing debug files.
    frames = subprocess.run(["readelf", "--debug-dump=frames", file], capture_output=True, text=True,
                            check=False).stdout
    return [(int(start, 16), int(end, 16))
            for start, end in re.findall(r" pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames)]


def nameless(file, address):
    """The names that memflame may give an address: its function's start, main or _start."""
    names = {f"[{os.path.basename(file)}+{start:#x}]"
             for start, end in (functions_of(file) if file else []) if start <= address - 1 < end}
    # The code that a signal handler returns to begins one byte after its entry.
    names |= {f"[{os.path.basename(file)}+{address:#x}]"}
    return sorted(names) + (["main", "_start"] if ".so" not in file else [])


def plain(name):
    """The name without parameters and symbol versions, which the two tools write differently, and without
    the C library's own prefixes: of several names at one address, each tool may choose another."""
    name = name.replace("(anonymous namespace)", "{anonymous}").split("@@")[0]
    name = re.sub(r" \[clone .*\]|\.(cold|part|constprop|isra)\b.*", "", name.split("(")[0])
    return name.removeprefix("__GI_").removesuffix("_impl").lstrip("_")


def is_same(ours, theirs):
    if isinstance(theirs[1], list):
        return ours in theirs[1]
    return plain(ours) == plain(theirs[1])


def compare(what, stacks, profile):
    check(len(stacks) >= LEAST, f"{what}: gdb saw only {len(stacks)} different stacks")
    # Innermost frame first, without the process at the root.
    ours = [list(reversed(frames))[:-1] for frames, _ in profile.stacks]
    missing = []
    for stack in stacks:
        # Both begin in malloc, which has several names.
        if not any(len(frames) == len(stack) and frames[0] == "malloc" and
                   all(map(is_same, frames[1:], stack[1:])) for frames in ours):
            missing.append(stack)

    def shown(stack):
        names = [str(name) for _, name in stack]
        alike = max(ours, key=lambda frames: sum(map(is_same, frames, stack)) -
                    abs(len(frames) - len(stack)))
        return f"gdb   {' < '.join(names)}\n    alike {' < '.join(alike)}"
    check(not missing, f"{what}: {len(missing)} of gdb's {len(stacks)} stacks are not ours:\n  " +
          "\n  ".join(map(shown, missing[:5])))
    print(f"{what}: {len(stacks)} different stacks of gdb's, "
          f"{min(map(len, stacks))} to {max(map(len, stacks))} frames, are all ours")


def an_example():
    first = Target("no_frame_pointer", "alloc")
    stacks = stacks_by_gdb(first.pid, first.work)
    first.end()
    second = Target("no_frame_pointer", "alloc")
    memflame = Memflame("alloc", "-p", second.pid, "--value", "total-count",
                        "--max-depth", "1023")
    second.work()
    memflame.stop()
    second.end()
    compare("no_frame_pointer", stacks, memflame.profile())


SQL = """
create table words(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100)
  insert into words select i, printf('%064d', i) from n;
create index by_word on words(word);
select count(*), max(upper(word)) from words group by id % 3 order by word;
drop table words;
.print done
"""


def sqlite():
    sqlite3 = shutil.which("sqlite3", path="/usr/bin:/bin")
    if not sqlite3:
        print("SKIPPED: sqlite3 is not installed")
        return False
    process = spawn([sqlite3, ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def work():
        process.stdin.write(SQL)
        process.stdin.flush()
        while process.stdout.readline() != "done\n":
            check(process.poll() is None, "sqlite3 ended early")
    for _ in range(2):  # what happens once has happened
        work()
    stacks = stacks_by_gdb(process.pid, work)
    memflame = Memflame("alloc", "-p", process.pid, "--value", "total-count",
                        "--max-depth", "1023")
    for _ in range(2):
        work()
    memflame.stop()
    process.communicate()
    equal("exit status of sqlite3", process.returncode, 0)
    compare("sqlite3", stacks, memflame.profile())
    return True


an_example()
if not sqlite():
    sys.exit(77)
