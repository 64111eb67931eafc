# SPDX-License-Identifier: BSD-2-Clause
"""leaks: each report is exact to the byte; every option works."""
import os
import re
import signal
import subprocess
import sys
import time

from leaks_lib import HEAD, TICK, Leaks, Steps, number
from lib import LOSSY, MEMFLAME, PATIENCE, USAGE, check, equal, example, path, run, spawn, wait_until


def exact():
    target = Steps()
    leaks = Leaks("-p", target.pid, "--older", "0", TICK)
    report = leaks.next()
    equal("nothing yet", (report.bytes, report.blocks, report.stacks), (0, 0, []))
    target.do("small")
    report = leaks.next()
    equal("after a step", (report.bytes, report.blocks, report.stack_count), (30000, 10, 1))
    equal("of leak_small", report.of("leak_small"), (30000, 10, "(unchanged since the last)"))
    stack = report.stacks[0]
    equal("who", stack.process, f"leak_steps ({target.pid})")
    equal("innermost first", stack.frames[:3], ["malloc", "leak_small", "main"])
    check("leak_steps.cc:" in report.text, "with source lines")
    changes = [each.of("leak_small")[2] for each in leaks.reports()]
    equal("the report that saw it says what is new",
          changes.count("(+30,000 B, +10 blocks since the last)"), 1)

    seen = len(leaks.reports())
    target.do("small")
    target.do("large")
    target.do("free")
    target.do("free")
    target.do("small")
    report = leaks.next()
    equal("in the end", (report.bytes, report.blocks), (70000, 12))
    equal("of leak_large", report.of("leak_large")[:2], (40000, 2))
    equal("of leak_small", report.of("leak_small")[:2], (30000, 10))
    # The changes of all reports add up to what is outstanding, whichever report has which.
    grown = 0
    for each in leaks.reports()[seen:]:
        if more := re.match(r"\((\+|-)([\d,]+) B,", each.change):
            grown += int(more[1] + "1") * number(more[2])
    equal("all changes", grown, 40000)
    target.do("free")
    report = leaks.next()
    equal("what is freed is gone", [stack.frames[1] for stack in report.stacks], ["leak_large"])

    target.end()  # and with it the run
    leaks.wait()
    last = leaks.reports()[-1]
    equal("the last report", (last.bytes, last.blocks), (40000, 2))
    check("which has ended" in last.stacks[0].process, f"it has ended: {last.stacks[0].process}")
    equal("the summary", leaks.summary()["totals"], {"live": 40000, "live-count": 2})
    check("leaks -p" in leaks.summary()["command"], "the command as typed")


def eight_kinds():
    """30,000 bytes from each allocation function."""
    leaks = Leaks("--older", "0", "--top", "1000", "5", "--", example("alloc_truth"),
                  stdout=subprocess.DEVNULL)
    leaks.wait()
    last = leaks.reports()[-1]
    for kind in ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign",
                 "valloc", "pvalloc"):
        equal(f"leak_{kind}", last.of(f"leak_{kind}")[:2],
              (30000, 5 if kind == "aligned_alloc" else 10))
    equal("sum of the stacks", sum(stack.bytes for stack in last.stacks), last.bytes)
    equal("order", [stack.bytes for stack in last.stacks],
          sorted((stack.bytes for stack in last.stacks), reverse=True))


def ages():
    target = Steps()
    leaks = Leaks("-p", target.pid, "--older", "3000", TICK)
    target.do("large")
    begin = time.monotonic()
    report = leaks.next()
    if time.monotonic() < begin + 2.5:
        equal("young", (report.bytes, report.old, report.stacks), (40000, (0, 0), []))
    wait_until(lambda: leaks.next(1).old != (0, 0), "they grow old")
    check(time.monotonic() > begin + 2.9, "not before their time")
    target.do("small")
    report = leaks.next()
    equal("old ones alone", (report.bytes, report.blocks, report.old), (70000, 12, (40000, 2)))
    equal("stacks", [stack.frames[1] for stack in report.stacks], ["leak_large"])
    leaks.stop()
    target.end()


def order():
    target = Steps()
    for options, first, rest in (([], "leak_large", "1 more stack: 30,000 B in 10 blocks"),
                                 (["--sort", "count"], "leak_small",
                                  "1 more stack: 40,000 B in 2 blocks")):
        leaks = Leaks("-p", target.pid, "--older", "0", "--top", "1", *options, "10", "1")
        target.do("small")
        target.do("large")
        leaks.stop()  # Ctrl-C, long before the first report is due
        reports = leaks.reports()
        equal("one report, the last", len(reports), 1)
        equal(f"first {options}", [stack.frames[1] for stack in reports[0].stacks], [first])
        equal("the rest", reports[0].rest, "and " + rest)
    target.end()


