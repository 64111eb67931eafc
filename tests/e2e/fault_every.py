# SPDX-License-Identifier: BSD-2-Clause
"""fault --every N: estimates are unbiased, their stated errors are right, and totals stay exact."""
import json
import re
import statistics

from lib import LONG, SLOW, check, equal, lossless, observe, run
from proc import resident_pages

EVERY = 7
RUNS = 16 if LONG and not SLOW else 8
# Functions whose pages come one by one, so that the spread of their estimates is known beforehand.
SINGLE = ["write_pages", "read_into_fresh", "write_to_advise", "write_to_unmap"]


def deviation(events):
    return (events * (EVERY - 1)) ** 0.5


def exact_totals(summary, columns):
    notes = [note for note in summary["notes"] if note.startswith("exact total of all events: ")]
    equal("notes of exact totals", len(notes), 1)
    return [int(re.search(rf"\b{column} ([\d,]+)", notes[0]).group(1).replace(",", ""))
            for column in columns]


def error_of(document, function):
    """The figures of a function that is called in one place only."""
    said = {stack["error"][stack["frames"].index(function)] for stack in document["stacks"]
            if function in stack["frames"]}
    equal(f"errors of {function}", len(said), 1)
    return said.pop()


def sampled_run(value):
    """Estimates by function, their errors as stated, exact totals, and the truth."""
    resident, documents = [], []

    def before(pid):
        resident.append(resident_pages(pid))

    profile, summary, truth = observe("fault", "fault_truth", "--value", value, "--every", EVERY,
                                      "--no-children", before=before, after=before)
    lossless(profile, summary)
    documents.append(json.load(open(profile.file, encoding="utf-8")))
    equal("estimated", documents[0]["estimated"], True)
    check(documents[0]["sampling"].startswith(f"1 in {EVERY} "), documents[0]["sampling"])
    equal("sampling in the summary", summary["sampling"], documents[0]["sampling"])
    return profile, summary, truth["functions"], documents[0], resident[1] - resident[0]


def check_estimates(value, column):
    seen = {function: [] for function in SINGLE}
    stated, off, totals = [], [], []
    for _ in range(RUNS):
        profile, summary, truth, document, change = sampled_run(value)
        for function in SINGLE:
            estimate = profile.sum(column, function)
            equal(f"{function} in whole samples", estimate % EVERY, 0)
            seen[function].append(estimate)
        stated.append(error_of(document, "write_pages"))
        exact = exact_totals(summary, profile.columns)
        totals.append(exact)
        error = summary["standard_errors"][column]
        off.append((summary["totals"][column] - exact[0]) / error)
        if value == "pages":
            check(abs(exact[0] - exact[1] - change) <= change * 0.01,
                  f"resident pages: {exact}, the system says {change}")
            row = summary["reconciliation"][0]
            check(abs(row["captured"] - row["os"]) <= abs(row["os"]) * 0.01, f"reconciled: {row}")
    for function, estimates in seen.items():
        wanted, mean = truth[function][column], statistics.mean(estimates)
        print(f"{column} {function}: {mean:.0f} of {wanted} in {RUNS} runs,",
              f"deviation {statistics.stdev(estimates):.0f}, predicted {deviation(wanted):.0f}")
        check(abs(mean - wanted) <= 4 * deviation(wanted) / RUNS ** 0.5,
              f"{function}: on average {mean}, wanted {wanted}")
        # So few runs give the deviation itself only to within a factor.
        ratio = statistics.stdev(estimates) / deviation(wanted)
        check(0.3 < ratio < 2.2, f"{function}: spread is {ratio} of what was predicted")
    wanted = deviation(truth["write_pages"][column])
    check(abs(statistics.mean(stated) - wanted) < 0.1 * wanted,
          f"errors as stated: {stated}, wanted about {wanted}")
    check(abs(statistics.mean(off)) < 4 / RUNS ** 0.5 and max(map(abs, off)) < 5,
          f"estimates of the total, in standard errors from the exact one: {off}")
    return totals


check_estimates("pages", "gained")
totals = check_estimates("faults", "minor")

# Each fault counts, whether its stack was taken or not, so there are as many as without --every.
profile, summary, truth = observe("fault", "fault_truth", "--value", "faults", "--no-children")
equal("sampling", summary["sampling"], "")
minor = summary["totals"]["minor"]
check(all(abs(total[0] - minor) <= 20 + minor // 100 for total in totals),
      f"minor faults: {totals} with --every, {minor} without")

for bad in ("0", "16777217", "x"):
    run("fault", "--every", bad, "-p", 1, status=2)
