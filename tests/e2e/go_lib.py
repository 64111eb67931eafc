# SPDX-License-Identifier: BSD-2-Clause
"""Programs in Go for the cases on Go's own heap profile."""
import os
import shutil
import subprocess
import sys

from lib import equal, path, spawn

if not shutil.which("go"):
    print("SKIPPED: no Go compiler")
    sys.exit(77)


def build(name, source, *options):
    folder = path(f"go-{name}")
    os.makedirs(folder, exist_ok=True)
    for file, text in (("main.go", source), ("go.mod", "module heap\n\ngo 1.19\n")):
        with open(f"{folder}/{file}", "w", encoding="utf-8") as out:
            out.write(text)
    subprocess.run(["go", "build", *options, "-o", name, "."], cwd=folder, check=True, timeout=600,
                   env={**os.environ, "GOCACHE": path("go-cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"})
    return f"{folder}/{name}"


# One processor of Go's: each keeps the gap to its first sample when the program changes the rate.
def start(program, *arguments, **options):
    process = spawn([program, *arguments], stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": "1"}, **options)
    equal("the program", process.stdout.readline(), "ready\n")
    return process
