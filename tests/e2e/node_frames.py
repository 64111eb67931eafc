# SPDX-License-Identifier: BSD-2-Clause
"""Functions of JavaScript in stacks, against V8's own word: a program of node allocates blocks of one size from random
paths of calls, and writes down its own stack each time: names, scripts, and lines of calls. What memflame saw must be the
same stacks, as often, whether V8 has built functions into others (the program has run long enough for that) or not. V8's
collector may take away code before memflame has read it: then functions that were built into others are missing, and
lines are those where functions begin. That must be rare, and be counted."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

from frames_lib import SIZE, same_native_frames, stacks_of, watched
from lib import LONG, check, equal, losses, path

COUNT = int(os.environ.get("MEMFLAME_NODE_STACKS", "5000" if LONG else "1500"))
PROGRAM = r'''
const fs = require('fs'), vm = require('vm'), threads = require('worker_threads');
const COUNT = Number(process.argv[2]), SIZE = %d, WARM = 10000;
// A worker's scripts have other numbers.
if (!threads.isMainThread) for (let i = 0; i < 7; ++i) vm.runInThisContext(`(function other${i}() {})()`);
const seen = new Map();
let marks = 0, counts = false, seed = 1 + 1000 * threads.threadId;
Error.stackTraceLimit = Infinity;

function random(most) {
  seed = (seed * 1103515245 + 12345) %% 2147483648;
  return Math.floor(seed / 65536) %% most;
}

function told(error, sites) {
  const names = [];
  for (const site of sites) {
    if (site.isAsync() || site.isPromiseAll()) break;
    const file = site.getFileName();
    if (site.isNative() || (!file && !site.isEval()) || site.getFunctionName() === 'mark') continue;
    names.push([site.getFunctionName() || '(anonymous)', file || '[eval]', site.getLineNumber()]);
  }
  return names.reverse();
}

function mark() {
  const holder = {};
  const usual = Error.prepareStackTrace;
  Error.prepareStackTrace = told;
  Error.captureStackTrace(holder);
  const key = JSON.stringify(holder.stack);
  Error.prepareStackTrace = usual;
  if (counts) seen.set(key, (seen.get(key) || 0) + 1);
  ++marks;
  Buffer.allocUnsafeSlow(SIZE);
}

function step(rest) {
  if (rest.length === 0) return mark();
  return KINDS[rest[0]](rest.slice(1));
}

class Thing {
  constructor(rest) { this.rest = rest; if (rest) this.inside(); }
  inside() { step(this.rest); }
  get value() { return step(this.rest); }
  static still(rest) {

    return step(rest);
  }
  *walking() { yield 1; step(this.rest); }
  toString() { step(this.rest); return ''; }
}
const made = Object.create(Thing.prototype);

function plain(rest) { return step(rest); }
const arrow = (rest) => step(rest);
const größe名前 = function (rest) { return step(rest); };
function
  below(rest) { return step(rest); }
function each(rest) { [1].forEach(function inEach() { step(rest); }); }
function mapped(rest) { [1].map(() => step(rest)); }
function sorted(rest) { [2, 1].sort(function comparing() { step(rest); return 0; }); }
function reduced(rest) { [1, 2].reduce(function adding(a, b) { return step(rest); }); }
function replaced(rest) { 'a'.replace(/a/, function replacing() { step(rest); return ''; }); }
function parsed(rest) { JSON.parse('[1]', function reviving(k, v) { if (k === '0') step(rest); return v; }); }
function generated(rest) { function* inner() { step(rest); yield 1; } for (const _ of inner()); }
function applied(rest) { Reflect.apply(plain, null, [rest]); }
function bound(rest) { plain.bind(null, rest)(); }
function trapped(rest) { return new Proxy({}, { get: function trap() { return step(rest); } }).x; }
function evaluated(rest) { return eval('(function inEval() { return step(rest); })()'); }
function composed(rest) { return new Function('step', 'rest', 'return step(rest)')(step, rest); }
function isolated(rest) {
  const code = '\n\n(function inContext(step, rest) { return step(rest); })';
  return vm.runInThisContext(code, { filename: '/made/other.js' })(step, rest);
}
function recursing(rest, left) { return left === 0 ? step(rest) : recursing(rest, (left || 20) - 1 || 0); }
function deep(rest) { return rest.length > 3 ? step(rest) : deepening(rest, 100); }
function deepening(rest, left) { if (left) return deepening(rest, left - 1); return step(rest); }
function many(rest) {
%s
  return (() => { step(rest); return [%s].length; })();
}
// Small functions, so that V8 builds them into each other.
function first(rest) {
  const sum = rest.length + second(rest);
  return sum;
}
const second = (rest) => {

  return made.third(rest) ? 1 : 0;
};
Thing.prototype.third = function third(rest) {
  try {
    return fourth(rest, (inner) => step(inner),
                  rest.length);
  } finally { made.rest = rest; }
};
function fourth(rest, call, more) {
  if (more %% 2) return call(rest) || 1;
  return fifth(rest,
               call);
}
function fifth(rest, call) { return Reflect.apply(call, null, [rest]) || new Made(rest, call).done; }
class Base { constructor(rest) { this.done = rest.length; } }
class Made extends Base {
  constructor(rest, call) {
    super(rest);
    this.more = [rest].map((each) =>
      call(each.length > 1 ? each.slice(1) : each));
  }
}
function looped(rest) {
  let sum = 0;
  for (let i = 0; i < 20; ++i) {
    if (i %% 19 === 0) sum += first(rest);
    sum = added(sum,
                i);
  }
  return sum;
}
function added(a, b) { return a + b; }
// New functions each time, at places of others that the collector has taken away.
const MAKERS = [(rest) => function new0() { return step(rest); }, (rest) => function new1() { return step(rest); },
  (rest) => function new2() { return step(rest); }, (rest) => function new3() { return step(rest); },
  (rest) => function new4() { return step(rest); }, (rest) => function new5() { return step(rest); }];
function renewed(rest) {
  let last = plain;
  for (let i = random(20); i >= 0; --i) last = MAKERS[random(MAKERS.length)](rest);
  return last(rest);
}
const KINDS = [plain, arrow, größe名前, below, each, mapped, sorted, reduced, replaced, parsed, generated, applied, bound,
  trapped, evaluated, composed, isolated, deep, many, (rest) => { new Thing(rest); },
  (rest) => { made.rest = rest; made.value; }, Thing.still, (rest) => { made.rest = rest; for (const _ of made.walking()); },
  (rest) => { made.rest = rest; `${made}`; }, first, second, looped, renewed, renewed];

async function awaiting(rest) {
  await null;
  step(rest);
}
function path() {
  const rest = [];
  for (let i = random(6); i >= 0; --i) rest.push(random(KINDS.length));
  return rest;
}
async function work(most) {
  for (marks = 0; marks < most;) {
    for (let i = 0; i < 50; ++i) step(path());
    await awaiting(path());
    await new Promise((done) => setTimeout(function ticking() { step(path()); done(); }, 0));
    await new Promise((done) => process.nextTick(function next() { step(path()); done(); }));
  }
}
function all(worker) { return new Promise((done) => worker.once('message', done)); }

if (!threads.isMainThread) {
  threads.parentPort.once('message', () => {
    counts = true;
    work(COUNT).then(() => threads.parentPort.postMessage([...seen]));
  });
  work(WARM).then(() => threads.parentPort.postMessage('warm'));
} else {
  const workers = [1, 2].map(() => new threads.Worker(__filename, { argv: [COUNT] }));
  const warm = workers.map(all);
  work(WARM).then(() => Promise.all(warm)).then(() => process.stdout.write('ready\n'));
  let asked = 0;
  process.stdin.on('data', async () => {
    if (asked++) process.exit(0);
    workers.forEach((worker) => worker.postMessage('go'));
    const others = workers.map(all);
    counts = true;
    await work(COUNT);
    const lists = [[...seen], ...await Promise.all(others)];
    fs.writeFileSync(process.argv[3], JSON.stringify(lists.flat()));
    process.stdout.write('done\n');
  });
}
''' % (SIZE, "\n".join(f"  let v{i} = {i};" for i in range(100)), ", ".join(f"v{i}" for i in range(100)))
# V8's compilers take functions into others, its own among them, when they get to it.
INTERPRETED = ("--no-opt", "--no-maglev", "--no-sparkplug", "--no-always-sparkplug")
WITHOUT_INLINING = ("--no-turbo-inlining", "--no-maglev-inlining")


def nodes():
    """The programs here that memflame knows, by version."""
    found = {}
    for name in ("node", *os.environ.get("MEMFLAME_NODES", "").split()):
        if not shutil.which(name):
            continue
        told = subprocess.run([name, "-p", "process.execPath + ' ' + process.versions.v8"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        if told.returncode == 0:
            program, version = told.stdout.split()
            version = ".".join(version.split(".")[:2])
            if version in ("10.2", "11.3", "12.4"):
                found.setdefault(version, program)
    return found


def run(program, name, *flags, options=()):
    """What the program says of its stacks, and memflame's profile."""
    truth = path(f"{name}.json")
    known = subprocess.run([program, "--v8-options"], stdout=subprocess.PIPE, text=True, check=True).stdout
    flags = [flag for flag in flags if re.search(rf"^\s*--{flag.removeprefix('--no-')} ", known, re.M)]
    # The collector moves objects often in so little memory for new ones.
    memflame = watched([program, "--max-semi-space-size=1", *flags, path("frames.js"), str(COUNT), truth], *options)
    with open(truth, encoding="utf-8") as file:
        return json.load(file), memflame


