# SPDX-License-Identifier: BSD-2-Clause
"""Heap profiles of Go: text (debug=1) and protocol buffer, against go tool pprof."""

import re

PACKAGES = ["golang-go"]

SOURCE = """
package main

import (
\t"os"
\t"runtime"
\t"runtime/pprof"
)

var kept [][]byte

//go:noinline
func keep(n, size int) {
\tfor i := 0; i < n; i++ {
\t\tkept = append(kept, make([]byte, size))
\t}
}

var last []byte

//go:noinline
func drop(n, size int) {
\tfor i := 0; i < n; i++ {
\t\tlast = make([]byte, size)
\t}
}

func main() {
\truntime.MemProfileRate = RATE
\tkeep(1000, 4096)
\tkeep(10, 1<<20)
\tdrop(100, 1<<20)
\truntime.GC()
\truntime.GC()
\ttext, _ := os.Create(os.Args[1])
\tpprof.Lookup("heap").WriteTo(text, 1)
\ttext.Close()
\tproto, _ := os.Create(os.Args[2])
\tpprof.Lookup("heap").WriteTo(proto, 0)
\tproto.Close()
}
"""


def pprof_total(work, profile, column):
    text, _ = work.run(["go", "tool", "pprof", "-top", "-unit=B", f"-sample_index={column}", profile])
    return int(re.search(r"of (\d+)B total", text.replace("\n", " ")).group(1))


def check(work):
    for rate in (1, 65536):
        program = work.path(f"keeper{rate}")
        source = work.write(f"keeper{rate}.go", SOURCE.replace("RATE", str(rate)))
        work.run(["go", "build", "-o", program, source],
                 env={"HOME": work.folder, "PATH": "/usr/bin:/bin", "GO111MODULE": "off"})
        text, proto = f"heap{rate}.txt", f"heap{rate}.pb.gz"
        work.run([program, text, proto])
        for column in ("inuse_space", "alloc_space"):
            ours = work.total(text, column)
            work.same(f"1 in {rate}: text, {column}", ours, pprof_total(work, text, column))
        rows = work.collapse(text, "--value", "inuse_space")
        kept = sum(int(row.rsplit(" ", 1)[1]) for row in rows if "main.keep" in row)
        if rate == 1:
            work.same("kept by main.keep, at least", min(kept, 1000 * 4096 + (10 << 20)),
                      1000 * 4096 + (10 << 20))
