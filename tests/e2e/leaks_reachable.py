# SPDX-License-Identifier: BSD-2-Clause
"""leaks --reachable: to which blocks pointers still lead, to the byte, as LeakSanitizer finds them; and the
target runs on untouched, whatever happens."""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from leaks_lib import Steps
from lib import (LONG, PATIENCE, REQUIREMENT, SLOW, USAGE, Memflame, check, equal, example, path, run, spawn,
                 wait_until)

FOUND = 5
PROGRAM = example("reachable")

# By function: blocks and bytes that are lost, those of them that are indirect, and reachable ones.
ALONE = {"keep_in_global": ((0, 0), (0, 0), (4, 400)),
         "keep_in_tls": ((0, 0), (0, 0), (1, 120)),
         "keep_on_stack": ((0, 0), (0, 0), (1, 140)),
         "keep_by_interior": ((0, 0), (0, 0), (1, 180)),
         "lose": ((5, 1000), (0, 0), (0, 0)),
         "lose_list": ((1, 220), (0, 0), (0, 0)),
         "lose_next": ((3, 720), (3, 720), (0, 0)),
         "lose_ring": ((2, 520), (2, 520), (0, 0)),
         "lose_large": ((1, 300000), (0, 0), (0, 0)),
         "lose_at_stack": ((1, 280), (0, 0), (0, 0))}
WITH_THREADS = {**ALONE, "keep_in_register": ((0, 0), (0, 0), (1, 160)),
                "keep_in_tls": ((0, 0), (0, 0), (2, 240)),
                "keep_on_stack": ((0, 0), (0, 0), (2, 280))}


def last_line(name):
    with open(name, encoding="utf-8") as stream:
        return json.loads(stream.readlines()[-1])


def added(amounts, count):
    return (amounts[0] + count["blocks"], amounts[1] + count["bytes"])


def by_function(report):
    """The sums over the stacks of each function that allocates in the example."""
    sums = {}
    for stack in report["top"]:
        frames = [frame.split()[0] for frame in stack["frames"]]
        reach = stack["reach"]
        equal("the parts add up", reach["lost"]["blocks"] + reach["reachable"]["blocks"] +
              reach["cannot_tell"]["blocks"], stack["blocks"])
        for name in set(frames) & set(WITH_THREADS):
            lost, indirect, reachable = sums.get(name, ((0, 0), (0, 0), (0, 0)))
            sums[name] = (added(lost, reach["lost"]), added(indirect, reach["indirect"]),
                          added(reachable, reach["reachable"]))
    return sums


def at_exit():
    for arguments, wanted, exact in ((("exit", "alone"), ALONE, True), (("exit",), WITH_THREADS, False)):
        name = path("exit.jsonl")
        run("leaks", "--reachable", "--top", "100", "-o", name, "60", "--", PROGRAM, *arguments, status=7)
        report = last_line(name)
        equal(f"at exit {arguments}", by_function(report), wanted)
        scanned = report["reach"]["scanned"]
        equal("one process, held until it was scanned", [(scan["exact"], scan["bytes_unread"])
                                                         for scan in scanned], [(exact, 0)])
        check(0 < scanned[0]["stopped_s"] < PATIENCE, scanned)
    said = run("leaks", "--reachable", "--bytes", "--top", "100", "60", "--", PROGRAM, "exit", "alone",
               status=7).stdout
    for words in ("lost: 5 blocks, 1,000 B, no pointer to them\n",
                  "lost: 3 blocks, 720 B, only other lost blocks point to them (indirect)\n",
                  "    reachable: 3 blocks, 300 B\n", ": stopped for "):
        check(words in said, f"{words!r} in {said}")


