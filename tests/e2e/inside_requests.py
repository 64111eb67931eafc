# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: SIGUSR1, --when and memflame control give the figures so far, as with the kernel's collector."""
import glob
import json
import os
import signal
import subprocess

from lib import PATIENCE, Memflame, Profile, Target, check, equal, example, path, run, wait_until


class Watched(Target):
    """alloc_truth, started under --inside, that waits for a word before it begins and before it ends."""

    def __init__(self, command, *options, output="json"):  # instead of Target's: memflame starts it
        self.memflame = Memflame(command, "--inside", *options, "--", example("alloc_truth"), "--wait", output=output,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = self.memflame.process
        self.pid = int(self.process.stdout.readline().split()[1])
        self.stem, self.suffix = os.path.splitext(self.memflame.output)

    def end(self):
        super().end()
        return self.memflame

    def picture(self, number):
        name = f"{self.stem}.{number}{self.suffix}"
        wait_until(lambda: os.path.exists(name), name)
        return Profile(name)


# SIGUSR1: a picture of the run so far, as often as one likes; it goes on.
watched = Watched("alloc")
watched.process.send_signal(signal.SIGUSR1)
check(not watched.picture(1).has("use_malloc"), "nothing has happened yet")
truth = watched.work()
for number in (2, 3):
    watched.process.send_signal(signal.SIGUSR1)
    picture = watched.picture(number)
    picture.compare(truth["functions"])
    with open(picture.file, encoding="utf-8") as stream:
        check("so far: the run continues" in stream.read(), "it says that it is not all")
watched.end().profile().compare(truth["functions"])

# --when: by time, and by a figure.
watched = Watched("alloc", "--when", "every 1s", "--when", "rss > 100K", "--keep", "2")
truth = watched.work()


def numbers():
    files = glob.glob(f"{watched.stem}.*{watched.suffix}")
    return sorted(int(file[len(watched.stem) + 1:-len(watched.suffix)]) for file in files)


wait_until(lambda: numbers()[-1:] >= [4], "four pictures")
watched.end().profile().compare(truth["functions"])
left = numbers()
equal("the newest two", left, [left[-1] - 1, left[-1]])
for number in left:
    Profile(f"{watched.stem}.{number}{watched.suffix}").compare(truth["functions"])
for reason in ("(every 1s): live", "(rss > 100K: "):
    check(reason in watched.memflame.stderr(), f"{reason}: {watched.memflame.stderr()}")

# memflame control: status, and a picture; a recording takes marks.
watched = Watched("alloc")
truth = watched.work()
facts = dict(line.split(": ", 1) for line in run("control", watched.process.pid, "status").stdout.splitlines())
equal("watched now", facts["watched now"], f"{watched.pid} (alloc_truth)")
equal("lost events", facts["lost events"], "0")
equal("the picture's name", run("control", watched.process.pid, "snapshot").stdout,
      f"{watched.stem}.1{watched.suffix}\n")
watched.picture(1).compare(truth["functions"])
watched.end()
watched = Watched("record", "--interval", "0.1", output="mfr")
run("control", watched.process.pid, "mark", "begin")
watched.work()
run("control", watched.process.pid, "mark", "end")
watched.end()
marks = json.loads(run("timeline", "--format", "json", watched.memflame.output).stdout)["marks"]
equal("marks", [mark["name"] for mark in marks], ["begin", "end"])
run("render", watched.memflame.output, "--format", "json", "-o", path("drawn.json"))
Profile(path("drawn.json")).compare(truth["functions"], columns=["live", "live-count"])

# leaks: SIGUSR1 asks for a report at once.
leaks = Memflame("leaks", "--inside", "--", "sh", "-c", f"exec {example('alloc_truth')} --wait", output="txt",
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
leaks.process.stdout.readline()
leaks.process.send_signal(signal.SIGUSR1)
wait_until(lambda: os.path.exists(leaks.output) and os.path.getsize(leaks.output), "a report")
leaks.process.communicate("go\nleave\n", timeout=PATIENCE)
equal("exit status of leaks", leaks.process.returncode, 0)
