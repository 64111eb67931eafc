# SPDX-License-Identifier: BSD-2-Clause
"""leaks --fail-on: a leak fails a build, with reports that hold its exact bytes; what is known passes."""
import json
import re
import xml.etree.ElementTree as xml

from leaks_lib import Steps
from lib import LOSSY, USAGE, Memflame, check, equal, example, path, run

FOUND = 5
STEPS = example("leak_steps")  # small: 30,000 bytes in 10 blocks; large: 40,000 in 2; nothing else allocates


def leaks(*options, steps=("small", "large"), status=0, command=(STEPS,)):
    return run("leaks", "-o", path("report.txt"), *options, "60", "--", *command, status=status,
               input="".join(f"{step}\n" for step in steps)).stderr


def written(name, text):
    with open(path(name), "w", encoding="utf-8") as stream:
        stream.write(text)
    return path(name)


def read_json(name):
    with open(path(name), encoding="utf-8") as stream:
        return json.load(stream)


def reports():
    """What is left at exit fails; all reports have it to the byte, and the frames with their lines."""
    names = [path(f"check.{suffix}") for suffix in ("xml", "sarif", "json")]
    said = leaks("--fail-on", "leak", *sum((["--report", name] for name in names), []), status=FOUND)
    check("leak check failed (--fail-on leak): 2 stacks, 68.4 KiB in 12 blocks" in said and
          "leak_large  leak_steps.cc:" in said, said)
    document = read_json("check.json")
    equal("the sum", (document["leaked_bytes"], document["leaked_blocks"], document["failed"]),
          (70000, 12, True))
    stacks = {stack["frames"][stack["caller"]]["function"]: stack for stack in document["stacks"]}
    equal("each stack", {name: (stack["leaked_bytes"], stack["leaked_blocks"], stack["outcome"])
                         for name, stack in stacks.items()},
          {"leak_small": (30000, 10, "failed"), "leak_large": (40000, 2, "failed")})
    suite = xml.parse(names[0]).getroot().find("testsuite")
    equal("JUnit", (suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("3", "2", "0"))
    equal("its cases", [case.get("name").split(" ")[0] for case in suite.iter("testcase")][:2],
          ["leak_large", "leak_small"])
    check("left 2 blocks, 39.1 KiB" in suite.find("testcase/failure").get("message"), "the sentence")
    results = read_json("check.sarif")["runs"][0]["results"]
    equal("SARIF", [(result["ruleId"], result["properties"]["leakedBytes"]) for result in results],
          [("leak/leak", 40000), ("leak/leak", 30000)])
    place = results[0]["locations"][0]["physicalLocation"]
    check(place["artifactLocation"]["uri"].endswith("leak_steps.cc") and place["region"]["startLine"] > 1,
          f"the line of code: {place}")


def limits():
    check("passed" in leaks("--fail-if-leaked", "70000"), "not more than the limit")
    said = leaks("--fail-if-leaked", "69999", status=FOUND)
    check("leaked in all: 68.4 KiB in 12 blocks, more than the 68.4 KiB" in said, said)
    said = leaks("--fail-on", "leak", "--min-bytes", "35000", status=FOUND)
    check("2 blocks\n" in said and "below --min-bytes or --min-blocks: 1 stack, 29.3 KiB in 10 blocks" in said,
          said)
    said = leaks("--fail-on", "leak", "--min-rate", "1M/h")
    check("without a steady rate: 2 stacks, 68.4 KiB in 12 blocks" in said, said)
    # Blocks of the warm-up are not judged.
    leaks("--fail-on", "leak", "--warmup", "1h")


def suppressions():
    supp = written("known.supp", "# known\nleak:^leak_small$\nleak:nothing_like_it\n")
    said = leaks("--fail-on", "leak", "--suppress", supp, status=FOUND)
    check(f"1 stack, 29.3 KiB in 10 blocks: leak:^leak_small$ ({supp}:2)" in said, said)
    check(f"unused suppression: leak:nothing_like_it ({supp}:3)" in said, said)
    more = written("more.supp", "leak:*leak_steps\n")  # the file of code
    leaks("--fail-on", "leak", "--suppress", supp, "--suppress", more)
    # The buffer of standard output and others, which the libraries allocate once.
    said = leaks("--fail-on", "leak", steps=(), command=(example("leaky"), "1"), status=FOUND)
    check("one-time blocks of a library" in said and "_IO_file_doallocate" not in said, said)
    with open(path("report.txt"), encoding="utf-8") as stream:
        report = stream.read()
    check(re.search("    kept: memory for exceptions, allocated once by a library, 7[12].0 KiB in 1 block", report), report)
    check("    leak: " in report.split("kept: memory for exceptions")[0], f"what leaks comes first: {report}")
    said = leaks("--fail-on", "leak", "--top", "100", "--no-builtin-suppressions", steps=(),
                 command=(example("leaky"), "1"), status=FOUND)
    check("one-time blocks" not in said and "_IO_file_doallocate" in said, said)


def baselines():
    def record(name, *steps):
        run("record", "-o", path(name), "--", STEPS, input="".join(f"{step}\n" for step in steps))
        return path(name)

    old, more = record("old.mfr", "small"), record("more.mfr", "small", "small", "small", "large")
    said = run("leaks", "--from", old, "--fail-on", "leak", status=FOUND).stderr
    check("1 stack, 29.3 KiB in 10 blocks" in said, said)
    said = run("leaks", "--from", old, "--fail-on", "leak", "--baseline", old).stderr
    check(f"in the baseline {old} already: 1 stack, 29.3 KiB" in said, said)
    run("leaks", "--from", more, "--fail-on", "leak", "--baseline", old, "--report", path("more.sarif"),
        status=FOUND)
    states = {result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]: result["baselineState"]
              for result in read_json("more.sarif")["runs"][0]["results"]}
    equal("what is new, and what is worse", states, {"leak_large": "new", "leak_small": "updated"})
    said = leaks("--fail-on", "leak", "--baseline", more, steps=("large",))
    check("no longer: 1 stack of the baseline" in said, said)
    line = json.loads(run("leaks", "--from", more, "--format", "jsonl").stdout)
    equal("a recording as a line of JSON", (line["live"]["bytes"], line["top"][0]["verdict"]["kind"]),
          (130000, "leak"))


