# SPDX-License-Identifier: BSD-2-Clause
"""Programs without symbols: each function has one name, the address where it begins, which is also a start in
readelf's list of the unwind tables."""
import glob
import os
import re
import shutil
import subprocess
import sys

from lib import Memflame, check, path

WORK_CC = """
#include <map>
#include <string>
int main() { return static_cast<int>(std::map<std::string, std::string>{{"a", "b"}}.size()); }
"""
WORK_RB = """
h = {}
2_000.times { |i| h["key#{i}"] = [i, i.to_s * 3, { n: i }] }
text = h.map { |k, v| "#{k}=#{v.inspect}" }.join("\\n")
text.scan(/(\\d+)=\\[/) { |m| h.delete(m[0]) }
puts Marshal.load(Marshal.dump(h)).size, text.gsub(/\\d/) { |d| d.succ }.size, h.keys.sort_by(&:size).size
"""


def starts_of(file):
    text = subprocess.run(["readelf", "--debug-dump=frames", file], capture_output=True, text=True,
                          check=True, env={**os.environ, "DEBUGINFOD_URLS": ""}).stdout
    return {int(start, 16) for start, end in re.findall(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)
            if start != end}


def repository():
    folder = path("repository")
    os.mkdir(folder)

    def run(*words):
        subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL)

    run("init", "-q")
    for commit in range(20):
        for number in range(20):
            with open(os.path.join(folder, f"file{number}"), "a", encoding="utf-8") as file:
                file.write(f"line {commit} {number}\n" * 20)
        run("add", ".")
        run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", f"commit {commit}")
    return ["git", "-C", folder, "log", "-p", "--stat"]


def compiled():
    with open(path("work.cc"), "w", encoding="utf-8") as file:
        file.write(WORK_CC)
    return ["g++", "-O1", "-c", path("work.cc"), "-o", path("work.o")]


def script():
    with open(path("work.rb"), "w", encoding="utf-8") as file:
        file.write(WORK_RB)
    return ["ruby", path("work.rb")]


def first(pattern):
    return next(iter(sorted(glob.glob(pattern))), None)


PROGRAMS = (
    (shutil.which("git"), repository),
    (first("/usr/lib/gcc/x86_64-linux-gnu/*/cc1plus"), compiled),
    (first("/usr/lib/x86_64-linux-gnu/libruby-*.so.*.*.*") if shutil.which("ruby") else None, script),
)


def is_stripped(file):
    sections = subprocess.run(["readelf", "-SW", file], capture_output=True, text=True, check=True)
    return " .symtab " not in sections.stdout


seen = 0
for file, work in PROGRAMS:
    if file is None or not is_stripped(file):
        continue
    with open(path("output"), "wb") as output:
        memflame = Memflame("alloc", "--value", "total", "--", *work(), stdout=output)
        memflame.wait()
    base = re.escape(os.path.basename(file))
    name = re.compile(rf"\[{base}\+0x([0-9a-f]+)\]")
    frames = {frame for frames, _ in memflame.profile().stacks for frame in frames}
    named = {int(found[1], 16) for frame in frames if (found := name.match(frame))}
    starts = starts_of(file)
    wrong = sorted(hex(address) for address in named - starts)
    check(not wrong, f"{file}: {len(wrong)} of {len(named)} names are not of a function: {wrong[:9]}")
    check(len(named) > 50, f"{file}: only {len(named)} functions")
    print(f"{file}: {len(named)} names, each a function of {len(starts)}")
    seen += 1
if seen == 0:
    print("SKIPPED: no stripped git, ruby or cc1plus")
    sys.exit(77)
