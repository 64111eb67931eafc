# SPDX-License-Identifier: BSD-2-Clause
"""alloc --max-overhead: the cost is measured right, the budget is held where it can be, what cannot be
held is said, and estimates stay right on average while the rate changes."""
import json
import math

from lib import SLOW, Memflame, Target, check, equal, lossless, path, run

FAR = 4
# Prices change with what else the machine does, and a run may find itself out of its budget by that:
# how often it is tried before it counts as an error.
TRIES = 4


class OutOfControl(Exception):
    """The machine was too slow for the budget for a while, so that the run ended."""


def seconds_of(blocks, rounds):
    """Of CPU time, without memflame."""
    target = Target("alloc_load", str(blocks), str(rounds))
    truth = target.work()
    target.end()
    return truth["cost"]["work"]["cpu_ns"] / 1e9


def watched(budget, blocks, rounds, *more, ends=False):
    target = Target("alloc_load", str(blocks), str(rounds), *more)
    memflame = Memflame("alloc", "-p", target.pid, "--max-overhead", budget)
    truth = target.work()
    if ends:
        memflame.wait()
    else:
        memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    overhead = summary["overhead"]
    ended = overhead["ended_after_seconds"] is not None
    equal("ended early, as a loss", summary["losses"]["ended_early"]["events"], int(ended))
    if ended and not ends:
        raise OutOfControl(f"{overhead}")
    equal("ended early", ended, ends)
    summary["losses"]["ended_early"]["events"] = 0
    summary["lost_events"] -= int(ends)
    lossless(profile, summary)
    equal("budget", overhead["budget"], budget)
    for price, nanoseconds in overhead["prices"].items():
        # An emulated CPU's time goes by unevenly, and a return's price is a difference.
        least = -1 if SLOW or price == "return_ns" else 100
        check(least < nanoseconds < 1e6, f"{price} of a probe: {nanoseconds}")
    check(overhead["prices"]["stepped_ns"] > 0.8 * overhead["prices"]["entry_ns"],
          f"single-stepping is not cheaper: {overhead['prices']}")
    at = 0
    distance = 0
    for change in overhead["changes"]:
        check(change["seconds"] > at and change["from"] == distance, f"changes: {overhead}")
        check((change["percent"] > budget) == (change["to"] > change["from"] or
                                               change["from"] == 0), f"a change: {change}")
        at, distance = change["seconds"], change["to"]
    notes = " ".join(summary["notes"])
    check("of a budget of" in notes, f"notes: {notes}")
    equal("changes in the notes", notes.count(" before)"), min(12, len(overhead["changes"])))
    return profile, summary, truth, overhead


def blocks_for(rounds, seconds):
    """As many as take about so long, with memflame."""
    per_block = seconds_of(5000, rounds) / 5000 + 8e-6 * (20 if SLOW else 1)
    return int(seconds / per_block)


def cost_is_right():
    """What is said is what the target's CPU time has grown by."""
    rounds = 1000  # so few that the cost is as large as the work, which varies by 10 % by itself
    blocks = blocks_for(rounds, 2)
    said, real = [], []
    for _ in range(3):
        bare = seconds_of(blocks, rounds)
        _, _, truth, overhead = watched(1e6, blocks, rounds)
        equal("changes under a budget that is never reached", overhead["changes"], [])
        said.append(overhead["percent"])
        real.append(100 * (truth["cost"]["work"]["cpu_ns"] / 1e9 / bare - 1))
    print(f"exact: said {said}, by CPU time {real} percent")
    middle_said, middle_real = sorted(said)[1], sorted(real)[1]
    check(0.5 * middle_real < middle_said < 2 * middle_real,
          f"said {said} percent, by CPU time {real}")


def cost_of_all(rounds):
    return watched(1e6, blocks_for(rounds, 4), rounds)[3]["percent"]


def beyond(rounds):
    """The probes alone cost more than the budget: the run ends. Returns about what is left of the cost
    when next to nothing is sampled."""
    _, summary, _, overhead = watched(0.01, blocks_for(rounds, 8), rounds, ends=True)
    check(overhead["beyond_control"], f"beyond control: {overhead}")
    check("measuring ended after" in " ".join(summary["notes"]), summary["notes"])
    return 1.15 * overhead["probes_percent"]


def work_just_over(budget, exact, rounds):
    """Work for each block so that all of them cost somewhat more than the budget."""
    # The cost in percent goes down as the work goes up.
    return int(rounds * exact / (1.5 * budget))


def held(budget, scaled):
    for _ in range(TRIES):
        try:
            _, _, _, overhead = watched(budget, blocks_for(scaled, 6), scaled)
        except OutOfControl as error:
            print(f"budget {budget}, out of control: {error}")
            continue
        print(f"budget {budget}: {overhead}")
        if (overhead["changes"] and not overhead["beyond_control"] and
                overhead["recent_percent"] < 1.25 * budget):
            return
    check(False, f"a budget of {budget} % was not held in {TRIES} runs")


def right_on_average(runs, scaled):
    """Some runs whose rate changes, against what the program states."""
    sums = {column: [0.0, 0.0] for column in ("live", "live-count", "total", "total-count")}
    changes = tries = done = 0
    while done < runs:
        tries += 1
        check(tries <= TRIES * runs, f"{done} of {tries} runs were in control")
        try:
            profile, summary, truth, overhead = watched(5, blocks_for(scaled, 2.5), scaled, "keep")
        except OutOfControl as error:
            print(f"out of control: {error}")
            continue
        done += 1
        changes += len(overhead["changes"])
        for column, sum_ in sums.items():
            wanted = truth["functions"]["block_of"][column.replace("-", "_")]
            sum_[0] += profile.sum(column, "block_of") - wanted
            sum_[1] += summary["standard_errors"][column] ** 2
    check(changes >= runs, f"the rate changed {changes} times in {runs} runs")
    for column, (off, variance) in sums.items():
        print(f"{column}: {off / math.sqrt(variance):+.2f} standard errors off in {runs} runs")
        check(abs(off) < FAR * math.sqrt(variance),
              f"{column} is {off / math.sqrt(variance):.2f} standard errors off")


def nothing_left(scaled):
    for _ in range(TRIES):
        try:
            profile, _, _, overhead = watched(5, blocks_for(scaled, 2.5), scaled)
            break
        except OutOfControl as error:
            print(f"out of control: {error}")
    else:
        check(False, f"out of control in {TRIES} runs")
    check(overhead["changes"] and profile.sum("total"), "samples at changing rates")
    for column in ("live", "live-count"):
        index = profile.columns.index(column)
        equal(f"{column} when all is freed", [frames for frames, values in profile.stacks
                                              if values[index]], [])


def short():
    """A program too short to say anything about."""
    summary = path("short.summary")
    run("alloc", "--max-overhead", "3", "--summary", summary, "-o", path("short.svg"), "--",
        "/bin/true")
    with open(summary, encoding="utf-8") as stream:
        overhead = json.load(stream)["overhead"]
    equal("overhead of a short run", (overhead["percent"], overhead["changes"]), (None, []))


cost_is_right()
rounds = 20000
exact = cost_of_all(rounds)
probes = beyond(rounds)
print(f"exact {exact} percent, probes alone {probes} percent")
check(probes < exact, "sampling is cheaper")
for budget in (20, 5):
    held(budget, work_just_over(budget, exact, rounds))
right_on_average(4 if SLOW else 8, work_just_over(5, exact, rounds))
nothing_left(work_just_over(5, exact, rounds))
short()
