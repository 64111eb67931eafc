# SPDX-License-Identifier: BSD-2-Clause
"""Whether estimates of alloc_sampled's blocks are right on average, and as far off as predicted. It allocates a
gibibyte in blocks of mixed sizes, and frees half of it.

Bounds are those of statistics: a mean is within 4.5 standard errors of the truth, which fails by chance once in
150,000."""
import math
import random

from lib import check, equal, lossless

COLUMNS = ("live", "live-count", "total", "total-count")
FAR = 4.5


def sizes():
    """(size, whether it stays allocated) of every block of alloc_sampled."""
    state, total, index = 0x9e3779b97f4a7c15, 0, 0

    def draw():
        nonlocal state
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        return state

    while total < 1 << 30:
        power = 16 << draw() % 16
        size = power + draw() % (power + 1)
        yield size, index % 2 == 0
        total += size
        index += 1
    for index in range(60000):
        yield 48, index % 2 == 0


BLOCKS = list(sizes())


def truth_and_error(probability):
    """The true sums, and the standard errors that sampling should give."""
    sums, variances = dict.fromkeys(COLUMNS, 0), dict.fromkeys(COLUMNS, 0.0)
    for size, stays in BLOCKS:
        p = probability(size)
        for column in COLUMNS:
            if column.startswith("live") and not stays:
                continue
            value = 1 if column.endswith("count") else size
            sums[column] += value
            # A sampled block stands for a whole number of blocks, 1/p on average.
            rounding = (1 / p % 1) * (1 - 1 / p % 1) * p if column.endswith("count") else 0
            variances[column] += value * value * (1 - p) / p + rounding
    return sums, {column: math.sqrt(variance) for column, variance in variances.items()}


def spread_bounds(runs):
    """Bounds of a variance from `runs` runs, relative to the true one: chi-square's middle 0.99998."""
    draws = random.Random(1)
    ratios = sorted(draws.gammavariate((runs - 1) / 2, 2 / (runs - 1)) for _ in range(200000))
    return ratios[2] * 0.9, ratios[-3] * 1.1  # estimates are not quite normally distributed


def said_bounds(probability, column, runs, tiny):
    """Bounds of the variance that is said, the mean of the runs. `tiny`: the mean estimate of the tiny blocks, of which 512 KiB
    between samples meet three, although they are most of all blocks. Each of these says the same, so what they say is known."""
    def said(size):
        p = probability(size)
        return p, (1 if column.endswith("count") else size * size) * (1 - p) / (p * p)

    mean = spread = 0.0
    for size, stays in BLOCKS:
        if function_of(size) == "tiny_blocks" or (column.startswith("live") and not stays):
            continue
        p, part = said(size)
        mean += p * part
        spread += p * (1 - p) * part * part
    p, part = said(48)
    mean += tiny / (1 if column.endswith("count") else 48) * p * part
    far = FAR * math.sqrt(spread / runs)
    # What is said is rounded.
    return 0.97 * (mean - far), 1.03 * (mean + far)


def function_of(size):
    return "tiny_blocks" if size == 48 else "small_block" if size < 4096 else "large_block"


def check_rate(observe, options, probability, runs):
    """`observe(*options)` watches a run and gives its profile, summary and truth."""
    sums, errors = truth_and_error(probability)
    found = {column: [] for column in COLUMNS}
    predicted = {column: [] for column in COLUMNS}
    functions = {}
    tiny = dict.fromkeys(COLUMNS, 0)
    for _ in range(runs):
        profile, summary, truth = observe(*options)
        lossless(profile, summary)
        for column in COLUMNS:
            found[column].append(profile.sum(column))
            predicted[column].append(summary["standard_errors"][column])
            tiny[column] += profile.sum(column, "tiny_blocks")
            stated = sum(f[column.replace("-", "_")] for f in truth["functions"].values())
            equal(f"the sizes known here and to the program, {column}", stated, sums[column])
        for function in truth["functions"]:
            inside = profile.sum("total", "small_block", "tiny_blocks")
            functions.setdefault(function, []).append(
                profile.sum("total", function) - (inside if function == "small_block" else 0))
        check(summary["sampling"], "the summary says that figures are estimates")
    low, high = spread_bounds(runs)
    for column in COLUMNS:
        mean = sum(found[column]) / runs
        off = (mean - sums[column]) / (errors[column] / math.sqrt(runs))
        spread = sum((value - mean) ** 2 for value in found[column]) / (runs - 1)
        ratio = spread / errors[column] ** 2
        said = math.sqrt(sum(error ** 2 for error in predicted[column]) / runs)
        print(f"{' '.join(options):18} {column:12} mean {mean / sums[column]:.4f} of the truth "
              f"({off:+.1f} standard errors), error of a run {errors[column] / sums[column]:.4f}, "
              f"said {said / sums[column]:.4f}, spread {math.sqrt(ratio):.2f} of it")
        check(abs(off) < FAR, f"{options} {column}: the mean is {off:.1f} standard errors off")
        if runs >= 100 and "524288" in options:
            check(abs(mean / sums[column] - 1) < 0.01 or column.endswith("count"),
                  f"{options} {column}: the mean is {mean / sums[column]:.4f} of the truth")
        check(low < ratio < high, f"{options} {column}: the spread is {ratio:.2f} of the variance, "
                                  f"not {low:.2f} to {high:.2f}")
        least, most = said_bounds(probability, column, runs, tiny[column] / runs)
        check(least <= said ** 2 <= most,
              f"{options} {column}: the variance {said ** 2:.4g} is said, not {least:.4g} to {most:.4g}")
    # Each part, too.
    for function in functions:
        parts = [size for size, _ in BLOCKS if function == function_of(size)]
        error = math.sqrt(sum(s * s * (1 - probability(s)) / probability(s) for s in parts) / runs)
        mean = sum(functions[function]) / runs
        check(abs(mean - sum(parts)) < FAR * error,
              f"{options} {function}: mean {mean}, wanted {sum(parts)} ± {error}")


def check_nothing_left(options, profile, summary):
    """A run at whose end all was freed."""
    lossless(profile, summary)
    check(profile.sum("total") > 0, f"{options}: nothing was sampled")
    for column in ("live", "live-count"):
        index = profile.columns.index(column)
        equal(f"{options}: stacks with something {column} when all is freed",
              [frames for frames, values in profile.stacks if values[index]], [])


def poisson(mean):
    return lambda size: -math.expm1(-size / mean)
