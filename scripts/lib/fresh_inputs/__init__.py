# SPDX-License-Identifier: BSD-2-Clause
"""What the modules of scripts/fresh-inputs share. A module is one tool:

    PACKAGES = ["valgrind"]            # Debian packages with the tool

    def check(work):
        program = work.compile("leaker", SOURCE)             # a C++ program, or with language="c"
        work.run(["valgrind", …, program])                   # in the working folder
        work.same("live bytes", work.total("massif.out", "heap"), 12345)
"""

import os
import shutil
import subprocess
import tempfile


class Work:
    """The working folder of one tool, and what it found."""

    def __init__(self, tool, build, keep):
        self.tool = tool
        self.memflame = os.path.join(os.path.abspath(build), "cli", "memflame")
        self.kept = keep is not None
        self.folder = os.path.join(os.path.abspath(keep), tool) if keep else tempfile.mkdtemp()
        self.statements = self.failed = 0

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        return self

    def __exit__(self, *error):
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run(self, command, timeout=300, check=True, **more):
        """Output of a command as (standard output, standard error)."""
        done = subprocess.run(command, cwd=self.folder, timeout=timeout, capture_output=True,
                              text=True, errors="replace", **more)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout, done.stderr

    def compile(self, name, source, language="c++", flags=("-g", "-O1", "-fno-omit-frame-pointer")):
        path = self.write(name + (".c" if language == "c" else ".cc"), source)
        self.run(["gcc" if language == "c" else "g++", *flags, "-o", self.path(name), path, "-ldl",
                  "-lpthread"])
        return self.path(name)

    def collapse(self, name, *options):
        """Folded text of an input, without the header."""
        text, _ = self.run([self.memflame, "collapse", *options, self.path(name)])
        return [line for line in text.splitlines() if not line.startswith("# ")]

    def totals(self, name, *options):
        """Column -> total, as numbers: what --list prints."""
        text, _ = self.run([self.memflame, "collapse", "--list", *options, self.path(name)])
        rows = (line.split("\t") for line in text.splitlines())
        return {row[0]: float(row[2]) if "." in row[2] else int(row[2]) for row in rows}

    def total(self, name, column, *options):
        return self.totals(name, *options)[column]

    def same(self, what, ours, theirs, within=0):
        """States that two figures are equal, or differ by at most `within`."""
        good = abs(ours - theirs) <= within if isinstance(ours, (int, float)) else ours == theirs
        self.statements += 1
        self.failed += not good
        print(f"{self.tool:14} {what:40} {ours!s:>18} {theirs!s:>18}  {'same' if good else 'DIFFERS'}",
              flush=True)

    def skip(self, why):
        print(f"{self.tool}: SKIPPED: {why}", flush=True)
