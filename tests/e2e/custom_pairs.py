# SPDX-License-Identifier: BSD-2-Clause
"""alloc --alloc/--free/--preset: functions that the user declares are exact to the byte. A declaration
that names no function, or several, is refused."""
import json
import os

from lib import Memflame, Target, check, equal, example, lossless, path, run

LIBRARY = "libcustom_pairs.so"
ALLOC = [f"{LIBRARY}:custom_alloc(size=arg0,ptr=ret)",
         "custom_array(size=arg0*arg1,ptr=ret)",
         "custom_array32(size32=arg0*arg1,ptr=ret)",
         "*:custom_create(ptr=*arg0,size=arg2)",
         f"{example(LIBRARY)}:custom_resize(old=arg0,size=arg1,ptr=ret,zero-frees)",
         "libcustom_*:custom_throwing(size=arg0,ptr=ret,throws)",
         "custom_wrapped(size=arg0)",
         "custom_pool_alloc(pool=arg0,size=arg1)"]
FREE = ["custom_free(ptr=arg0)",
        "custom_release(ptr=arg1)",
        "custom_pool_clear(pool=arg0)",
        "custom_pool_destroy(pool=arg0,forwards)"]


def options(allocs, frees):
    return [word for option, texts in (("--alloc", allocs), ("--free", frees))
            for text in texts for word in (option, text)]


def exact(*declared):
    target = Target("custom_truth")
    memflame = Memflame("alloc", "-p", target.pid, *declared)
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(truth["functions"])
    # HeapProfd's custom heap: 40 bytes in all, 25 freed, 15 left.
    total = profile.sum("total", "ten_and_twice_fifteen")
    live = profile.sum("live", "ten_and_twice_fifteen")
    equal("the custom heap", (total, total - live, live), (40, 25, 15))
    lossless(profile, summary)
    # An exception is allocated inside the call that it leaves, and freed outside.
    misses = summary["losses"]["free_miss"]["events"]
    known = truth["counters"]["free_miss"]["events"]
    check(known <= misses <= known + truth["counters"]["exceptions"]["events"],
          f"free misses: got {misses}, wanted {known} and those of exceptions")
    for column in profile.columns:
        stated = sum(each[column.replace("-", "_")] for each in truth["functions"].values())
        equal(f"all of {column}", profile.sum(column), stated)


def preset_file():
    """The same declarations, from a file."""
    file = path("custom.json")
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"name": "custom", "description": "all pairs", "alloc": ALLOC, "free": FREE},
                  stream)
    return file


def errors():
    target = Target("custom_truth")

    def said(status, *arguments):
        lines = run("alloc", "-p", target.pid, "-d", "1", *arguments, status=status).stderr
        found = [line for line in lines.splitlines() if "error: " in line]
        equal(f"lines of the error for {arguments}", len(found), 1)
        return found[0]

    def wants(text, *words):
        for word in words:
            check(word in text, f"{word!r} is not in {text!r}")

    wants(said(2, "--alloc", "custom_alloc(size=ret)"), "column 19: expected arg0 to arg5")
    wants(said(2, "--free", "custom_free()"), "column 13: expected one of ptr=")
    wants(said(2, "--preset", "pythn"), "no preset 'pythn': there are ", "python")
    wants(said(1, "--alloc", "custom_aloc(size=arg0)"), "no function 'custom_aloc'",
          f"custom_alloc in {os.path.realpath(example(LIBRARY))}")
    wants(said(1, "--alloc", "libnot.so:custom_alloc(size=arg0)"), "no file of the target is",
          LIBRARY)
    wants(said(1, "--alloc", "custom_twin(size=arg0)"), "several functions",
          f"{LIBRARY}:+0x", "say which by FILE:+OFFSET")
    wants(said(1, "--alloc", "custom_counter(size=arg0)"), "is data, not a function")
    wants(said(1, "--alloc", f"{LIBRARY}:+0x10(size=arg0)"), "is not in the file's code")
    wants(said(1, "--preset", "lua"), "--preset lua: none of its allocating functions")
    # One of the two by its address, as the error names it.
    place = said(1, "--alloc", "custom_twin(size=arg0)").split("candidates: ")[1].split(",")[0]
    run("alloc", "-p", target.pid, "-d", "0.2", "--alloc", f"{place}(size=arg0)")
    run("alloc", "-p", target.pid, "-d", "0.2", "--preset", "lua,later")
    target.work()
    target.end()


if __name__ == "__main__":
    exact(*options(ALLOC, FREE))
    exact("--preset", preset_file())
    errors()
