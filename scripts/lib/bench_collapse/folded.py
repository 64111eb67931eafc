# SPDX-License-Identifier: BSD-2-Clause
"""Folded text: 1 M distinct stacks of about 18 frames in 1 GB, sorted and shuffled; two such texts compared."""

import os


def run(bench):
    options = bench.options
    stacks = max(1000, round(1e6 * options.scale))
    make = bench.program("make_folded")
    sorted_text = bench.made(f"folded-{stacks}.txt", [make, str(stacks)])
    shuffled = bench.made(f"folded-{stacks}-shuffled.txt", [make, str(stacks), "shuffled"])
    later = bench.made(f"folded-{stacks}-later.txt", [make, str(stacks), "later"])
    merge(bench, "folded, sorted", sorted_text)
    merge(bench, "folded, shuffled", shuffled)
    compare(bench, sorted_text, later)


def merge(bench, title, path):
    """--list reads and merges everything and writes totals only; without it all stacks are written."""
    floor = bench.program("folded_floor")
    collapse = [bench.memflame, "collapse", "--from", "folded", "--threads"]
    rows = [
        ("wc -l", ["wc", "-l", path], None),
        ("newline count", [floor, "newlines", path], None),
        ("flat hash of the lines", [floor, "lines", path], None),
        ("bare trie", [floor, "trie", path], None),
    ]
    for threads, name in [("1", "1 thread"), ("2", "2 threads")]:
        rows += [
            (f"merge, {name}", collapse + [threads, "--list", path], None),
            (f"merge, {name}, pipe", collapse + [threads, "--list", "-"], path),
            (f"collapse, {name}", collapse + [threads, path], None),
        ]
    found = bench.measure(title, os.path.getsize(path), rows)
    best = min(["merge, 1 thread", "merge, 2 threads"], key=lambda name: found[name][0])
    bench.ratio(found, best, "flat hash of the lines", 0, 1.5)
    bench.ratio(found, "merge, 1 thread", "flat hash of the lines", 1, 1.5)
    bench.ratio(found, "merge, 1 thread", "bare trie", 0, 1.0)
    for name in ["1 thread", "2 threads"]:
        bench.ratio(found, f"merge, {name}, pipe", f"merge, {name}", 0, 1.2)


def compare(bench, before, after):
    options = bench.options
    floor = bench.program("folded_floor")
    diff = [bench.memflame, "diff", "--from", "folded", "--threads"]
    rows = [
        ("flat hash of one", [floor, "lines", before], None),
        ("diff, 1 thread", diff + ["1", before, after], None),
        ("diff, 2 threads", diff + ["2", before, after], None),
        ("diff, 2 threads, totals only", diff + ["2", "--list", before, after], None),
    ]
    if options.inferno_diff_folded:
        rows.append(("inferno-diff-folded", [options.inferno_diff_folded, before, after], None))
    if options.difffolded:
        rows.append(("difffolded.pl", ["perl", options.difffolded, before, after], None))
    found = bench.measure("diff", os.path.getsize(before) + os.path.getsize(after), rows)
    bench.ratio(found, "diff, 2 threads", "inferno-diff-folded", 0, 5, least=True)
    bench.ratio(found, "diff, 2 threads", "inferno-diff-folded", 2, 1.0)
    bench.ratio(found, "diff, 2 threads", "difffolded.pl", 0, 5, least=True)
    # Its time was 11.4 flat hashes of one of the texts where both were measured side by side.
    implied = 11.4 * found["flat hash of one"][0] / found["diff, 2 threads"][0]
    print(f"- implied, not measured: diff, 2 threads is {implied:.1f} x as fast as inferno-diff-folded")
