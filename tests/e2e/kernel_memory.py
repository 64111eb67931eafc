# SPDX-License-Identifier: BSD-2-Clause
"""memflame kernel: what the kernel allocates and frees for system calls, exact to the object."""
import ctypes
import os
import platform
import re
import subprocess
import sys
import time

from lib import (PATIENCE, REQUIREMENT, SLOW, USAGE, Memflame, check, consistent, equal, losses,
                 path, run, spawn)

FILES = 1000
PIPES, PIPE_PAGES = 100, 16
FILE_PAGES, FILE_PAGES_LEFT = 512, 77
MAPS, MAP_BYTES = 10, 512 * 1024
ELEMENTS = 200


def bpf_map(kind, value_bytes, entries):
    """BPF_MAP_CREATE: kernel memory of known size, per CPU or from vmalloc()."""
    attributes = (ctypes.c_uint32 * 32)(kind, 4, value_bytes, entries)
    fd = ctypes.CDLL(None, use_errno=True).syscall(321, 0, attributes, 72)
    check(fd >= 0, f"a BPF map can be made: {os.strerror(ctypes.get_errno())}")
    return [fd]


def pipe_with_pages():
    read, write = os.pipe()
    os.write(write, b"x" * 4096 * PIPE_PAGES)
    return [read, write]


