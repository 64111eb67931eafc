# SPDX-License-Identifier: BSD-2-Clause
"""--by-type, --by-module and --by-line of a probe's output: real names, and sums as without them."""
import json

from lib import USAGE, check, equal, example, path, run

ORDERS, ACCOUNTS, TEXTS, PLAIN = 16000, 40960, 3003 + 3 * 32, 5000


def watch(name, *options):
    """Stacks with their bytes, and the sum that the summary states."""
    output, summary = path(f"{name}.folded"), path(f"{name}.summary")
    run("alloc", *options, "--value", "total", "-o", output, "--summary", summary, "--",
        example("typed"))
    stacks = []
    with open(output, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                stack, _, value = line.rstrip("\n").rpartition(" ")
                stacks.append((stack.split(";"), int(value)))
    with open(summary, encoding="utf-8") as text:
        total = json.load(text)["totals"]["total"]
    return stacks, total


def roots(stacks):
    sums = {}
    for frames, value in stacks:
        sums[frames[0]] = sums.get(frames[0], 0) + value
    return sums


plain, total = watch("plain")
equal("without a grouping", sum(value for _, value in plain), total)

for name, options in (("types", ["--by-type"]), ("turned", ["--by-type", "--reverse"]),
                      ("inside", ["--by-type", "--inside"])):
    stacks, whole = watch(name, *options)
    equal(f"{name}: the sum", sum(value for _, value in stacks), whole)
    by_type = roots(stacks)
    for kind, wanted in (("shop::order", ORDERS), ("shop::account", ACCOUNTS), ("std::string", TEXTS),
                         ("[in shop::plain()]", PLAIN)):
        equal(f"{name}: bytes of {kind}, of {by_type}", by_type.get(kind), wanted)

stacks, whole = watch("modules", "--by-module")
equal("modules: the sum", sum(value for _, value in stacks), whole)
for frames, _ in stacks:  # the first frame is the process
    check(all(a != b for a, b in zip(frames[1:], frames[2:])), f"a module twice in a row: {frames}")
    check(not any("(" in frame for frame in frames), f"a function among modules: {frames}")
check(any("typed" in frames for frames, _ in stacks), f"the program is a module: {stacks}")
own = sum(value for frames, value in stacks if frames[-1] == "typed")
check(own > 0, f"memory is that of the program, not of its allocator: {stacks}")
stacks, whole = watch("all modules", "--by-module", "--blame", "all")
equal("all modules: the sum", sum(value for _, value in stacks), whole)
equal("all modules: memory of the program", sum(value for frames, value in stacks if frames[-1] == "typed"), 0)

stacks, whole = watch("lines", "--by-line")
equal("lines: the sum", sum(value for _, value in stacks), whole)
check(any("typed.cc:" in frame for frames, _ in stacks for frame in frames), f"lines: {stacks}")

stacks, whole = watch("both", "--by-type", "--by-module")
equal("both: the sum", sum(value for _, value in stacks), whole)
equal("both: accounts", roots(stacks).get("shop::account"), ACCOUNTS)

done = run("alloc", "--by-module", "--by-line", "--", "true", status=USAGE)
check("--by-module and --by-line are mutually exclusive" in done.stderr, done.stderr)
