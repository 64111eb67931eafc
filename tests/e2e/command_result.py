# SPDX-License-Identifier: BSD-2-Clause
"""memflame -- COMMAND: its status and its signal are kept when nothing was counted, the reason is told, and the run
goes on in processes that outlive it."""
import json
import os
import subprocess
import tempfile

from lib import MEMFLAME, PATIENCE, check, equal, path

SOURCE = """#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  if (count > 2)
    sleep(1);
  else if (count > 1)
    raise(SIGSEGV);
  _exit(7);
}
"""
with open(path("silent.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
SILENT, STATIC = path("silent"), path("silent_static")
subprocess.run(["gcc", "-o", SILENT, path("silent.c")], check=True)
subprocess.run(["gcc", "-static", "-s", "-o", STATIC, path("silent.c")], check=True)


def end(*words, status, **options):
    done = subprocess.run([MEMFLAME, *words], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    equal(f"{words}, which said {done.stderr!r}: status", done.returncode, status)
    check("as root" not in done.stderr or "user" in options, f"root is told to become root: {done.stderr!r}")
    return done.stderr


for how in ("inside", "kernel"):
    alloc = ("alloc", "--collect", how)
    said = end(*alloc, "-o", path("empty.json"), "--", SILENT, status=7)
    check(how == "kernel" or f"{SILENT} called no allocator" in said, said)
    with open(path("empty.json"), encoding="utf-8") as stream:
        json.load(stream)
    said = end(*alloc, "-o", path("empty.svg"), "--", SILENT, "x", status=128 + 11)
    check("signal 11 (SIGSEGV)" in said, said)
    with open(path("empty.svg"), encoding="utf-8") as stream:
        check("</svg>" in stream.read(), "a picture")
    end("leaks", "--collect", how, "--", SILENT, status=7)
    # A program that cannot be seen is named, and counts as lost.
    unseen = "linked statically" if how == "inside" else "nothing could be seen of silent_static ("
    said = end(*alloc, "-o", path("unseen.folded"), "--", STATIC, status=7)
    check(unseen in said, said)
    with open(path("unseen.folded"), encoding="utf-8") as stream:
        equal("stacks", [line for line in stream if not line.startswith("#")], [])
    end(*alloc, "--strict", "-o", path("unseen.folded"), "--", STATIC, status=4)
# What was read of no process is not known: it is not 0.
said = end("alloc", "--inside", "--summary", path("unread.json"), "-o", path("unseen.folded"), "--", STATIC, "x", "y",
           status=7)
check("linked statically, resident " in said and "VmRSS growth is not known" in said, said)
with open(path("unread.json"), encoding="utf-8") as stream:
    unread = json.load(stream)
equal("growth that was not read", (unread["reconciliation"][0]["os"], unread["os_growth"]["rss_anon"]), (None, None))
for probe in ("brk", "mmap", "fault"):
    end(probe, "-o", path("empty.folded"), "--", SILENT, status=7)

# Processes that outlive the command: it has their stacks, and the status of the first one.
GO_ON = "(sleep 1; exec awk 'BEGIN { for (i = 0; i < 99999; ++i) words[i] = i }') & exit 3"
for words in (("alloc", "--collect", "inside"), ("alloc", "--collect", "kernel"), ("fault",)):
    output = path("outlived.folded")
    said = end(*words, "-o", output, "--", "sh", "-c", GO_ON, status=3)
    check("the command ended; " in said and "run on: watching" in said or "runs on: watching" in said, said)
    with open(output, encoding="utf-8") as stream:
        check("awk" in stream.read(), f"{words}: the last process is seen")
    said = end(*words, "--no-children", "-o", output, "--", "sh", "-c", GO_ON, status=3)
    check("watching" not in said, said)

# Without rights over a process, the exit code says so.
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o777)
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        for how in ("inside", "kernel"):
            end("alloc", "--collect", how, "-p", str(sleeper.pid), "-o", folder + "/out.svg", status=3,
                user="nobody", env={**os.environ, "HOME": folder})
        sleeper.kill()
