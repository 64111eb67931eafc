// SPDX-License-Identifier: BSD-2-Clause
// Code in new pages, of compilers and of threads, which go again.
function mark() { Buffer.allocUnsafeSlow(BLOCK_BYTES); }
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