def blocks():
    target = Steps()
    leaks = Leaks("-p", target.pid, "--older", "0", "--show-blocks", TICK)
    wanted = [tuple(line.split()) for line in target.do("small")]
    stack = leaks.next().stacks[0]
    leaks.stop()
    equal("blocks", {(address, str(size)) for address, size in stack.shown}, set(wanted))
    equal("none is left out", (len(stack.shown), stack.left_out), (10, 0))

    leaks = Leaks("-p", target.pid, "--blocks-per-stack", "3", "--older", "0", TICK)
    wanted = [tuple(line.split()) for line in target.do("small")]
    stack = leaks.next().stacks[0]
    leaks.stop()
    equal("the oldest", [(address, str(size)) for address, size in stack.shown], wanted[:3])
    equal("left out", stack.left_out, 7)
    target.end()


def counts():
    target = Steps()
    done = run("leaks", "-p", target.pid, TICK, 3)
    equal("COUNT reports on standard output", len(re.findall(r"^\[", done.stdout, re.MULTILINE)), 3)
    equal("nothing on stderr", done.stderr, "")
    equal("the target goes on", target.do("small")[-1].split()[1], "3000")
    target.end()
    done = run("leaks", "--older", "0", "60", "--", "sh", "-c", "exit 7", status=7)
    equal("a last report when the command ends", done.stdout.count(" live in "), 1)
    # What a process leaves when it ends is outstanding, however short the process was.
    done = run("leaks", "--bytes", "60", "--", example("alloc_truth"))
    head = next(filter(None, map(HEAD.match, done.stdout.splitlines())))
    check(head["blocks"] != "0", done.stdout)
    equal("of an ended process all", (head["old_bytes"], head["old_blocks"]), (head["bytes"], head["blocks"]))
    # SIGTERM ends it, too.
    sleeper = Leaks("60", "--", "sleep", "5", stdout=subprocess.DEVNULL)
    sleeper.process.send_signal(signal.SIGTERM)
    sleeper.wait()
    equal("a last report", len(sleeper.reports()), 1)


def clocks():
    """A report shows the time at which it looked, not at which it found names: clock and seconds agree."""
    target = Steps()
    target.do("small")
    done = run("leaks", "-p", target.pid, "--older", "0", 1, 4)
    heads = re.findall(r"^\[(\d+):(\d+):(\d+)\] ([\d.]+) s:", done.stdout, re.MULTILINE)
    equal("reports", len(heads), 4)
    begins = [(int(h) * 3600 + int(m) * 60 + int(s) - float(seconds)) % 86400
              for h, m, s, seconds in heads]
    check(max(begins) - min(begins) < 1.2, f"all clocks have one start: {heads}")
    target.end()


def many():
    target = Steps()
    for options in (["--older", "0"], ["--older", "1"]):
        leaks = Leaks("-p", target.pid, "--max-live", "400000", *options, TICK)
        target.do("many")
        time.sleep(0.01)
        report = leaks.next()
        equal("many blocks", (report.bytes, report.blocks), (200000 * 16, 200000))
        equal("of one stack", report.of("leak_many")[:2], (200000 * 16, 200000))
        leaks.stop()
    target.end()


def losses():
    """The report says what did not fit, and --strict makes that an error."""
    for options, status in (([], 0), (["--strict"], LOSSY)):
        target = Steps()
        leaks = Leaks("-p", target.pid, "--max-live", "1000", *options, "60")
        target.do("many")
        leaks.stop(status)
        target.end()
        with open(leaks.output, encoding="utf-8") as stream:
            text = stream.read()
        match = re.search(r"^  lost ([\d,]+): live table full ([\d,]+) \(([\d,]+) B\)", text,
                          re.MULTILINE)
        check(match, f"the loss and its bytes: {text}")
        equal("its bytes", number(match[3]), 16 * number(match[2]))
        live = re.search(r"B live in ([\d,]+) blocks", text)
        equal("seen is live and lost", number(live[1]) + number(match[2]), 200000)


def samples():
    target = Steps()
    leaks = Leaks("-p", target.pid, "--older", "1", "--every", "10", "10")
    target.do("many")
    time.sleep(0.1)
    leaks.stop()
    with open(leaks.output, encoding="utf-8") as stream:
        text = stream.read()
    check("estimated from samples (1 in 10 allocations)" in text, f"says so: {text}")
    match = re.search(r"live in ([\d,]+) ± ([\d,]+) blocks", text)
    check(match, f"with an error: {text}")
    blocks, error = number(match[1]), number(match[2])
    check(abs(blocks - 200000) < 6 * error and 500 < error < 3000, f"{blocks} ± {error} of 200,000")
    target.end()


