# SPDX-License-Identifier: BSD-2-Clause
"""The commands of docs/leak-hunting.md give the answers that the page states, on the bundled examples.

The commands are read from the page, so it cannot differ from what is tested. Their durations are halved, and the
server works twice as fast; scripts/test full takes them as they are.
"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

from lib import EXAMPLES, LONG, MEMFLAME, PATIENCE, Profile, check, equal, example, path, scratch, spawn, wait_until

SCALE = 1 if LONG else 0.5
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/leak-hunting.md")
LEAK, CACHE = "server::Journal::begin", "server::PageCache::load"

with open(PAGE, encoding="utf-8") as stream:
    page = [match[1] for match in re.finditer(r"^    (?:sudo )?(memflame .*)$", stream.read(), re.M)]
left = list(page)


def scaled(command, factor):
    """With its durations multiplied; verdicts take the seconds that they take, so a short server works faster."""
    def times(match):
        return f"{match[1]}{float(match[2]) * factor:g}{match[3]}"
    command = re.sub(r"(\b)(\d+)(s\b)", times, command)
    command = re.sub(r"(-d )(\d+)()", times, command)
    command = re.sub(r"(memflame leaks )(\d+)( )", times, command)
    return re.sub(r"(cache_server )(\d+)()", lambda match: f"{times(match)} {round(2000 / factor)}", command)


def start(command, factor=SCALE, **words):
    """Starts a command of the page. The page's words for things that readers have are replaced."""
    check(command in left, f"docs/leak-hunting.md has no command {command!r} that was not run yet; it has {page}")
    left.remove(command)
    line, _, output = scaled(command, factor).partition(" > ")
    arguments = [words.get(word, word) for word in shlex.split(line)]
    arguments = [word.replace("build/examples", EXAMPLES) for word in arguments]
    arguments[0] = MEMFLAME
    with open(path(output) if output else os.devnull, "w", encoding="utf-8") as stdout, \
         open(path(f"{len(left)}.stderr"), "w", encoding="utf-8") as stderr:
        process = spawn(arguments, cwd=scratch, stdout=stdout if output else subprocess.PIPE, stderr=stderr,
                        text=True)
    process.said, process.command = path(f"{len(left)}.stderr"), command
    return process


def finish(process, status=0):
    """Its standard output."""
    text = process.communicate(timeout=PATIENCE)[0]
    with open(process.said, encoding="utf-8") as stream:
        equal(f"exit status of {process.command!r}, which said:\n{stream.read()}\n", process.returncode, status)
    return text


def run(command, status=0, factor=SCALE, **words):
    return finish(start(command, factor, **words), status)


def memflame(*arguments):
    return subprocess.run([MEMFLAME, *arguments], cwd=scratch, capture_output=True, text=True, check=True,
                          timeout=PATIENCE).stdout


def read(name):
    with open(path(name), encoding="utf-8") as stream:
        return stream.read()


def profile(*arguments):
    memflame(*arguments, "--format", "json", "-o", "profile.json")
    return Profile(path("profile.json"))


def bytes_under(of, column, function):
    index = of.columns.index(column)
    return sum(values[index] for frames, values in of.stacks if any(frame.startswith(function) for frame in frames))


# All that takes time at once.
shutil.copy(example("leaky"), path("worker"))
grows = spawn([path("worker"), "400"])
os.mkdir(path("calm"))
shutil.copy(example("cache_server"), path("calm/worker"))
calm = spawn([path("calm/worker"), "400", "20"])
# It touches its buffer in its first seconds, so it begins when the recording has.
leaky = spawn(["/bin/sh", "-c", 'read begin; exec "$0" 400', example("leaky")], stdin=subprocess.PIPE, text=True)
after = spawn([MEMFLAME, "record", "-o", "after.mfr", "--", example("leaky"), "24"], cwd=scratch,
              stderr=subprocess.DEVNULL)
live = start("memflame leaks 65 1 -- build/examples/cache_server 70")
picture = start("memflame alloc --verdicts on -d 65 -o server.svg -- build/examples/cache_server 70")
record = start("memflame record -o server.mfr -- build/examples/cache_server 60")
all_probes = start("memflame record --probes alloc,brk,mmap,fault -p PID -d 60 -o all.mfr", PID=str(leaky.pid))
of_comm = start("memflame leaks --comm worker --sort growth")
per_pid = start("memflame alloc --comm worker --per-pid -d 60 -o workers.svg")
wait_until(lambda: os.path.exists(path("all.mfr")), "the recording of all probes")
leaky.stdin.write("\n")
leaky.stdin.flush()

# Is it a cache or a leak?
report = finish(live)
stacks = [stack for stack in report.split("\n\n") if "[cache_server]" in stack]
check(re.search(r"^  1 stack leaks [\d.]+ KiB/s", report, re.M), f"one stack leaks: {report}")
check(LEAK in stacks[0] and re.search(r"leak: (1\.[5-9]|2\.\d) % of the blocks never come back", stacks[0]),
      f"the note comes first: {report}")