def while_it_runs():
    memflame = Memflame("leaks", "--reachable", "--older", "1", "--top", "100", "60", "--", PROGRAM,
                        output="jsonl", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = memflame.process.stdout.readline()
    check(line.startswith("ready "), line)
    time.sleep(0.5)
    pid = int(line.split()[1])
    memflame.process.send_signal(signal.SIGINT)
    wait_until(lambda: os.path.exists(memflame.output) and os.path.getsize(memflame.output), "a report")
    equal("nobody traces it any longer", field(pid, "TracerPid"), "0")
    memflame.process.stdin.close()
    equal("status", memflame.process.wait(PATIENCE), 7)
    report = last_line(memflame.output)
    equal("live", by_function(report), WITH_THREADS)
    equal("which is probable", report["reach"]["exact"], False)


def attached():
    """Blocks of before are unknown memory: a pointer in them counts."""
    target = Steps()
    target.do("small")
    memflame = Memflame("leaks", "--reachable", "--older", "1", "-p", target.pid, "60", output="jsonl")
    target.do("small")
    target.do("large")  # a global has the address of the second block
    time.sleep(0.1)
    memflame.stop()
    target.do("small")
    target.end()
    reach = last_line(memflame.output)["reach"]
    equal("lost", (reach["lost"]["blocks"], reach["lost"]["bytes"]), (1, 20000))
    equal("reachable", (reach["reachable"]["blocks"], reach["reachable"]["bytes"], reach["exact"]),
          (11, 50000, False))


def checks():
    def gate(*options, steps=("small",), status=0):
        return run("leaks", "-o", path("report.txt"), "--reachable", *options, "60", "--", example("leak_steps"),
                   status=status, input="".join(f"{step}\n" for step in steps)).stderr

    said = gate("--fail-on", "leak", status=FOUND)
    check("    reachable: 10 blocks, 29.3 KiB\n" in said, said)
    gate("--fail-on", "lost")
    said = gate("--fail-on", "lost", "--report", path("lost.json"), "--report", path("lost.xml"), "--report",
                path("lost.sarif"), steps=("small", "large"), status=FOUND)
    check("leak check failed (--fail-on lost): 1 stack" in said and
          "lost: 1 block, 19.5 KiB, no pointer to it; leak: " in said, said)
    with open(path("lost.json"), encoding="utf-8") as stream:
        stacks = {stack["frames"][stack["caller"]]["function"]: stack for stack in json.load(stream)["stacks"]}
    equal("in JSON", {name: (stack["outcome"], stack["reach"]["lost"], stack["reach"]["reachable"])
                      for name, stack in stacks.items()},
          {"leak_large": ("failed", {"bytes": 20000, "blocks": 1}, {"bytes": 20000, "blocks": 1}),
           "leak_small": ("passed", {"bytes": 0, "blocks": 0}, {"bytes": 30000, "blocks": 10})})
    with open(path("lost.sarif"), encoding="utf-8") as stream:
        equal("in SARIF", [result["properties"]["lostBytes"] for result in json.load(stream)["runs"][0]["results"]],
              [20000])
    with open(path("lost.xml"), encoding="utf-8") as stream:
        check("lost: 1 block, 19.5 KiB, no pointer to it" in stream.read(), "in JUnit")
    gate("--fail-on", "lost", "--min-bytes", "20001", steps=("large",))
    # What cannot be told passes, and is said.
    said = run("leaks", "-o", path("report.txt"), "--reachable", "--fail-on", "lost", "60", "--", "sh", "-c",
               f"{PROGRAM} exit; true").stderr
    check("not certain: cannot tell whether pointers lead to " in said and "the process had ended" in said, said)


def like_leak_sanitizer():
    compiler = shutil.which("g++")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/reachable.cc")
    if compiler is None or not os.path.exists(source) or SLOW:
        print("not compared with LeakSanitizer: no g++, or no sources here")
        return
    built = subprocess.run([compiler, "-O2", "-g", "-fno-builtin", "-fno-omit-frame-pointer",
                            "-fno-optimize-sibling-calls", "-fsanitize=leak", "-pthread", source, "-o",
                            path("with_lsan")], check=False, stderr=subprocess.PIPE, text=True)
    if built.returncode != 0:
        print(f"not compared with LeakSanitizer: {built.stderr}")
        return
    for arguments, wanted in ((("exit", "alone"), ALONE), (("exit",), WITH_THREADS)):
        said = subprocess.run([path("with_lsan"), *arguments], check=False, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE).stderr
        found = {}
        for kind, size, count, function in re.findall(
                r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n"
                r"    #0 .*\n    #1 \S+ in (\w+)", said):
            lost, indirect = found.get(function, ((0, 0), (0, 0)))
            count = {"blocks": int(count), "bytes": int(size)}
            found[function] = (added(lost, count), added(indirect, count) if kind == "Indirect" else indirect)
        equal(f"LeakSanitizer's leaks {arguments}: {said}", found,
              {name: (lost, indirect) for name, (lost, indirect, _) in wanted.items() if lost != (0, 0)})


def field(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
        return re.search(rf"^{name}:\s+(\S+)", stream.read(), re.MULTILINE)[1]


# Threads that start and end, signals all the time, stops of the group, exec by a thread, children. It ends after some
# seconds, or with 0 when its input does.
BUSY = """
import os, select, signal, subprocess, sys, threading, time
seen = 0
def count(*_):
    global seen
    seen += 1
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
seconds = float(sys.argv[1])
end = time.monotonic() + seconds
def over():
    return time.monotonic() > end if seconds else bool(select.select([sys.stdin], [], [], 0)[0])
def work():
    while not over():
        thread = threading.Thread(target=lambda: [bytes(i) for i in range(50)])
        thread.start()
        thread.join()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
subprocess.run(["true"], check=True)
helper = subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -STOP {os.getpid()}; sleep 0.2; kill -CONT {os.getpid()}"])
for thread in threads:
    thread.join()
helper.wait()
signal.setitimer(signal.ITIMER_REAL, 0)
assert seen > 0, seen
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGTERM)
if sys.argv[2] == "exec":
    idle = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    idle.start()
    threading.Thread(target=os.execv, args=("/bin/sh", ["sh", "-c", "exit 9"])).start()
    time.sleep(60)
os._exit(8)
"""


def untouched():
    python = [sys.executable, "-c", BUSY, "1.5"]
    for ending, status in (("exit", 8), ("kill", 128 + signal.SIGTERM), ("exec", 9)):
        begin = time.monotonic()
        run("leaks", "-o", path("busy.txt"), "--reachable", "60", "--", *python, ending, status=status)
        check(time.monotonic() - begin < 50, f"{ending}: nothing waited for anything")
    # While it runs, again and again.
    for _ in range(2 if LONG else 1):
        target = spawn([sys.executable, "-c", BUSY, "0", "exit"], stdin=subprocess.PIPE)
        run("leaks", "-o", path("busy.txt"), "--reachable", "-p", str(target.pid), "-d", "0.3")
        run("leaks", "-o", path("busy.txt"), "--reachable", "-p", str(target.pid), "-d", "0.1")
        target.communicate(timeout=PATIENCE)
        equal("the status", target.returncode, 8)
    run("leaks", "-o", path("none.txt"), "--reachable", "--", "/etc/passwd", status=126)


def killed():
    """memflame is killed while the target is stopped, or held at its end: the target goes on."""
    big = "x = [[i] for i in range(400000)]; print('ready', flush=True); input(); import os; os._exit(8)"
    for _ in range(3):
        target = spawn([sys.executable, "-c", big], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal("ready", target.stdout.readline(), "ready\n")
        memflame = Memflame("leaks", "--reachable", "-p", target.pid, "60", output="txt")
        memflame.process.send_signal(signal.SIGINT)
        wait_until(lambda: field(target.pid, "TracerPid") != "0" or memflame.process.poll() is not None,
                   "it is traced")
        memflame.process.kill()
        memflame.process.wait()
        wait_until(lambda: field(target.pid, "TracerPid") == "0", "nobody traces it")
        wait_until(lambda: field(target.pid, "State") in "RS", "it goes on")
        target.communicate("go\n", timeout=PATIENCE)
        equal("the status", target.returncode, 8)
    memflame = Memflame("leaks", "--reachable", "60", "--", sys.executable, "-c",
                        f"import os; print(os.getpid(), flush=True); {big}", output="txt", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)
    pid = int(memflame.process.stdout.readline())
    memflame.process.stdout.readline()
    memflame.process.stdin.write("go\n")
    memflame.process.stdin.flush()
    time.sleep(0.02)
    memflame.process.kill()
    memflame.process.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or field(pid, "State") == "Z", "it has ended")


def refusals():
    for options, words in ((["--kernel"], "--kernel"), (["--from", path("a.mfr")], "a recording"),
                           (["--every", "2", "-p", "1"], "--every"), (["--sample", "1K", "-p", "1"], "--sample"),
                           (["--max-overhead", "5", "-p", "1"], "--max-overhead"),
                           (["--format", "svg", "-p", "1"], "--fail-on"),
                           (["--fail-on", "lost", "--baseline", path("a.mfr"), "-p", "1"], "--baseline")):
        said = run("leaks", "--reachable", *options, status=USAGE).stderr
        check(words in said, f"{options}: {said}")
    said = run("leaks", "--fail-on", "lost", "-p", "1", status=USAGE).stderr
    check("needs --reachable" in said, said)
    target = spawn(["sleep", "60"])
    libc = ctypes.CDLL(None, use_errno=True)
    seize = 0x4206
    equal("this script traces it", libc.ptrace(seize, target.pid, None, None), 0)
    said = run("leaks", "--reachable", "-p", str(target.pid), "-d", "1", status=REQUIREMENT).stderr
    check(f"process {target.pid} is traced by process {os.getpid()} already" in said, said)
    target.kill()


for case in (at_exit, while_it_runs, attached, checks, like_leak_sanitizer, untouched, killed, refusals):
    case()
