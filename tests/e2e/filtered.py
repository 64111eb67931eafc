# SPDX-License-Identifier: BSD-2-Clause
"""A filtered picture says how it was filtered."""
from lib import Memflame, Target, check, equal, path, run, spawn, wait_until, example
import os
import subprocess

for options, words in ((("--min-size", "4096"), "filtered: only blocks of 4,096 bytes or more (--min-size)"),
                       (("--max-size", "64"), "filtered: only blocks of 64 bytes or less (--max-size)"),
                       (("--obj", "libc.so*"), "filtered: only the allocator in libc.so* (--obj)"),
                       ((), "")):
    target = Target("alloc_truth")
    memflame = Memflame("alloc", "-p", target.pid, *options, output="svg")
    target.work()
    memflame.stop()
    target.end()
    with open(memflame.output, encoding="utf-8") as stream:
        picture = stream.read()
    for where, text in (("the picture", picture), ("the text", memflame.stderr()),
                        ("the summary", "\n".join(memflame.summary()["notes"]))):
        check(words in text, f"{where} says {words!r}: {text[:2000]}")
        equal(f"{where} of {options} says that it is filtered", "filtered: " in text, bool(words))

# memflame leaks: the pictures during the run and at its end, and the text.
target = spawn([example("leak_steps")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
AGE = "filtered: only blocks that are at least 1 ms old (--older)"
memflame = Memflame("leaks", "-p", target.pid, "--older", "1", "0.2", output="svg")
wait_until(lambda: os.path.exists(memflame.output), "a picture while it runs")
for _ in range(2):
    with open(memflame.output, encoding="utf-8") as stream:
        check(AGE in stream.read(), "the picture says how old its blocks are")
    if memflame.process.poll() is None:
        memflame.stop()
done = run("leaks", "-p", target.pid, "--min-size", "4K", "0.2", "2")
equal("reports that say what they leave out",
      done.stdout.count("  filtered: only blocks of 4,096 bytes or more (--min-size)\n"), 2)
done = run("leaks", "-p", target.pid, "0.2", "1")
check("filtered" not in done.stdout, f"nothing is left out: {done.stdout}")
target.kill()