def file_cut_short():
    """A file in the page cache; truncating it splits large folios, if the kernel uses them."""
    fd = os.open(path("file"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.unlink(path("file"))
    os.write(fd, b"x" * 4096 * FILE_PAGES)
    os.fsync(fd)
    os.ftruncate(fd, 4096 * FILE_PAGES_LEFT)
    return [fd]


WORK = {
    "eventfds": lambda: [os.eventfd(0) for _ in range(FILES)],
    "pipes": lambda: [fd for _ in range(PIPES) for fd in pipe_with_pages()],
    "file": file_cut_short,
    "percpu": lambda: bpf_map(6, 8, ELEMENTS),
    "vmalloc": lambda: [fd for _ in range(MAPS) for fd in bpf_map(2, 8, MAP_BYTES // 8)],
}


def target():
    """Allocates the kinds of memory that it is asked for, one after another, and frees them."""
    held = []
    for word in map(str.strip, sys.stdin):
        if word == "close":
            for fd in held:
                os.close(fd)
            held = []
        elif word:
            held = WORK[word]()
        print("done", flush=True)


class Worker:
    def __init__(self):
        self.process = spawn([sys.executable, __file__, "target"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
        self.say("")  # it runs

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        equal("the worker's answer", self.process.stdout.readline(), "done\n")


def seen(word, *options, close=False):
    """The profile of a worker that does `word` while memflame watches only that worker."""
    worker = Worker()
    memflame = Memflame("kernel", "-p", worker.process.pid, *options)
    worker.say(word)
    if close:
        worker.say("close")
        time.sleep(10 if SLOW else 3)  # what waits for a grace period of RCU, or for a work queue
    memflame.stop()
    worker.process.kill()
    profile, summary = memflame.profile(), memflame.summary()
    consistent(profile, summary)
    # Allocations in interrupts are skipped, and memflame says so.
    lost = losses(summary)
    check(lost.keys() <= {"probe_recursion"}, f"something was lost: {lost}")
    return profile, summary, summary["losses"]["probe_recursion"]["events"]


# Memory that comes with many objects: their accounting, and larger tables of files and numbers.
OWN = {"alloc_slab_obj_exts", "memcg_alloc_slab_cgroups", "expand_files", "ida_alloc_range"}


def values(profile, column, function, leaf):
    """The sum over stacks through a function with this prefix that end in that leaf."""
    index = profile.columns.index(column)
    return sum(row[index] for frames, row in profile.stacks
               if re.fullmatch(leaf, frames[-1]) and not OWN & set(frames)
               and any(frame.startswith(function) for frame in frames))


def near(what, got, wanted, skipped):
    check(abs(got - wanted) <= skipped, f"{what}: got {got}, wanted {wanted} (± {skipped} skipped)")


def objects():
    profile, summary, skipped = seen("eventfds")
    equal("what is drawn", (profile.shown, profile.columns),
          ("live", ["live", "live-count", "total", "total-count"]))
    check(not profile.has("[pages of slab]"), "slab objects alone")
    for leaf, what in ((r"\[slab filp.*\]", "files"), (r"\[kmalloc-\d+.*\]", "contexts of eventfds")):
        near(what, values(profile, "live-count", "do_eventfd", leaf), FILES, skipped)
        near(what, values(profile, "total-count", "do_eventfd", leaf), FILES, skipped)
    size = values(profile, "total", "do_eventfd", r"\[slab filp.*\]") // FILES
    check(128 <= size <= 1024, f"a file's size is plausible: {size}")
    equal("what is compared", [row["name"] for row in summary["reconciliation"]],
          ["Slab growth of the whole system"])

    profile, _, skipped = seen("eventfds", close=True)
    near("files, closed", values(profile, "live-count", "do_eventfd", r"\[slab filp.*\]"), 0,
         skipped)
    near("contexts, closed", values(profile, "live-count", "do_eventfd", r"\[kmalloc-\d+.*\]"), 0,
         skipped)
    near("files that were", values(profile, "total-count", "do_eventfd", r"\[slab filp.*\]"), FILES,
         skipped)


def sizes():
    """An array of 16 buffers of 40 bytes takes an object of 1024."""
    for options, size in (([], 1024), (["--requested"], 640)):
        profile, _, skipped = seen("pipes", *options)
        near(f"arrays of buffers {options}",
             values(profile, "live", "alloc_pipe_info", r"\[kmalloc-1024\]"), PIPES * size,
             skipped * size)


def pages():
    profile, _, skipped = seen("pipes", "--kind", "pages")
    wanted = PIPES * PIPE_PAGES
    writes = lambda profile, column: sum(
        values(profile, column, name, r"\[pages order 0\]") for name in ("pipe_write", "anon_pipe_write"))
    near("pages in pipes", writes(profile, "live-count"), wanted, skipped)
    near("bytes in pipes", writes(profile, "live"), wanted * 4096, skipped * 4096)

    profile, _, skipped = seen("pipes", "--kind", "pages", close=True)
    near("pages in pipes, closed", writes(profile, "live-count"), 0, skipped)
    near("pages that were in pipes", writes(profile, "total-count"), wanted, skipped)

    # Each byte counts once: slab objects are included, so the pages that hold them are not.
    profile, summary, skipped = seen("pipes", "--kind", "all")
    near("pages in pipes", writes(profile, "live-count"), wanted, skipped)
    near("arrays of buffers", values(profile, "live", "alloc_pipe_info", r"\[kmalloc-1024\]"),
         PIPES * 1024, skipped * 1024)
    roots = {root for root in profile.roots if not root.startswith("[lost")}
    check(roots <= {"[slab]", "[pages]", "[percpu]", "[vmalloc]", "[pages of vmalloc]"},
          f"groups of memory that is nobody else's: {roots}")
    check(any("left out" in note for note in summary["notes"]), "what is left out is said")


def parts():
    """Pages allocated together and freed in parts."""
    profile, _, skipped = seen("file", "--kind", "pages")
    index = {column: at for at, column in enumerate(profile.columns)}
    rows = [row for frames, row in profile.stacks
            if frames[0] != "[pages of slab]" and "generic_perform_write" in frames]
    near("pages of a file", sum(row[index["total"]] for row in rows), FILE_PAGES * 4096,
         skipped * 4096)
    near("pages left of it", sum(row[index["live"]] for row in rows), FILE_PAGES_LEFT * 4096,
         skipped * 4096)


def percpu():
    cpus = os.sysconf("SC_NPROCESSORS_CONF")
    for options in (["--percpu"], ["--kind", "percpu", "--requested"]):
        profile, _, skipped = seen("percpu", *options)
        function = "array_map_alloc"
        near("per-CPU elements", values(profile, "live-count", function, r"\[percpu\]"), ELEMENTS,
             skipped)
        size = values(profile, "live", function, r"\[percpu\]")
        check(size >= ELEMENTS * 8 * cpus, f"bytes on all CPUs: {size}")
    profile, _, skipped = seen("percpu", "--percpu", close=True)
    near("elements, closed", values(profile, "live-count", "array_map_alloc", r"\[percpu\]"), 0,
         skipped)


def vmalloc():
    if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 2):
        done = run("kernel", "--kind", "vmalloc", "-d", "1", "-o", "/dev/null", status=REQUIREMENT)
        check("alloc_vmap_area" in done.stderr, f"what is missing is named: {done.stderr}")
        return
    profile, _, skipped = seen("vmalloc", "--kind", "vmalloc")
    areas = values(profile, "live-count", "array_map_alloc", r"\[vmalloc\]")
    size = values(profile, "live", "array_map_alloc", r"\[vmalloc\]")
    near("areas", areas, MAPS, skipped)
    check(MAPS * MAP_BYTES <= size <= MAPS * (MAP_BYTES + 8192), f"bytes of areas: {size}")
    profile, _, skipped = seen("vmalloc", "--kind", "vmalloc", close=True)
    near("areas, closed", values(profile, "live-count", "array_map_alloc", r"\[vmalloc\]"), 0,
         skipped)


def whole_system():
    """Without a target all tasks count. If the table is too small, the bytes stay in the picture."""
    worker = Worker()
    memflame = Memflame("kernel", "--max-live", 64)
    worker.say("eventfds")
    memflame.stop()
    profile, summary = memflame.profile(), memflame.summary()
    consistent(profile, summary)
    lost = summary["losses"]["live_table_full"]
    check(lost["events"] > FILES, f"the table was full: {lost}")
    check(profile.has("[lost: live table full]"), "what was lost is in the picture")
    check(values(profile, "total-count", "do_eventfd", r"\[slab filp.*\]") >= FILES - 50,
          "totals need no table")
    check(not profile.has("python3"), "stacks belong to no process")
    worker.process.kill()


def command_line():
    for arguments, said in ((["--kind", "nonsense"], "takes slab, pages"),
                            (["--percpu", "--kind", "slab"], "are mutually exclusive"),
                            (["--per-pid"], "per-pid")):
        done = run("kernel", *arguments, "-d", "1", "-o", "/dev/null", status=USAGE)
        check(said in done.stderr, f"{arguments}: {done.stderr}")


if __name__ == "__main__":
    if sys.argv[1:] == ["target"]:
        target()
        sys.exit()
    for case in (command_line, objects, sizes, pages, parts, percpu, vmalloc, whole_system):
        case()