def unsure():
    """A run that is too short says so, and fails only if it shall."""
    for words, status in (("leak", 0), ("leak,cannot-tell", FOUND)):
        target = Steps()
        memflame = Memflame("leaks", "-p", target.pid, "--fail-on", words, "60", output="jsonl")
        target.do("small")
        memflame.stop(status)
        target.end()
        with open(memflame.output, encoding="utf-8") as stream:
            equal("the last report", [json.loads(line)["live"]["bytes"] for line in stream], [30000])
        if status == 0:
            check("cannot tell yet: 1 stack, 29.3 KiB in 10 blocks; watch at least " in memflame.stderr(),
                  memflame.stderr())


def statuses():
    leaks("--fail-on", "leak", command=["sh", "-c", "exit 7"], status=7)
    # Losses make a pass doubtful, and --strict an error.
    said = leaks("--fail-on", "leak", "--max-live", "5", status=FOUND)
    check("not certain: lost " in said, said)
    leaks("--fail-on", "leak", "--strict", "--max-live", "5", status=LOSSY)
    leaks("--fail-on", "leak", "--report", "/nonexistent/a.xml", status=125)
    for options, words in ((["--report", path("a.xml")], "--fail-on leak"),
                           (["--suppress", path("a")], "--fail-on leak"),
                           (["--fail-on", "bugs"], "not 'bugs'"),
                           (["--fail-on", "leak", "--older", "0"], "--older 0"),
                           (["--min-bytes", "1", "--format", "svg"], "--min-bytes"),
                           (["--fail-on", "leak", "--min-rate", "fast"], "--min-rate fast"),
                           (["--fail-on", "leak", "--report", path("a.pdf")], ".sarif"),
                           (["--format", "jsonl", "--trace"], "--trace"),
                           (["--format", "jsonl", "--bytes"], "--bytes")):
        said = leaks(*options, status=USAGE)
        check(words in said, f"{options}: {said}")
    for options in (["--suppress", written("bad.supp", "leak:a\nrace:b\n")],
                    ["--baseline", written("bad.mfr", "not a recording")],
                    ["--baseline", path("none.mfr")]):
        leaks("--fail-on", "leak", *options, status=125)
    run("record", "--probes", "brk", "-o", path("brk.mfr"), "--", "true")
    for options in (["--from", path("brk.mfr")], ["--from", path("old.mfr"), "--baseline", path("brk.mfr")]):
        said = run("leaks", *options, "--fail-on", "leak", status=1).stderr
        check("has no blocks to follow" in said, said)


def lines():
    """One line of JSON for each interval."""
    run("leaks", "-o", path("lines.jsonl"), "0.3", "3", "--", "sleep", "1.5")
    with open(path("lines.jsonl"), encoding="utf-8") as stream:
        documents = [json.loads(line) for line in stream]
    equal("reports", len(documents), 3)
    check(documents[0]["seconds"] < documents[2]["seconds"], "in the order of time")


for case in (reports, limits, suppressions, baselines, unsure, statuses, lines):
    case()
