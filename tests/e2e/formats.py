# SPDX-License-Identifier: BSD-2-Clause
"""SVG, folded text and JSON of one program agree; standard output, titles, notes and render work."""
import json
import re
import subprocess
import xml.etree.ElementTree as xml

from lib import MEMFLAME, USAGE, check, equal, example, path, run

BYTES = 300 * 16
COMMAND = ["--", example("many_stacks"), "300"]

files = {suffix: path(f"x.{suffix}") for suffix in ("svg", "folded", "json")}
for file in files.values():
    # 300 equally wide stacks have more frames than a picture has boxes. The outermost frames would be
    # drawn, but the checks below look for the innermost.
    boxes = ["--max-boxes", "40000"] if file.endswith(".svg") else []
    run("alloc", "-o", file, "--title", 'Of <300> & "more"', "--summary", path("s"), *boxes, *COMMAND)


def text_of(svg):
    return " ".join("".join(xml.fromstring(svg).itertext()).split())


def folded_sum(text, name):
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return sum(int(value) for stack, value in lines if name in stack.split(";"))


with open(files["folded"], encoding="utf-8") as stream:
    folded = stream.read()
equal("folded", folded_sum(folded, "reach_leaf"), BYTES)
with open(files["json"], encoding="utf-8") as stream:
    document = json.load(stream)
equal("json title", document["title"], 'Of <300> & "more"')
equal("json", sum(stack["values"][0] for stack in document["stacks"]
                  if "reach_leaf" in stack["frames"]), BYTES)
with open(files["svg"], encoding="utf-8") as stream:
    svg = stream.read()
words = text_of(svg)
for expected in ('Of <300> & "more"', "reach_leaf", "4,800", "many_stacks", "lost 0"):
    check(expected in words, f"the picture says {expected!r}")
check(not re.search(r'(href|src)\s*=\s*"(?!#)', svg), "the picture needs no other file")
with open(path("s"), encoding="utf-8") as stream:
    summary = json.load(stream)
check(summary["duration_seconds"] > 0 and summary["attach_seconds"] > 0, "times in the summary")
check(summary["events"] >= 300, "events in the summary")
check("many_stacks" in summary["command"], "command in the summary")
check(summary["kernel_features"], "kernel features in the summary")

# Standard output gets SVG by default. A command's own output would go there too, hence -p.
for arguments, start in (([], "<?xml"), (["--format", "folded"], "# memflame folded"),
                         (["--format", "json"], "{")):
    target = subprocess.Popen([example("many_stacks"), "300", "--wait"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    watcher = subprocess.Popen([MEMFLAME, "alloc", "-p", str(target.pid), "--ready-fd", "1",
                                *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    check(watcher.stdout.read(2) == "1\n", "ready")
    target.communicate("go\nleave\n")
    output, _ = watcher.communicate(timeout=60)
    check(output.lstrip().startswith(start), f"{arguments}: begins with {output[:40]!r}")
    if arguments[-1:] == ["folded"]:
        equal("folded on standard output", folded_sum(output, "reach_leaf"), BYTES)

# --value, --palette and --icicle work; --format wins over the suffix of -o.
run("alloc", "--value", "total-count", "-o", path("count.folded"), *COMMAND)
with open(path("count.folded"), encoding="utf-8") as stream:
    equal("--value total-count", folded_sum(stream.read(), "reach_leaf"), 300)
run("alloc", "--format", "folded", "-o", path("x.svg2"), *COMMAND)
with open(path("x.svg2"), encoding="utf-8") as stream:
    equal("--format beats the suffix", folded_sum(stream.read(), "reach_leaf"), BYTES)
run("alloc", "--icicle", "--max-boxes", "40000", "-o", path("icicle.svg"), *COMMAND)
with open(path("icicle.svg"), encoding="utf-8") as stream:
    icicle = stream.read()
check("reach_leaf" in text_of(icicle) and icicle != svg, "an icicle is another picture")
for wrong in (["--value", "nonsense"], ["--palette", "nonsense"], ["--format", "nonsense"],
              ["-d", "-1"], ["-d", "soon"], ["--nonsense"], ["-o", path("x.nonsense")]):
    done = run("alloc", *wrong, *COMMAND, status=USAGE)
    check(any(word in done.stderr for word in wrong), f"{wrong} is named in: {done.stderr}")

# Folded text keeps its sum through collapse and render.
collapsed = run("collapse", input=folded + folded).stdout
equal("collapsed twice the text", folded_sum(collapsed, "reach_leaf"), 2 * BYTES)
rendered = run("render", "--max-boxes", "40000", input=collapsed).stdout
check("reach_leaf" in text_of(rendered), "a rendered picture has the names")
