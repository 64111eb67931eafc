# SPDX-License-Identifier: BSD-2-Clause
"""Go's own heap profile, and memflame's pprof as `go tool pprof` reads it; its JSON as node does."""

PACKAGES = ["golang-go", "nodejs"]

SOURCE = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

type node struct {
	next *node
	data [1024]byte
}

var keep []*node
var blobs [][]byte

func leaf(n int) []byte { return make([]byte, n) }

func grow(n int) {
	for i := 0; i < n; i++ {
		keep = append(keep, &node{})
		if i%4 == 0 {
			leaf(2048)
		}
		blobs = append(blobs, leaf(512))
	}
}

func main() {
	runtime.MemProfileRate = 4096
	grow(3000)
	runtime.GC()
	f, _ := os.Create(os.Args[1])
	pprof.WriteHeapProfile(f)
	f.Close()
}
"""

SUM = """
const fs = require("fs");
const read = name => JSON.parse(fs.readFileSync(name));
const weights = read("again.speedscope.json").profiles.map(p => p.weights.reduce((a, b) => a + b, 0));
const tree = read("again.tree.json");
const own = read("again.json");
const at = own.value_types.findIndex(t => t.name === "inuse_space");
const inner = n => n.self + (n.children || []).reduce((a, c) => a + inner(c), 0);
console.log([...weights, tree.value, inner(tree),
             own.stacks.reduce((a, s) => a + s.values[at], 0)].join(" "));
"""


def totals(work, name):
    """Column -> total, from the sample lines of `go tool pprof -raw`."""
    text, _ = work.run(["go", "tool", "pprof", "-raw", work.path(name)])
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("Samples:"):
            break
    columns = [word.split("/")[0] for word in next(lines).split()]
    sums = [0] * len(columns)
    for line in lines:
        if line.startswith("Locations"):
            break
        figures = line.partition(":")[0].split()
        if len(figures) == len(columns):
            sums = [a + int(b) for a, b in zip(sums, figures)]
    return dict(zip(columns, sums))


def top(work, name, column):
    """Function -> (flat, cumulative) bytes, from `go tool pprof -top`."""
    text, _ = work.run(["go", "tool", "pprof", "-top", "-unit=B", "-nodecount=0", "-nodefraction=0",
                        "-edgefraction=0", f"-sample_index={column}", work.path(name)])
    rows = {}
    for line in text.splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and words[1].endswith("%"):
            rows[words[5]] = (words[0], words[3])
    return rows


def check(work):
    source = work.write("heap.go", SOURCE)
    environment = ["env", "GO111MODULE=off", f"GOCACHE={work.path('cache')}"]
    work.run([*environment, "go", "build", "-o", work.path("heap"), source])
    work.run([work.path("heap"), work.path("heap.pb.gz")])
    version, _ = work.run(["go", "version"])
    print(f"{work.tool}: {version.strip()}")
    theirs = totals(work, "heap.pb.gz")
    ours = work.totals("heap.pb.gz")
    for column, total in theirs.items():
        work.same(f"Go heap profile, {column}", ours[column], total)
    for name in ("again.pb.gz", "again.speedscope.json", "again.tree.json", "again.csv", "again.json"):
        work.run([work.memflame, "collapse", work.path("heap.pb.gz"), "-o", work.path(name)])
    for column, total in totals(work, "again.pb.gz").items():
        work.same(f"written as pprof, {column}", total, theirs[column])
    for column in theirs:
        rows = [set(top(work, name, column).items()) for name in ("heap.pb.gz", "again.pb.gz")]
        work.same(f"-top of it, {column}: rows", len(rows[0] & rows[1]), len(rows[0] | rows[1]))
    for name in ("again.speedscope.json", "again.json"):
        for column, total in work.totals(name).items():
            work.same(f"{name}, {column}", total, theirs[column])
    text, _ = work.run(["node", "-e", SUM])
    *columns, root, inner, own = (int(word) for word in text.split())
    for column, total in zip(theirs, columns):
        work.same(f"speedscope in node, {column}", total, theirs[column])
    for what, figure in (("tree in node", root), ("tree in node, its leaves", inner),
                         ("memflame's JSON in node", own)):
        work.same(what, figure, theirs["inuse_space"])
