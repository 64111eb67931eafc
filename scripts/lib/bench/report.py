# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmark scripts print: tables in Markdown, the machine, and goals that are met or missed."""

import os
import re
import statistics
import sys
import time

median = statistics.median


def first_match(file, pattern):
    with open(file, encoding="utf-8") as stream:
        found = re.search(pattern, stream.read(), re.M)
    return found[1] if found else "?"


def machine():
    kernel = os.uname()
    model = first_match("/proc/cpuinfo", r"^model name\s*: (.*)$")
    guest = ", a virtual machine" if "hypervisor" in first_match("/proc/cpuinfo", r"^flags\s*: (.*)$").split() else ""
    memory = int(first_match("/proc/meminfo", r"^MemTotal:\s+(\d+)")) / 2**20
    system = first_match("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)')
    return f"{os.cpu_count()} CPUs ({model}{guest}), {memory:.0f} GiB, {system}, Linux {kernel.release}"


class Report:
    """Lines go to standard output at once, and to the file."""

    def __init__(self, file):
        self.file = open(file, "w", encoding="utf-8")
        self.goals = []
        self.say(f"Measured {time.strftime('%Y-%m-%d')} on {machine()}; load at the start "
                 f"{os.getloadavg()[0]:.1f}.")
        self.say()

    def say(self, line=""):
        print(line, flush=True)
        self.file.write(line + "\n")
        self.file.flush()

    def table(self, *columns):
        self.row(*columns)
        self.say("| --- " + "| ---: " * (len(columns) - 1) + "|")

    def row(self, *cells):
        self.say("| " + " | ".join(map(str, cells)) + " |")

    def goal(self, text, value, most=None, least=None):
        """`value` is None when it could not be measured."""
        if value is None:
            return self.goals.append((text, "n/a", "not measured"))
        met = (most is None or value <= most) and (least is None or value >= least)
        limit = f"at most {most}" if most is not None else f"at least {least}"
        return self.goals.append((f"{text}: {limit}", f"{value:.3g}", "PASS" if met else "MISS"))

    def finish(self):
        self.say()
        self.table("goal", "measured", "")
        for goal in self.goals:
            self.row(*goal)
        self.say()
        self.say(f"Load at the end {os.getloadavg()[0]:.1f}.")


def progress(text):
    print(f"    {text}", file=sys.stderr, flush=True)
