# SPDX-License-Identifier: BSD-2-Clause
"""--when writes pictures of the run so far without anybody asking, --keep bounds their number."""
import glob
import os
import signal

from lib import SLOW, Memflame, Profile, Target, check, equal, run, wait_until


def numbers(output):
    stem, suffix = os.path.splitext(output)
    return sorted(int(file[len(stem) + 1:-len(suffix)]) for file in glob.glob(f"{stem}.*{suffix}"))


# By time: the newest two of at least four are there, each complete, and say why they were written.
target = Target("alloc_truth")
memflame = Memflame("alloc", "-p", target.pid, "--when", "every 1s", "--keep", "2")
truth = target.work()
wait_until(lambda: numbers(memflame.output)[-1:] >= [4], "four pictures", 200 if SLOW else 30)
memflame.process.send_signal(signal.SIGINT)
memflame.wait()
left = numbers(memflame.output)
equal("the newest two", left, [left[-1] - 1, left[-1]])
stem, suffix = os.path.splitext(memflame.output)
for number in left:
    picture = Profile(f"{stem}.{number}{suffix}")
    picture.compare(truth["functions"])
    with open(picture.file, encoding="utf-8") as stream:
        check("written because of every 1s" in stream.read(), "the picture says why")
check("(every 1s): live" in memflame.stderr(), memflame.stderr())
memflame.profile().compare(truth["functions"])
target.end()

# By a figure: once, as it stays true.
target = Target("alloc_truth")
memflame = Memflame("alloc", "-p", target.pid, "--when", "rss > 100K", "--when", "rss > 900G")
wait_until(lambda: numbers(memflame.output), "a picture", 200 if SLOW else 30)
memflame.process.send_signal(signal.SIGINT)
memflame.wait()
equal("pictures", numbers(memflame.output), [1])
check("(rss > 100K: " in memflame.stderr(), memflame.stderr())
target.end()

# What cannot be judged is refused.
for arguments, words in ((("alloc", "-p", "1", "--when", "rss < 2G"), "expected 'every TIME'"),
                         (("brk", "--when", "rss > 2G"), "are about processes"),
                         (("brk", "--when", "every 1s", "--keep", "0"), "at least one picture")):
    refusal = run(*arguments, status=2).stderr
    check(words in refusal, refusal)
