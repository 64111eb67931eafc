# SPDX-License-Identifier: BSD-2-Clause
"""perf script text: about 31 frames a stack, 50,000 distinct ones in 1 GB."""

import os


def run(bench):
    options = bench.options
    size = max(1, round(1000 * options.scale))
    stacks = max(100, round(50000 * options.scale))
    path = bench.made(f"perf-{size}.txt", [bench.program("make_perf"), str(size), str(stacks)])
    floor = bench.program("floor")
    ours = [bench.memflame, "collapse", "--from", "perf-script", "--threads"]
    rows = [
        ("wc -l", ["wc", "-l", path], None),
        ("newline count", [floor, "count", path], None),
        ("bare loop", [floor, "perf", path], None),
        ("reading (--list), 1 thread", ours + ["1", "--list", path], None),
        ("reading (--list), 2 threads", ours + ["2", "--list", path], None),
        ("memflame, 1 thread", ours + ["1", path], None),
        ("memflame, 2 threads", ours + ["2", path], None),
        ("memflame, 1 thread, pipe", ours + ["1", "-"], path),
        ("memflame, 2 threads, pipe", ours + ["2", "-"], path),
    ]
    if options.inferno_collapse_perf:
        for threads in ["1", "2"]:
            rows.append((f"inferno -n {threads}", [options.inferno_collapse_perf, "-q", "-n", threads, path], None))
    if options.stackcollapse_perf:
        rows.append(("stackcollapse-perf.pl", ["perl", options.stackcollapse_perf, path], None))
    found = bench.measure("perf script", os.path.getsize(path), rows)
    # The bare loop writes nothing.
    bench.ratio(found, "reading (--list), 1 thread", "bare loop", 1, 1.5)
    bench.ratio(found, "memflame, 1 thread", "bare loop", 1, 1.5)
    bench.ratio(found, "reading (--list), 2 threads", "reading (--list), 1 thread", 0, 1.8, least=True)
    bench.ratio(found, "memflame, 2 threads", "memflame, 1 thread", 0, 1.8, least=True)
    bench.ratio(found, "memflame, 1 thread", "inferno -n 1", 1, 10, least=True)
    bench.ratio(found, "memflame, 2 threads", "inferno -n 2", 2, 1.0)
    bench.ratio(found, "memflame, 1 thread, pipe", "memflame, 1 thread", 0, 1.2)
    bench.ratio(found, "memflame, 2 threads, pipe", "memflame, 2 threads", 0, 1.2)
