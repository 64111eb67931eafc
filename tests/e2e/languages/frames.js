// SPDX-License-Identifier: BSD-2-Clause
const fs = require('fs'), vm = require('vm'), threads = require('worker_threads');
const COUNT = Number(process.argv[2]), SIZE = BLOCK_BYTES, WARM = 10000;
// A worker's scripts have other numbers.
if (!threads.isMainThread) for (let i = 0; i < 7; ++i) vm.runInThisContext(`(function other${i}() {})()`);
const seen = new Map();
let marks = 0, counts = false, seed = 1 + 1000 * threads.threadId;
Error.stackTraceLimit = Infinity;

function random(most) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % most;
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
  MANY_VARIABLES
  return (() => { step(rest); return [MANY_NAMES].length; })();
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
  if (more % 2) return call(rest) || 1;
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
    if (i % 19 === 0) sum += first(rest);
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