FRAME = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)$")


def script(frame):
    """(function, file, line) of a frame's name; None if it is native."""
    match = FRAME.match(frame)
    if not match or not re.search(r"\.js$|^\[eval\]$|^node:", match[2]):
        return None
    return match[1], match[2], int(match[3] or 0)


def compared(frames):
    """Frames as both tell them. The program says eval of a function of eval() that has no name, and computed names."""
    for name, file, line in frames:
        if (name, file) == ("eval", "[eval]") or name.startswith("["):
            name = "(anonymous)"
        yield name, file if file.startswith("node:") else file.rsplit("/", 1)[-1], line


def is_of_script(frame):
    """A function of JavaScript, or V8's code that runs it: without names of functions, this is all that is seen."""
    return script(frame) is not None or "InterpreterEntryTrampoline" in frame


def is_part(some, whole):
    rest = iter(whole)
    return all(each in rest for each in some)


def names_of(stack):
    return tuple(frame[:2] for frame in stack)


MADE = r'''
// Code in new pages, of compilers and of threads, which go again.
function mark() { Buffer.allocUnsafeSlow(%d); }
const threads = require('node:worker_threads');
async function work() {
  for (let round = 0; round < 8; ++round) {
    const made = [];
    for (let i = 0; i < 100; ++i) {
      const lines = Array.from({ length: 60 }, (_, k) => `x = (x * ${k + i + 1}) ^ ${round};`);
      made.push(new Function('x', 'go', `${lines.join('')} if (go) go(); return x;`));
    }
    for (const each of made) for (let k = 0; k < 1500; ++k) each(k, null);
    for (let k = 0; k < 5; ++k) made[k * 19](1, function inner() { mark(); });
    await new Promise((done) => new threads.Worker(__filename).once('exit', done));
  }
}
if (threads.isMainThread) {
  let asked = 0;
  process.stdin.on('data', async () => {
    if (asked++) process.exit(0);
    await work();
    process.stdout.write('done\n');
  });
  process.stdout.write('ready\n');
} else {
  mark();
}
''' % SIZE


