# SPDX-License-Identifier: BSD-2-Clause
"""record: a recording has the figures of a picture, at any time, also when memflame is killed."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from lib import SLOW, USAGE, Memflame, Profile, Target, check, equal, example, path, run, wait_until


def drawn(recording, *options):
    """A recording as render draws it."""
    output = path("drawn.json")
    run("render", recording, "--format", "json", "-o", output, *options)
    return Profile(output)


# Exact: what the target states, as with memflame alloc; and the summary agrees.
for probe, program in (("alloc", "alloc_truth"), ("brk", "brk_truth"), ("mmap", "mmap_truth")):
    target = Target(program)
    memflame = Memflame("record", "--probes", probe, "--interval", "0.1", "-p", target.pid,
                        output="mfr")
    truth = target.work()
    memflame.stop()
    target.end()
    profile = drawn(memflame.output)
    profile.compare(truth["functions"], columns=profile.columns)
    summary = memflame.summary()
    equal(f"totals of {probe}", {name: profile.sum(name) for name in profile.columns},
          {name: summary["totals"][name] for name in profile.columns})
    check("memflame record -p" in json.dumps(json.load(open(profile.file, encoding="utf-8"))),
          "the recording knows its command")

# The system's figures: a process of its own has no more PSS than it has resident, to one reading of both.
target = Target("alloc_truth")
memflame = Memflame("record", "--interval", "0.1", "-p", target.pid, output="mfr")
wait_until(lambda: os.path.exists(memflame.output), "the recording", 200 if SLOW else 30)
with open(f"/proc/{target.pid}/smaps_rollup", encoding="utf-8") as stream:
    kib = {line.split()[0]: int(line.split()[1]) for line in stream if line.endswith(" kB\n")}
target.work()
memflame.stop()
target.end()
lines = {line["name"]: line for line in json.loads(run("timeline", "--format", "json", memflame.output).stdout)["lines"]}
check({"resident", "PSS"} <= set(lines), f"the system's figures: {sorted(lines)}")
values = {value for _, value in lines["PSS"]["points"] if value is not None}
check(values, "PSS was read")
check(len(values) <= 1 or SLOW, f"PSS holds for 10 s: {values}")
slack = 1 << 20  # the kernel's counters lag behind
for value in values:
    check(0 < value <= lines["resident"]["most"] + slack, f"PSS {value}, resident {lines['resident']}")
    check(0.5 < value / (kib["Pss:"] * 1024) < 2 or SLOW, f"PSS {value}, beside {kib}")

# Over time: nothing had been allocated when the target still waited.
target = Target("alloc_truth")
memflame = Memflame("record", "--interval", "0.1", "-p", target.pid, output="mfr")
begun = time.monotonic()
time.sleep(1)
waited = time.monotonic() - begun
truth = target.work()
memflame.stop()
target.end()
before = drawn(memflame.output, "--at", f"{waited * 0.5:.2f}")
after = drawn(memflame.output)
total = after.columns.index("total")
check(sum(values[total] for _, values in before.stacks) < sum(values[total] for _, values in after.stacks),
      "an early instant has less")
grown = drawn(memflame.output, "--between", f"{waited * 0.5:.2f}..{10 ** 6}", "--view", "growth")
for name in ("total", "total-count"):
    equal(f"growth of {name}", grown.sum(name), after.sum(name) - before.sum(name))

# Killed: what was written reads, with names, and says that it was not finished.
target = Target("alloc_truth")
memflame = Memflame("record", "--interval", "0.1", "-p", target.pid, output="mfr")
truth = target.work()
wait_until(lambda: os.path.exists(memflame.output), "the recording", 200 if SLOW else 30)
size = os.path.getsize(memflame.output)
wait_until(lambda: os.path.getsize(memflame.output) > size, "another look", 200 if SLOW else 30)
time.sleep(5 if SLOW else 0.5)
refusal = run("symbolize", memflame.output, status=1).stderr
check("is being written" in refusal and "-o OTHER.mfr" in refusal, refusal)
memflame.process.send_signal(signal.SIGKILL)
memflame.process.wait()
target.end()
profile = drawn(memflame.output)
profile.compare(truth["functions"], columns=profile.columns)

# Names that are added later are as good, and then no file of the program is needed.
nameless = drawn(memflame.output, "--no-symbols")
check(not any(nameless.has(name) for name in truth["functions"]), "no names yet")
named = path("named.mfr")
said = run("symbolize", memflame.output, "-o", named).stderr
check("places of code have a name" in said and "not finished" in said, said)
equal("names added by symbolize", drawn(named, "--no-symbols").stacks, profile.stacks)
run("symbolize", memflame.output)
with open(memflame.output, "rb") as replaced, open(named, "rb") as copy:
    check(replaced.read() == copy.read(), "in place as in a copy")
check("had its names already" in run("symbolize", named).stderr, "nothing is added twice")
profile = drawn(memflame.output)
with open(profile.file, encoding="utf-8") as stream:
    text = stream.read()
    check("not finished" in text, "the picture says that the recording was not finished")
    check("lost until then is not known" in text, "and that its losses are not known")
for command in (("timeline", "--format", "json"), ("leaks", "--from")):
    shown = run(*command, memflame.output).stdout
    check("not finished" in shown and any(name in shown for name in truth["functions"]),
          f"{command} has names: {shown}")

# On a machine without the program, the program is found by its build id; another one at its path is not taken.
program = path("moved")
shutil.copy(example("alloc_truth"), program)
target = Target("alloc_truth", executable=program)
memflame = Memflame("record", "--interval", "0.1", "-p", target.pid, output="mfr")
truth = target.work()
time.sleep(5 if SLOW else 1)
memflame.process.send_signal(signal.SIGKILL)
memflame.process.wait()
target.end()
os.rename(program, program + ".away")
shutil.copy(example("brk_truth"), program)
said = run("symbolize", memflame.output, "-o", named).stderr
check("the file was replaced since it was mapped" in said, said)
notes = subprocess.run(["readelf", "-n", program + ".away"], capture_output=True, text=True, check=True).stdout
build_id = re.search("Build ID: ([0-9a-f]+)", notes).group(1)
store = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}"
os.makedirs(os.path.dirname(store), exist_ok=True)
shutil.copy(program + ".away", store)
try:
    run("symbolize", memflame.output, "-o", named)
finally:
    os.remove(store)
drawn(named).compare(truth["functions"], columns=profile.columns)

# What the server leaves when it ends is a leak, with the share of the blocks that never came back.
if not SLOW:
    recording = path("server.mfr")
    said = run("record", "-o", recording, "--", example("cache_server"), "4").stderr
    check("server::Journal::begin" in said and ": leak: " in said, said)
    report = run("leaks", "--from", recording).stdout
    leak = next((stack for stack in report.split("\n\n") if "server::Journal::begin" in stack), "")
    check(" leak: " in leak and "which has ended" in leak, report)
    check("PageCache" not in report, f"the cache was freed: {report}")
    run("render", recording, "-o", path("server.svg"))
    with open(path("server.svg"), encoding="utf-8") as stream:
        picture = stream.read()
    check('<text class="leak"' in picture and "server::Journal::begin" in picture and 'class="flag"' in picture,
          "a recording's picture points out the leak")
    verdicts = [stack["verdict"] for stack in json.loads(run("render", recording, "--format", "json").stdout)["stacks"]
                if "verdict" in stack]
    check([verdict["rank"] for verdict in verdicts if verdict["marked"]] == [0], verdicts)
    run("render", recording, "--verdicts", "off", "-o", path("server.svg"))
    with open(path("server.svg"), encoding="utf-8") as stream:
        picture = stream.read()
    check('class="leak"' not in picture and 'class="flag"' not in picture, "no verdicts")
    for format in ("text", "csv", "json", "svg", "html"):
        run("timeline", recording, "--format", format, "-o", path(f"timeline.{format}"))
        check(os.path.getsize(path(f"timeline.{format}")), format)

# What cannot be is refused before anything is watched.
for arguments, words in ((("record", "-p", str(os.getpid())), "-o FILE.mfr"),
                         (("record", "-o", "-", "-p", str(os.getpid())), "-o FILE.mfr"),
                         (("record", "--probes", "heap", "-o", path("x.mfr"), "-p", "1"), "not 'heap'"),
                         (("record", "--icicle", "-o", path("x.mfr"), "-p", "1"), "--icicle"),
                         (("record", "--max-file", "1K", "-o", path("x.mfr"), "-p", "1"), "at least 1M"),
                         (("record", "--interval", "0.01", "-o", path("x.mfr"), "-p", "1"), "--interval")):
    refusal = run(*arguments, status=USAGE).stderr
    check(words in refusal, refusal)
check(not os.path.exists(path("x.mfr")), "no file of a refused run")
