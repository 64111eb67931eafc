# SPDX-License-Identifier: BSD-2-Clause
"""alloc --max-overhead: the cost that is stated, the rate that follows from it, what cannot be held is
said, and estimates stay right on average while the rate changes. How dear a trap is depends on what else
the machine does, so nothing here depends on a duration being short."""
import json
import math

from lib import SLOW, Memflame, Target, check, equal, lossless, path, run

FAR = 4
# On a busy machine a run may exceed its budget; it then ends and says so. This is how many runs are tried
# until one does not.
TRIES = 4


class OutOfControl(Exception):
    """Whether the run ended because the machine was too slow for the budget for a while."""


def seconds_of(blocks, rounds):
    """The CPU seconds that the target takes without memflame."""
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
        check(overhead["beyond_control"] and overhead["recent_percent"] > budget,
              f"ended within its budget: {overhead}")
        check("measuring ended after" in " ".join(summary["notes"]), summary["notes"])
        raise OutOfControl(f"{overhead}")
    equal("ended early", ended, ends)
    summary["losses"]["ended_early"]["events"] = 0
    summary["lost_events"] -= int(ends)
    lossless(profile, summary)
    equal("budget", overhead["budget"], budget)
    for price, nanoseconds in overhead["prices"].items():
        # An emulated CPU's clock is uneven, and the price of a return is a difference of two times.
        least = -1 if SLOW or price == "return_ns" else 100
        check(least < nanoseconds < 1e7, f"{price} of a probe: {nanoseconds}")
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
    """How many rounds take about this long with memflame."""
    per_block = seconds_of(5000, rounds) / 5000 + 8e-6 * (20 if SLOW else 1)
    return int(seconds / per_block)


def cost_is_right():
    """The stated cost agrees in order of magnitude with the growth of the target's CPU time, which also
    depends on what else runs. scripts/bench-alloc has the figures."""
    rounds = 1000  # so few that the cost is as large as the work
    blocks = blocks_for(rounds, 2)
    bare = min(seconds_of(blocks, rounds) for _ in range(5))
    said, with_probes = [], []
    for _ in range(3):
        _, _, truth, overhead = watched(1e6, blocks, rounds)
        equal("changes under a budget that is never reached", overhead["changes"], [])
        said.append(overhead["percent"])
        with_probes.append(truth["cost"]["work"]["cpu_ns"] / 1e9)
    real = 100 * (min(with_probes) / bare - 1)
    print(f"exact: said {said}, by CPU time {real} percent")
    check(real / 8 < min(said) < 8 * real, f"said {said} percent, by CPU time {real}")


def cost_of_all(rounds):
    return watched(1e6, blocks_for(rounds, 4), rounds)[3]["percent"]


def beyond(rounds):
    """The probes alone cost more than the budget: the run ends."""
    _, summary, _, overhead = watched(0.01, blocks_for(rounds, 8), rounds, ends=True)
    check(overhead["beyond_control"], f"beyond control: {overhead}")
    check("measuring ended after" in " ".join(summary["notes"]), summary["notes"])


def work_just_over(budget, exact, rounds):
    """How much work per block makes watching all blocks cost a little more than the budget."""
    # The cost in percent goes down as the work goes up.
    return int(rounds * exact / (1.5 * budget))


def controlled(*arguments):
    """A run that stayed within its budget, or None after TRIES that did not."""
    for _ in range(TRIES):
        try:
            return watched(*arguments)
        except OutOfControl as error:
            print(f"{arguments}, out of control: {error}")
    return None


def held(budget, scaled):
    """If all blocks cost more than the budget, the rate changes. A cost above the budget at the end has
    just changed the rate again."""
    result = controlled(budget, blocks_for(scaled, 6), scaled)
    if result is None:
        return
    overhead = result[3]
    print(f"budget {budget}: {overhead}")
    check(overhead["changes"] or overhead["percent"] <= budget, f"nothing was done: {overhead}")
    check(overhead["recent_percent"] <= budget or overhead["beyond_control"] or
          overhead["changes"][-1]["percent"] == overhead["recent_percent"],
          f"over the budget of {budget} %, and nothing was done: {overhead}")


def right_on_average(runs, scaled):
    """Runs whose rate changes, compared with the figures that the program states."""
    sums = {column: [0.0, 0.0] for column in ("live", "live-count", "total", "total-count")}
    changes = done = over = 0
    for _ in range(runs):
        result = controlled(5, blocks_for(scaled, 2.5), scaled, "keep")
        if result is None:
            break
        profile, summary, truth, overhead = result
        done += 1
        changes += len(overhead["changes"])
        over += overhead["percent"] > 5
        for column, sum_ in sums.items():
            wanted = truth["functions"]["block_of"][column.replace("-", "_")]
            sum_[0] += profile.sum(column, "block_of") - wanted
            sum_[1] += summary["standard_errors"][column] ** 2
    if done == 0:
        return
    check(changes >= over, f"the rate changed {changes} times in {done} runs, {over} of them over budget")
    for column, (off, variance) in sums.items():
        print(f"{column}: {off / math.sqrt(variance):+.2f} standard errors off in {done} runs")
        check(abs(off) < FAR * math.sqrt(variance),
              f"{column} is {off / math.sqrt(variance):.2f} standard errors off")


def nothing_left(scaled):
    result = controlled(5, blocks_for(scaled, 2.5), scaled)
    if result is None:
        return
    profile = result[0]
    check(profile.sum("total"), "samples at changing rates")
    for column in ("live", "live-count"):
        index = profile.columns.index(column)
        equal(f"{column} when all is freed", [frames for frames, values in profile.stacks
                                              if values[index]], [])


def short():
    """A program that is too short for a verdict."""
    summary = path("short.summary")
    run("alloc", "--max-overhead", "3", "--summary", summary, "-o", path("short.svg"), "--",
        "/bin/true")
    with open(summary, encoding="utf-8") as stream:
        overhead = json.load(stream)["overhead"]
    equal("overhead of a short run", (overhead["percent"], overhead["changes"]), (None, []))


cost_is_right()
rounds = 20000
exact = cost_of_all(rounds)
print(f"exact {exact} percent")
beyond(rounds)
for budget in (20, 5):
    held(budget, work_just_over(budget, exact, rounds))
right_on_average(4 if SLOW else 8, work_just_over(5, exact, rounds))
nothing_left(work_just_over(5, exact, rounds))
short()