cached = [stack for stack in stacks if CACHE in stack]
check(cached and any("    cache or pool: full since " in stack for stack in cached), f"the cache is one: {report}")
finish(picture)
caption = re.findall(r'<text class="leak"[^>]*>([^<]*)', read("server.svg"))
check(caption and caption[0].startswith("leak: ") and LEAK in "".join(caption), f"the first line: {caption}")
check(re.search(r'class="flag"[^>]*>leak ', read("server.svg")), "the boxes are marked")

# When did it begin, and did anything come back?
finish(record)
whole = profile("render", "server.mfr")
served, due = bytes_under(whole, "total-count", LEAK), 60 * 2000
if served < 0.7 * due:
    print(f"SKIPPED: this machine is too busy: the server handled {served:,} of {due:,} requests")
    sys.exit(77)
run("memflame timeline server.mfr")
lines = {line["name"]: line for line in json.loads(memflame("timeline", "--format", "json", "server.mfr"))["lines"]}


def half_way(function):
    """What the stack had after half of the recording, as a part of its maximum."""
    line = next(line for name, line in lines.items() if name.startswith(function))
    points = [(time, value) for time, value in line["points"] if value is not None]
    middle = max(time for time, _ in points) / 2
    return max(value for time, value in points if time <= middle) / line["most"]


check(half_way(CACHE) > 0.95, f"the cache stays level: {lines[CACHE] if CACHE in lines else list(lines)}")
# A busy machine may slow the server down.
check(0.1 < half_way(LEAK) < 0.9, f"the leak rises to the end: {half_way(LEAK)}")
run("memflame render server.mfr --between 20s..50s > grown.svg")
check("<svg" in read("grown.svg"), "a picture")
between = f"{20 * SCALE:g}s..{50 * SCALE:g}s"
grown = profile("render", "server.mfr", "--between", between)
check(bytes_under(grown, "live", LEAK) > 5 * abs(bytes_under(grown, "live", CACHE)),
      f"the full cache did not grow: {grown.stacks}")
run("memflame render server.mfr --between 20s..30s --view survivors > left.svg")
check("<svg" in read("left.svg"), "a picture")
survivors = profile("render", "server.mfr", "--between", f"{20 * SCALE:g}s..{30 * SCALE:g}s", "--view", "survivors")
leaked = bytes_under(survivors, survivors.shown, LEAK)
check(leaked > 0.9 * survivors.sum(survivors.shown), f"the notes still live: {survivors.stacks}")
check(0.6 < leaked / (480 * 0.02 * 2000 * 10) < 1.5, f"those of ten seconds: {leaked}")

# Resident memory grows, but the allocator's figures do not
finish(all_probes)
run("memflame timeline all.mfr")
names = {line["name"] for line in json.loads(memflame("timeline", "--format", "json", "all.mfr"))["lines"]}
check({"resident", "live", "brk-grown", "mmap-outstanding", "fault-gained"} <= names, f"all figures: {names}")
run("memflame render all.mfr --value fault-gained > rss.svg")
run("memflame render all.mfr --value mmap-outstanding > mapped.svg")
# The compiler may make memset() the last jump of ImageBuffer::render_tile().
check(re.search("render_tile|memset", read("rss.svg")), "who touched the buffer's pages")
check("ImageBuffer" in read("mapped.svg") and "RequestParser" not in read("mapped.svg"), "who mapped it")

# Does a change bring a leak?
run("memflame leaks --fail-on leak --report leaks.xml -- ./test", 5, **{"./test": example("leaky")})
check("transcript_create" in read("leaks.xml"), "the report names the leak")
equal("exit status of the recording", after.wait(PATIENCE), 0)
shutil.copy(path("server.mfr"), path("before.mfr"))
run("memflame leaks --from after.mfr --fail-on leak --baseline before.mfr", 5)
memflame("leaks", "--from", "after.mfr", "--fail-on", "leak", "--baseline", "after.mfr")

# One process of many
finish(per_pid)
for process in grows, calm:
    check(f"(pid {process.pid})" in read("workers.svg"), "each process has a box")
of_comm.send_signal(signal.SIGINT)
last = finish(of_comm).split(" live in ")[-1]
first = re.search(r", worker \((\d+)\)", last)
check(first and int(first[1]) == grows.pid, f"the one that grows comes first: {last}")

# Two runs, or two versions
run("memflame diff before.mfr after.mfr > change.svg")
check("transcript_create" in read("change.svg") and LEAK in read("change.svg"), "both are in it")
run("memflame diff server.mfr --at 20s --at 50s > grown.svg")
check(LEAK in read("grown.svg"), "what grew")
run("memflame render before.mfr --between 60s..120s --format json -o before.json", factor=0.15)
run("memflame render after.mfr --between 60s..120s --format json -o after.json", factor=0.15)
check(bytes_under(Profile(path("before.json")), "live", LEAK) > 0, "the leak grew")
check(bytes_under(Profile(path("after.json")), "live", "server::SessionCache") > 0, "the other leak grew")
run("memflame diff before.json after.json > change.svg")
check("transcript_create" in read("change.svg"), "what the second has more of")

for process in grows, calm, leaky:
    process.kill()
equal("commands of the page that were not run", left, [])
