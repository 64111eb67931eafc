# SPDX-License-Identifier: BSD-2-Clause
"""Each refusal is one line that names cause and remedy, and leaves no file."""
import os
import shutil
import struct
import subprocess

from lib import MEMFLAME, REQUIREMENT, USAGE, check, equal, path, run, scratch, spawn

OUTPUT, SUMMARY = path("none.svg"), path("none.summary")


def refused(status, hint, *arguments, **options):
    done = run(*arguments[:1], "-o", OUTPUT, "--summary", SUMMARY, *arguments[1:], status=status,
               **options)
    lines = done.stderr.splitlines()
    equal(f"{arguments}: lines on stderr: {lines}", len(lines), 1)
    check(lines[0].startswith("memflame: "), f"says who it is: {lines[0]}")
    check(any(word in lines[0].lower() for word in hint), f"{lines[0]!r} has one of {hint}")
    equal(f"{arguments}: output", done.stdout, "")
    for file in (OUTPUT, SUMMARY):
        equal(f"{arguments}: {file} is left behind", os.path.exists(file), False)


# A tiny 32-bit program that calls pause() for ever; it needs no compiler.
code = b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7"  # mov $29,%eax; int $0x80; jmp back
base, size = 0x08048000, 84 + len(code)
with open(path("pause32"), "wb") as stream:
    stream.write(b"\x7fELF\1\1\1" + bytes(9) +
                 struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0) +
                 struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096) + code)
os.chmod(path("pause32"), 0o755)
try:
    narrow = spawn([path("pause32")])
except OSError as error:
    narrow = None
    print(f"this kernel runs no 32-bit programs, so none is refused: {error.strerror}")

with open("/proc/sys/kernel/pid_max", encoding="utf-8") as stream:
    beyond = int(stream.read()) + 1
ended = subprocess.Popen(["true"])
ended.wait()

for probe in ("brk", "mmap", "fault"):
    refused(USAGE, ("follows no blocks",), probe, "--verdicts", "on", "--", "true")
refused(USAGE, ("shows no verdicts",), "alloc", "--format", "folded", "--verdicts", "on", "--", "true")
refused(USAGE, ("marks nothing",), "leaks", "--verdicts", "on", "--", "true")

for probe in ("alloc", "brk", "mmap", "fault"):
    for pid in (ended.pid, beyond):
        refused(1, ["no such process", "no process"], probe, "-p", pid)
    refused(1, ["kernel thread"], probe, "-p", 2)
    if narrow:
        refused(1, ["32-bit"], probe, "-p", narrow.pid)
    for nonsense in ("0", "-1", "abc", "1,,2", "99999999999999999999"):
        refused(USAGE, ["process id"], probe, "-p", nonsense)
    refused(USAGE, ["-p", "--comm"], probe, "-p", os.getpid(), "--comm", "x")
refused(USAGE, ["-p"], "alloc")
for sampling in (["--sample", "4K"], ["--every", "7"], ["--max-overhead", "5"], ["--min-size", "9"]):
    refused(USAGE, ["--check"], "alloc", "--check", *sampling, "--", "/bin/true")
refused(USAGE, ["mutually exclusive"], "alloc", "--sample", "4K", "--every", "7", "--", "/bin/true")
for option, value in (("--sample", "0"), ("--sample", "2G"), ("--sample", "x"), ("--every", "0"),
                      ("--every", "99999999"), ("--max-overhead", "-1"), ("--size", "real")):
    refused(USAGE, [option], "alloc", option, value, "--", "/bin/true")
refused(USAGE, ["alloc", "command"], "nonsense")
refused(USAGE, ["command"], "alloc", "--")

# Only alloc refuses a program that has no allocator to probe.
with open(path("nothing.S"), "w", encoding="utf-8") as stream:
    stream.write(".globl _start\n_start: mov $34,%eax\nsyscall\njmp _start\n")  # pause()
if shutil.which("gcc"):
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", path("nothing"), path("nothing.S")],
                   check=True)
    nothing = spawn([path("nothing")])
    refused(1, ["malloc"], "alloc", "-p", nothing.pid)
    run("brk", "-p", nothing.pid, "-d", "0.2", "-o", path("nothing.json"))
    nothing.kill()
if narrow:
    narrow.kill()

# Without privileges; the binary must be readable for the other user.
shutil.copy(MEMFLAME, path("memflame"))
own = spawn(["sleep", "60"], user="nobody", group="nogroup", extra_groups=[])
for probe in ("brk", "mmap", "fault"):
    refused(USAGE, ("follows no blocks",), probe, "--verdicts", "on", "--", "true")
refused(USAGE, ("shows no verdicts",), "alloc", "--format", "folded", "--verdicts", "on", "--", "true")
refused(USAGE, ("marks nothing",), "leaks", "--verdicts", "on", "--", "true")

for probe, *kernel in (("alloc", "--collect", "kernel"), ("brk",), ("mmap",), ("fault",)):
    done = subprocess.run([path("memflame"), probe, *kernel, "-p", str(own.pid), "-o", path("nobody.svg")],
                          capture_output=True, text=True, check=False, user="nobody",
                          group="nogroup", extra_groups=[], cwd=scratch)
    equal(f"{probe} as nobody: {done.stderr}", done.returncode, REQUIREMENT)
    check("root" in done.stderr or "CAP_" in done.stderr, f"names what is needed: {done.stderr}")
    equal("output file", os.path.exists(path("nobody.svg")), False)
own.kill()

# An output that cannot be written is refused before the run begins.
for file in ("/no/such/folder/x.svg", scratch):
    done = run("brk", "-d", "30", "-o", file, "--format", "svg", status=1)
    check(file in done.stderr, f"names the file: {done.stderr}")

# A container without /sys: the kernel has its type information, but not there.
done = subprocess.run(["unshare", "-m", "sh", "-c", 'umount -l /sys && exec "$0" fault -d 1', MEMFLAME],
                      capture_output=True, text=True, check=False, cwd=scratch)
equal(f"without /sys: {done.stderr}", done.returncode, REQUIREMENT)
check("/sys is not mounted" in done.stderr, f"names /sys: {done.stderr}")
