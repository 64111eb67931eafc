# SPDX-License-Identifier: BSD-2-Clause
"""V8's profiles as node writes them; their figures are added up with Python."""

import json

PACKAGES = ["nodejs"]

SAMPLED = """
globalThis.kept = [];
function make(n) { for (let i = 0; i < n; i++) kept.push({ i, text: 'number ' + i }); }
make(100000);
"""

TRACKED = """
const fs = require('fs');
const { Session } = require('inspector');
globalThis.kept = [];
function Thing(i) { this.text = 'thing ' + i; this.list = [i, i + 1]; }
function make(n) { for (let i = 0; i < n; i++) kept.push(new Thing(i)); }
function temporary(n) { let sum = 0; for (let i = 0; i < n; i++) sum += new Thing(i).list.length; }
const session = new Session();
session.connect();
session.post('HeapProfiler.startTrackingHeapObjects', { trackAllocations: true });
make(2000);
(() => { temporary(2000); kept.push(new Array(10000).fill(1.5)); })();
const out = fs.openSync(process.argv[2], 'w');
session.on('HeapProfiler.addHeapSnapshotChunk', (m) => fs.writeSync(out, m.params.chunk));
session.post('HeapProfiler.stopTrackingHeapObjects', { reportProgress: false });
fs.closeSync(out);
"""

SNAPSHOT = """
class Link { constructor(next) { this.next = next; } }
globalThis.cache = new Map();
for (let i = 0; i < 3000; i++) cache.set('key ' + i, { text: 'value ' + i });
globalThis.list = null;
for (let i = 0; i < 5000; i++) list = new Link(list);
require('v8').writeHeapSnapshot(process.argv[2]);
"""


def load(work, name):
    with open(work.path(name), encoding="utf-8", errors="surrogatepass") as file:
        return json.load(file)


def sizes(node):
    return node["selfSize"] + sum(sizes(child) for child in node["children"])


def allocated(row):
    """Count and bytes of a list of children."""
    count = size = 0
    for i in range(0, len(row), 5):
        below = allocated(row[i + 4])
        count += row[i + 2] + below[0]
        size += row[i + 3] + below[1]
    return count, size


def check_sampled(work):
    work.write("sampled.js", SAMPLED)
    work.run(["node", "--heap-prof", "--heap-prof-interval=4096",
              "--heap-prof-name=node.heapprofile", "sampled.js"])
    profile = load(work, "node.heapprofile")
    ours = work.totals("node.heapprofile")
    work.same("--heap-prof, bytes", ours["inuse_space"], sizes(profile["head"]))
    work.same("--heap-prof, samples", ours["samples"], len(profile["samples"]))


def check_tracked(work):
    work.write("tracked.js", TRACKED)
    work.run(["node", "tracked.js", "node.heaptimeline"])
    snapshot = load(work, "node.heaptimeline")
    fields = snapshot["snapshot"]["meta"]["node_fields"]
    live = snapshot["nodes"][fields.index("self_size")::len(fields)]
    count, size = allocated(snapshot["trace_tree"])
    ours = work.totals("node.heaptimeline")
    work.same("timeline, living bytes", ours["inuse_space"], sum(live))
    work.same("timeline, living objects", ours["inuse_objects"], sum(one > 0 for one in live))
    work.same("timeline, allocated bytes", ours["alloc_space"], size)
    work.same("timeline, allocated objects", ours["alloc_objects"], count)


def check_snapshot(work):
    work.write("snapshot.js", SNAPSHOT)
    work.run(["node", "snapshot.js", "node.heapsnapshot"])
    snapshot = load(work, "node.heapsnapshot")
    fields = snapshot["snapshot"]["meta"]["node_fields"]
    live = snapshot["nodes"][fields.index("self_size")::len(fields)]
    ours = work.totals("node.heapsnapshot")
    work.same("snapshot, bytes", ours["self_size"], sum(live))
    work.same("snapshot, objects", ours["objects"], sum(one > 0 for one in live))
    links = [line for line in work.collapse("node.heapsnapshot", "--value", "objects")
             if line.startswith("global;list: Link;next: Link ")]
    work.same("snapshot, nodes of a list", [int(line.rsplit(" ", 1)[1]) for line in links], [4999])


def check(work):
    check_sampled(work)
    check_tracked(work)
    check_snapshot(work)
