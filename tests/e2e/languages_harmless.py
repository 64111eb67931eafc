# SPDX-License-Identifier: BSD-2-Clause
"""Programs of interpreted languages work on while memflame reads their functions again and again, and is killed in the
middle of it: every result is the one of a run that nobody watched, and the exit status is 0.

MEMFLAME_LANGUAGE_CYCLES=N: attach N times to each (default 8)."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from lib import MEMFLAME, PATIENCE, check, equal, path, spawn

CYCLES = int(os.environ.get("MEMFLAME_LANGUAGE_CYCLES", "8"))

# Functions made and thrown away, generators, exceptions and threads, with one result.
PYTHON = r"""
import hashlib, json, sys, threading

def walk(depth):
    yield bytes(700 + depth)
    if depth:
        yield from walk(depth - 1)

def made(number):
    names = {}
    exec(f"def f{number}(x):\n    return [bytearray(600 + x) for _ in range(3)]", names)
    return names[f"f{number}"]

def caught(depth):
    try:
        if depth == 0:
            raise ValueError(str(depth))
        return caught(depth - 1)
    except ValueError as error:
        return repr(error)

def once():
    out = [sum(map(len, walk(20))), caught(20)]
    out += [len(made(number)(number)) for number in range(40)]
    out.append(json.dumps(json.loads(json.dumps([{"n": i, "t": str(i) * 40} for i in range(50)]))))
    return hashlib.sha1(json.dumps(out).encode()).hexdigest()

seen, rounds, ended = set(), [0], threading.Event()
def work():
    while not ended.is_set():
        seen.add(once())
        rounds[0] += 1
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
ended.set()
for thread in threads: thread.join()
print(rounds[0] > 0, len(seen), seen.pop())
"""

NODE = r"""
const { createHash } = require("crypto");
function* walk(depth) { yield Buffer.alloc(700 + depth).length; if (depth) yield* walk(depth - 1); }
const made = (number) => new Function("x", `return [1, 2, 3].map(() => Buffer.allocUnsafeSlow(600 + x + ${number}).length)`);
function caught(depth) {
  try {
    if (depth === 0) throw new Error("0");
    return caught(depth - 1);
  } catch (error) {
    return error.message;
  }
}
function once() {
  const out = [[...walk(20)], caught(20), ...Array.from({ length: 40 }, (_, i) => made(i)(i))];
  out.push(JSON.stringify(JSON.parse(JSON.stringify(Array.from({ length: 50 }, (_, i) => ({ n: i, t: `${i}`.repeat(40) }))))));
  return createHash("sha1").update(JSON.stringify(out)).digest("hex");
}
const seen = new Set();
let rounds = 0, ended = false;
process.stdin.on("end", () => { ended = true; }).resume();
console.log("ready");
function work() {
  seen.add(once());
  ++rounds;
  if (!ended) return setImmediate(work);
  console.log(rounds > 0 ? "True" : "False", seen.size, [...seen][0]);
}
work();
"""


def unwatched(command):
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()[-1]


def watched(command):
    target = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    equal("the program begins", target.stdout.readline(), "ready\n")
    profile, killed, whole = path("language.folded"), 0, 0
    for number in range(CYCLES):
        memflame = spawn([MEMFLAME, "alloc", "-p", str(target.pid), "--sample", "16K", "--value", "total", "-d", "0.3", "-o", profile],
                         stderr=subprocess.PIPE, text=True)
        if number % 2:
            time.sleep(random.uniform(0, 1))
            memflame.send_signal(signal.SIGKILL)
            memflame.communicate()
            killed += 1
        else:
            _, errors = memflame.communicate(timeout=PATIENCE)
            equal(f"memflame ends, which said {errors}", memflame.returncode, 0)
            with open(profile, encoding="utf-8") as stream:
                whole += "once (" in stream.read()
        check(target.poll() is None, f"the program works on after cycle {number}")
    equal("runs that saw the functions", whole, CYCLES - killed)
    out, _ = target.communicate("", timeout=PATIENCE)
    equal("exit status", target.returncode, 0)
    return out.splitlines()[-1]


node = shutil.which("node")
check(node, "node is installed")
for program in ([sys.executable, "-c", PYTHON], [node, "-e", NODE]):
    if len(sys.argv) > 1 and sys.argv[1] not in program[0]:
        continue
    equal(f"results of {program[0]}", watched(program), unwatched(program))
