# SPDX-License-Identifier: BSD-2-Clause
"""Stacks compared with what a program states about them, function by function.

Section "chains" of a truth says for a function which callers it has where it is the innermost of the
program's functions in a stack: names from the inside to the outside, up to the end of the stack. Of
the program are the names that occur in its chains, and all in the namespace chain. Besides names:

    +            one or more frames that are not of the program
    *            none or more
    .            exactly one
    NAME*        one whose name begins so
    NAME|NAME    one or the other
    ?NAME        one that may be missing
    300 x NAME   300 in a row
"""
import os
import re

from lib import check, equal

WILD = {"+": "+", "*": "*", ".": ""}
_MARK = re.compile(r"\[(truncated|lost|no stack)")


def plain(name):
    """A function's name without the suffix of a clone, which is a part that the compiler put elsewhere."""
    return name.replace(" [clone .cold]", "")


def _named(element):
    if element.endswith("*"):
        return re.escape(element[:-1]) + "[^\n]*\n"
    return "(?:" + "|".join(map(re.escape, element.split("|"))) + ")\n"


class Chains:
    def __init__(self, truth):
        self.stated = {re.compile(_named(leaf)): (leaf, callers)
                       for leaf, callers in truth["chains"].items()}
        names = {"main"}
        for leaf, callers in truth["chains"].items():
            for element in [leaf, *callers]:
                if element not in WILD:
                    names.update(re.sub(r"^(\?|\d+ x )", "", element).rstrip("*").split("|"))
        self.names = names
        self.patterns = {leaf: re.compile(self._pattern(callers))
                         for leaf, callers in truth["chains"].items()}

    def _pattern(self, callers):
        own = "|".join([re.escape(name) + "\n" for name in self.names] + ["chain::"])
        foreign = f"(?:(?!{own})[^\n]*\n)"
        pattern = ""
        for element in callers:
            if element in WILD:
                pattern += foreign + WILD[element]
            elif element.startswith("?"):
                pattern += f"(?:{_named(element[1:])})?"
            elif times := re.match(r"(\d+) x (.*)", element):
                pattern += f"(?:{_named(times[2])}){{{times[1]}}}"
            else:
                pattern += _named(element)
        return pattern + r"\Z"

    def is_own(self, name):
        return name in self.names or name.startswith("chain::")

    def split(self, frames):
        """(leaf, callers from the innermost outwards); None if no function is the program's."""
        for index in range(len(frames) - 1, -1, -1):
            if self.is_own(plain(frames[index])):
                return plain(frames[index]), [plain(name) for name in reversed(frames[:index])]
        return None, []

    def leaf_of(self, name):
        for pattern, (leaf, _) in self.stated.items():
            if pattern.fullmatch(name + "\n"):
                return leaf
        return None


# Before 6.2 a fault's pages are known at the thread's next fault, so the last one counts elsewhere.
LATE_PAGES = 2 if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2) else 0

# Frames at the root of a stack that are not code: the process, and a probe's own categories.
ROOT = {"alloc": 1, "brk": 1, "mmap": 2, "fault": 1}


def compare(profile, truth, probe, others=False, at_least=False, cut=False):
    """Every stack whose innermost function of the program is stated has exactly the callers that are
    stated, none is cut, and each stated function has its figures. `others`: functions of the program
    that are not stated may be innermost too. `at_least`: there may be more events than stated.
    `cut`: stacks that are marked as cut are left out of everything. Returns the sums of the columns
    that were compared, by function."""
    chains = Chains(truth)
    seen, wrong = {}, []
    for frames, values in profile.stacks:
        leaf, callers = chains.split(frames[ROOT[probe]:])
        stated = chains.leaf_of(leaf) if leaf else None
        if any(_MARK.match(frame) for frame in frames):
            if not cut:
                wrong.append(f"cut: {' < '.join(reversed(frames))}")
            continue
        if stated is None:
            if leaf and not others:
                wrong.append(f"not stated: {leaf}: {' < '.join(reversed(frames))}")
            continue
        if not chains.patterns[stated].match("".join(name + "\n" for name in callers)):
            wrong.append(f"{leaf}: {' < '.join(reversed(frames))}\n    wanted {truth['chains'][stated]}")
        sums = seen.setdefault(stated, [0] * len(profile.columns))
        for index, value in enumerate(values):
            sums[index] += value
    shown = [text if len(text) < 1500 else text[:700] + " … " + text[-700:] for text in wrong[:20]]
    check(not wrong, f"{len(wrong)} stacks are not as stated:\n  " + "\n  ".join(shown))

    compared = 0
    for name, figures in truth.get("functions", {}).items():
        for key, wanted in figures.items():
            column = key.replace("_", "-")
            if column not in profile.columns:
                continue
            compared += 1
            got = seen.get(name, [0] * len(profile.columns))[profile.columns.index(column)]
            slack = LATE_PAGES if column == "gained" else 0
            if (got < wanted - slack and not cut) or (got > wanted + slack and not at_least):
                wrong.append(f"{name} {column}: got {got}, wanted {wanted}")
    check(not wrong, "figures that differ:\n  " + "\n  ".join(wrong))
    check(compared, "nothing was compared")
    return seen


def complete(summary, least=1.0):
    """At least this share of the captured stacks is complete."""
    stacks = summary["stacks"]
    equal("stops add up to the captured stacks", sum(stacks["stops"].values()), stacks["captured"])
    check(stacks["captured"] > 0, "no stack was captured")
    share = stacks["stops"]["complete"] / stacks["captured"]
    check(share >= least, f"only {100 * share:.3f} % of the stacks are complete: {stacks}")
