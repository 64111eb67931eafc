# SPDX-License-Identifier: BSD-2-Clause
"""What the parts of scripts/bench-collapse share: building, measuring, tables."""

import os
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Bench:
    def __init__(self, options):
        self.options = options
        self.memflame = os.path.join(os.path.abspath(options.build), "cli", "memflame")
        self.folder = os.path.abspath(options.folder)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        """A helper of this folder, compiled when it is older than its source."""
        source, program = os.path.join(HERE, name + ".cc"), self.path(name)
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            subprocess.run(["g++", "-O3", "-march=native", "-std=c++20", "-o", program, source], check=True)
        return program

    def made(self, name, command):
        """An input that a command prints, made once."""
        path = self.path(name)
        if not os.path.exists(path):
            with open(path + ".part", "wb") as file:
                subprocess.run(command, stdout=file, check=True)
            os.rename(path + ".part", path)
        return path

    def once(self, command, piped=None):
        """One run: (wall seconds, CPU seconds, peak MiB) of the command itself, not of what feeds it."""
        with open(os.devnull, "r+b") as null:
            feeder = subprocess.Popen(["cat", piped], stdout=subprocess.PIPE) if piped else None
            begin = time.monotonic()
            child = subprocess.Popen(command, stdin=feeder.stdout if feeder else null, stdout=null, stderr=null)
            if feeder:
                feeder.stdout.close()
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            if feeder:
                feeder.wait()
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {child.returncode}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def measure(self, title, size, rows):
        """Rows are (name, command, input of its pipe or None); they take turns. Returns name -> medians."""
        runs = {name: [] for name, _, _ in rows}
        for _ in range(self.options.repeats):
            for name, command, piped in rows:
                runs[name].append(self.once(command, piped))
        found = {name: tuple(map(statistics.median, zip(*values))) for name, values in runs.items()}
        print(f"\n## {title} ({size / 1e6:,.0f} MB)\n")
        print("| what | wall s | CPU s | MB/s of wall | peak MiB |\n|---|---|---|---|---|")
        for name, (wall, cpu, peak) in found.items():
            print(f"| {name} | {wall:.3f} | {cpu:.3f} | {size / 1e6 / wall:,.0f} | {peak:,.1f} |")
        print(flush=True)
        return found

    def ratio(self, found, what, over, column, goal, least=False):
        """A line: `what` takes N times as long as `over` (column 0 wall, 1 CPU)."""
        if what not in found or over not in found:
            return
        value = found[what][column] / found[over][column]
        if least:
            value = 1 / value
        good = value >= goal if least else value <= goal
        kind = ["wall", "CPU", "peak memory"][column]
        print(f"- {what} {'is faster than' if least else 'to'} {over}, {kind}: {value:.2f} x "
              f"(goal {'>=' if least else '<='} {goal}) {'met' if good else 'NOT MET'}", flush=True)