def made_meanwhile(program, version):
    """memflame stands still while V8 makes code, so that nothing tells the programs where the new pages are."""
    with open(path("made.js"), "w", encoding="utf-8") as file:
        file.write(MADE)
    memflame = watched([program, path("made.js")], still=True)
    functions = collections.Counter()
    for stack, count in stacks_of(memflame.profile()).items():
        functions[" ".join(each[0] for each in map(script, stack[-30:]) if each)] += count
    named = sum(count for names, count in functions.items() if " (anonymous) inner mark " in names)
    equal(f"V8 {version}: calls from new code whose functions are known", named, 40)
    equal(f"V8 {version}: calls in all", sum(functions.values()), 48)


def not_read(wrong, wanted):
    """Counts stacks that the program does not say, by what they miss: lines, functions; or they are wrong."""
    by_names = collections.defaultdict(list)
    for stack in wanted:
        by_names[names_of(stack)].append(stack)
    missing = collections.Counter()
    for stack, count in wrong.items():
        if names_of(stack) in by_names:
            # Each line is the call's, or an earlier one of the function.
            ok = any(all(mine[2] <= its[2] for mine, its in zip(stack, each)) for each in by_names[names_of(stack)])
            missing["lines" if ok else "wrong"] += count
        else:
            ok = any(is_part(names_of(stack), each) for each in by_names)
            missing["functions" if ok else "wrong"] += count
        if not ok:
            print("wrong:", stack)
    return missing


with open(path("frames.js"), "w", encoding="utf-8") as file:
    file.write(PROGRAM)
versions = nodes()
if not versions:
    print("SKIPPED: no node 18, 20 or 22")
    sys.exit(77)
for version, program in versions.items():
    for flags in (WITHOUT_INLINING, INTERPRETED, ()):
        truth, memflame = run(program, version, *flags)
        equal(f"V8 {version}: lost", losses(memflame.summary()), {})
        wanted = collections.Counter()
        for stack, count in truth:
            wanted[tuple(compared(json.loads(stack)))] += count
        got, marked_unread = collections.Counter(), 0
        for stack, count in stacks_of(memflame.profile()).items():
            if "[javascript: unreadable]" in stack:
                marked_unread += count
                continue
            frames = [each for each in map(script, stack) if each]
            while frames and frames[-1][1].startswith("node:"):
                frames.pop()
            marked = bool(frames) and frames[-1][0] == "mark"
            check(marked or not flags, f"V8 {version}: the stack of a call of mark(): {stack[-30:]}")
            got[tuple(compared(frames[:-1] if marked else frames))] += count
        equal(f"V8 {version}: calls", sum(got.values()) + marked_unread, sum(wanted.values()))
        missing = not_read(got - wanted, wanted) + collections.Counter({"all": marked_unread})
        print(f"V8 {version} {' '.join(flags)}: {sum(got.values())} stacks, {len(got)} distinct, not read: {dict(missing)}")
        equal(f"V8 {version}: stacks that the program does not say", missing["wrong"], 0)
        check(sum(missing.values()) <= sum(got.values()) / 1000, f"V8 {version}: not read: {missing}")
    runs = [run(program, version, *INTERPRETED, options=("--languages", languages))[1] for languages in ("off", "auto")]
    same_native_frames(f"V8 {version}", runs, is_of_script)
    made_meanwhile(program, version)
