# SPDX-License-Identifier: BSD-2-Clause
"""Names with special characters of XML, folded text and JSON stay whole, and the output well-formed."""
import xml.etree.ElementTree as xml

from lib import Memflame, check, equal, example

SYMBOL = "amp&<tag>;semi colon's]]> 12"

# A function in an unnamed namespace may have a suffix: "[clone .constprop.0]".
wanted = {"operator<(": 1001, "hidden(char const*)": 1003, "operator bool() const": 1004}

memflame = Memflame("alloc", "--", example("hostile_names")).wait()
profile = memflame.profile()
for part, size in wanted.items():
    got = sum(values[0] for frames, values in profile.stacks if any(part in f for f in frames))
    equal(part, got, size)
equal(SYMBOL, profile.sum("live", SYMBOL), 1005)

memflame = Memflame("alloc", "--", example("hostile_names"), output="folded").wait()
with open(memflame.output, encoding="utf-8") as stream:
    lines = [line.rstrip("\n") for line in stream if not line.startswith("#")]
for line in lines:
    stack, value = line.rsplit(" ", 1)
    check(int(value) >= 0 and stack, f"a folded line: {line}")
# Its semicolon must not split it into two frames.
leaf = [line for line in lines if line.endswith(" 1005") and "amp&<tag>" in line]
equal("lines of the hostile symbol", len(leaf), 1)
frames = leaf[0].rsplit(" ", 1)[0].split(";")
check(any("amp&<tag>" in f and "semi colon's]]> 12" in f for f in frames), f"one frame: {frames}")

memflame = Memflame("alloc", "--", example("hostile_names"), output="svg").wait()
with open(memflame.output, encoding="utf-8") as stream:
    text = "".join(xml.fromstring(stream.read()).itertext())
for part in [*wanted, SYMBOL]:
    check(part in text, f"{part} in the picture")
