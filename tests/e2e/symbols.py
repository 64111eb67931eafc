# SPDX-License-Identifier: BSD-2-Clause
"""Names of a program that was deleted, replaced, or lives under another root."""
import os
import shutil
import subprocess

from lib import Memflame, Target, example, path


def watch(target):
    memflame = Memflame("alloc", "-p", target.pid)
    truth = target.work()
    memflame.stop()
    target.end()
    memflame.profile().compare(truth["functions"])


shutil.copy(example("alloc_truth"), path("alloc_truth"))
target = Target("alloc_truth", executable=path("alloc_truth"))
os.unlink(path("alloc_truth"))
watch(target)

# Another file is in the program's place: its names must not be used.
shutil.copy(example("alloc_truth"), path("alloc_truth"))
target = Target("alloc_truth", executable=path("alloc_truth"))
os.unlink(path("alloc_truth"))
shutil.copy(example("brk_truth"), path("alloc_truth"))
watch(target)

# As in a container: the target's path exists only for the target.
os.mkdir(path("root"))
shutil.copy(example("alloc_truth_static"), path("root/inside"))
target = Target("alloc_truth_static", path("root"), "/inside", executable=shutil.which("chroot"))
watch(target)

# The same in a mount namespace, on a file system that memflame does not see.
os.mkdir(path("unseen"))
script = 'mount -t tmpfs none "$0" && cp "$1" "$0/program" && shift && exec "$0/program" "$@"'
target = Target("alloc_truth", "-m", "sh", "-c", script, path("unseen"), example("alloc_truth"),
                executable=shutil.which("unshare"))
watch(target)

# Stripped of all but its dynamic symbols, next to a file with the names.
if shutil.which("objcopy"):
    whole, names, bare = path("whole"), path("bare.debug"), path("bare")
    shutil.copy(example("alloc_truth"), whole)
    subprocess.run(["objcopy", "--only-keep-debug", whole, names], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={names}", whole, bare],
                   check=True)
    watch(Target("alloc_truth", executable=bare))