def kernel():
    worker = spawn([sys.executable, "-c",
                    "import os,sys\nsys.stdin.readline()\n"
                    "fds=[os.eventfd(0) for _ in range(1000)]\nprint('done',flush=True)\n"
                    "sys.stdin.readline()"],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for options in (["--older", "0"], ["--older", "1"]):
        leaks = Leaks("--kernel", "-p", worker.pid, "--top", "1000", *options, TICK)
        if worker.poll() is None and options[1] == "0":
            worker.stdin.write("go\n")
            worker.stdin.flush()
            equal("the worker", worker.stdout.readline(), "done\n")
            report = leaks.next()
            files = [stack for stack in report.stacks if stack.frames[:2] == ["[slab", "filp]"] or
                     (stack.frames and "do_eventfd" in stack.frames and "filp" in report.text)]
            check(files, f"a stack of files: {report.text[:2000]}")
            count = max(stack.blocks for stack in files)
            check(990 <= count <= 1000, f"1000 files: {count}")
            equal("of no process", files[0].process, None)
        leaks.stop()
    worker.kill()
    done = run("leaks", "--kernel", "0.5", "2")
    equal("the whole system, twice", done.stdout.count(" live in "), 2)
    # Kernel memory is not left by the process that asked for it.
    done = run("leaks", "--kernel", "--older", "600000", "--bytes", "60", "--", "sh", "-c", "ls / >/dev/null")
    head = next(filter(None, map(HEAD.match, done.stdout.splitlines())))
    check(head["blocks"] != "0", done.stdout)
    equal("kernel memory older than ten minutes", head["old_bytes"], "0")


def errors():
    for arguments, hint in ((["-p", os.getpid(), "0"], "INTERVAL 0"),
                            (["-p", os.getpid(), "-1"], ""),
                            (["-p", os.getpid(), "soon"], "INTERVAL soon"),
                            (["-p", os.getpid(), "nan"], "INTERVAL nan"),
                            (["-p", os.getpid(), "1", "0"], "COUNT 0"),
                            (["-p", os.getpid(), "1", "2", "3"], "too many"),
                            (["-p", os.getpid(), "1", "2x"], "COUNT 2x"),
                            ([], "--kernel"),
                            (["1", "2"], "--kernel"),
                            (["-p", os.getpid(), "--top", "0"], "--top"),
                            (["-p", os.getpid(), "--sort", "age"], "not 'age'"),
                            (["-p", os.getpid(), "-o", "60000"], "--older 60000"),
                            (["-p", os.getpid(), "--format", "docx"], "docx"),
                            (["-p", os.getpid(), "--value", "total"], "value"),
                            (["-p", os.getpid(), "--older", str(2**63)], "--older"),
                            (["--kernel", "--trace"], "--trace"),
                            (["-p", os.getpid(), "--icicle"], "--icicle"),
                            (["-p", os.getpid(), "--title", "x"], "--title"),
                            (["-p", os.getpid(), "--trace", "--format", "json"], "--trace"),
                            (["-p", os.getpid(), "--show-blocks", "--format", "json"],
                             "--show-blocks")):
        done = run("leaks", *arguments, status=USAGE)
        equal(f"{arguments}: lines on stderr", done.stderr.count("\n"), 1)
        check(hint in done.stderr, f"{arguments}: {done.stderr!r} has {hint!r}")
    run("leaks", "-o", path("none.txt"), "-p", 2, status=1)
    equal("no file is left behind", os.path.exists(path("none.txt")), False)
    done = run("leaks", "--help")
    for option in ("--older", "--show-blocks", "--trace", "--top", "--sort", "INTERVAL [COUNT]",
                   "--min-size", "--obj", "--symbols-prefix", "--every"):
        check(option in done.stdout, f"--help has {option}")
    check("  leaks " in run("--help").stdout, "memflame --help has a line for it")
    # The reader of the reports is gone: the run ends.
    done = subprocess.run(["sh", "-c", f"{MEMFLAME} leaks 0.2 20 -- sleep 2 > /dev/full"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    equal("a full device", done.returncode, 125)
    check("could not be written" in done.stderr, done.stderr)


if __name__ == "__main__":
    cases = [exact, eight_kinds, ages, order, blocks, counts, clocks, many, losses, samples, kernel, errors]
    for case in cases:
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            case()
