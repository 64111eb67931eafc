# SPDX-License-Identifier: BSD-2-Clause
"""Programs of interpreted languages work on while memflame reads their functions again and again, and is killed in the
middle of it: every result is the one of a run that nobody watched, and the exit status is 0. One memflame reads all of
them each time.

MEMFLAME_LANGUAGE_CYCLES=N: attach N times (default 4; 8 in "scripts/test full"). An argument: the only language."""
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from lib import LONG, MEMFLAME, PATIENCE, check, equal, path, spawn

CYCLES = int(os.environ.get("MEMFLAME_LANGUAGE_CYCLES", "8" if LONG else "4"))

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

JAVA = r"""
import java.security.*;
import java.util.*;
import java.util.stream.*;
import java.util.zip.*;

public class Rounds {
  static volatile boolean ended;
  static final Set<String> seen = Collections.synchronizedSet(new TreeSet<>());
  static String caught(int depth) {
    try {
      if (depth == 0) throw new IllegalStateException("0");
      return caught(depth - 1);
    } catch (IllegalStateException error) {
      return error.getMessage();
    }
  }
  static int packed(byte[] text) {
    Deflater deflater = new Deflater();
    deflater.setInput(text);
    deflater.finish();
    int size = deflater.deflate(new byte[4096]);
    deflater.end();
    return size;
  }
  static String once() throws Exception {
    StringBuilder out = new StringBuilder(caught(20));
    IntStream.range(0, 40).mapToObj(i -> packed(("n" + i).repeat(200).getBytes())).forEach(out::append);
    out.append(Stream.iterate(1L, n -> n * 7 % 1000003).limit(200).map(n -> java.nio.ByteBuffer.allocateDirect(700).capacity() + n).reduce(0L, Long::sum));
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(out.toString().getBytes()));
  }
  public static void main(String[] arguments) throws Exception {
    System.out.println("ready");
    Thread[] threads = new Thread[3];
    long[] rounds = new long[threads.length];
    for (int i = 0; i < threads.length; ++i) {
      final int own = i;
      threads[i] = new Thread(() -> {
        try {
          while (!ended || rounds[own] == 0) { seen.add(once()); ++rounds[own]; }
        } catch (Exception error) { seen.add(error.toString()); }
      });
      threads[i].start();
    }
    while (System.in.read() >= 0) { }
    ended = true;
    for (Thread thread : threads) thread.join();
    System.out.println("True " + seen.size() + " " + seen.iterator().next());
  }
}
"""

RUBY = r"""
require 'digest/sha1'
require 'json'
require 'zlib'

def walk(depth, &block)
  block.call("x" * (700 + depth))
  walk(depth - 1, &block) if depth > 0
end

def caught(depth)
  raise ArgumentError, depth.to_s if depth == 0
  caught(depth - 1)
rescue ArgumentError => error
  error.message
end

def once
  sizes = []
  walk(20) { |text| sizes << text.size }
  sizes << caught(20)
  40.times { |i| sizes << Object.new.instance_eval("def f#{i}(x) = 'y' * (600 + x); f#{i}(#{i})").size }
  sizes << Fiber.new { Zlib::Deflate.deflate("z" * 5000).size }.resume
  Digest::SHA1.hexdigest(JSON.generate(sizes))
end

seen, rounds, ended = {}, 0, false
threads = 3.times.map { Thread.new { until ended && rounds > 3; seen[once] = true; rounds += 1; end } }
puts "ready"
STDOUT.flush
STDIN.read
ended = true
threads.each(&:join)
puts "True #{seen.size} #{seen.keys.first}"
"""


PHP = r"""
function walk($depth) {
  yield strlen(str_repeat("x", 700 + $depth));
  if ($depth) yield from walk($depth - 1);
}
function caught($depth) {
  try {
    if ($depth === 0) throw new Exception("0");
    return caught($depth - 1);
  } catch (Exception $error) {
    return $error->getMessage();
  }
}
function once() {
  $out = [iterator_to_array(walk(20), false), caught(20)];
  for ($i = 0; $i < 40; ++$i) $out[] = eval("return (fn(\$x) => strlen(str_repeat('y', 60000 + \$x)))($i);");
  $fiber = new Fiber(fn() => Fiber::suspend(strlen(gzdeflate(str_repeat("z", 5000)))));
  $out[] = $fiber->start();
  $fiber->resume();
  return sha1(json_encode($out));
}
echo "ready\n";
$seen = [];
do {
  for ($i = 0; $i < 10; ++$i) $seen[once()] = true;
  list($read, $write, $except) = [[STDIN], [], []];
} while (!stream_select($read, $write, $except, 0) || !feof(STDIN) && fread(STDIN, 1) !== "");
echo "True ", count($seen), " ", array_key_first($seen), "\n";
"""


def unwatched(command):
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()[-1]


def watched(commands):
    """The last line of each program, attached to CYCLES times."""
    targets = {name: spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for name, command in commands.items()}
    for name, target in targets.items():
        equal(f"{name} begins", target.stdout.readline(), "ready\n")
    pids = ",".join(str(target.pid) for target in targets.values())
    profile, killed, whole = path("language.folded"), 0, collections.Counter()
    for number in range(CYCLES):
        memflame = spawn([MEMFLAME, "alloc", "-p", pids, "--per-pid", "--sample", "16K", "--value", "total", "-d", "0.3",
                          "-o", profile], stderr=subprocess.PIPE, text=True)
        if number % 2:
            time.sleep(random.uniform(0, 1))
            memflame.send_signal(signal.SIGKILL)
            memflame.communicate()
            killed += 1
        else:
            _, errors = memflame.communicate(timeout=PATIENCE)
            equal(f"memflame ends, which said {errors}", memflame.returncode, 0)
            with open(profile, encoding="utf-8") as stream:
                text = stream.read()
            for name, target in targets.items():
                own = re.findall(rf"^[^#;\n][^;\n]*\b{target.pid}\b.*", text, re.MULTILINE)
                whole[name] += bool(own)
                check(not own or any(re.search(r"\bonce \(", stack) for stack in own),
                      f"{name} has functions in cycle {number}: {own[:3]}")
        for name, target in targets.items():
            check(target.poll() is None, f"{name} works on after cycle {number}")
    # On a busy machine, a program may not run in that time, and has no stack.
    for name in targets:
        check(whole[name] * 4 >= (CYCLES - killed) * 3, f"runs that saw {name}: {whole[name]} of {CYCLES - killed}")
    said = {name: target.communicate("", timeout=PATIENCE)[0].splitlines()[-1] for name, target in targets.items()}
    equal("exit status", {name: target.returncode for name, target in targets.items()}, dict.fromkeys(targets, 0))
    return said


def command(language, text):
    """A program of a language that is installed."""
    program = shutil.which(language)
    check(program, f"{language} is installed")
    if language == "php":  # whose own allocator would show one mapping in a thousand blocks
        return ["env", "USE_ZEND_ALLOC=0", program, "-r", text]
    if language != "java":
        return [program, "-c" if language == "python3" else "-e", text]
    with open(path("Rounds.java"), "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["javac", "-d", path(""), path("Rounds.java")], check=True)
    return [program, "-cp", path(""), "Rounds"]


programs = {name: command(name, text)
            for name, text in {"python3": PYTHON, "node": NODE, "java": JAVA, "ruby": RUBY, "php": PHP}.items()
            if len(sys.argv) < 2 or sys.argv[1] == name}
equal("results", watched(programs), {name: unwatched(each) for name, each in programs.items()})
