# SPDX-License-Identifier: BSD-2-Clause
"""Stacks are exact for a program whose libraries only it can see: under another root, in a mount
namespace, deleted or replaced since it started."""
import os
import re
import shutil

from chains import compare, complete
from lib import Memflame, Target, example, lossless, path

PROGRAM = "no_frame_pointer"


def mapped_files():
    """The program's libraries and its dynamic linker, by the paths that the program uses."""
    target = Target(PROGRAM, "alloc")
    with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
        files = {line.split()[5] for line in maps if ".so" in line}
    target.work()
    target.end()
    return sorted(files)


LIBRARIES = mapped_files()


def populate(root):
    """Copies the program and its libraries, without their debug files, to `root`."""
    for file in LIBRARIES:
        os.makedirs(root + os.path.dirname(file), exist_ok=True)
        shutil.copy(file, root + file)
        # Programs use the shorter name, such as libstdc++.so.6 for libstdc++.so.6.0.30.
        short = re.match(r".*\.so\.\d+", file)
        if short and short[0] != file:
            os.symlink(os.path.basename(file), root + short[0])
    # Where the program expects the dynamic linker, even if folders are merged on this system.
    os.makedirs(root + "/lib64", exist_ok=True)
    linker = next(file for file in LIBRARIES if os.path.basename(file).startswith("ld-"))
    if not os.path.exists(f"{root}/lib64/{os.path.basename(linker)}"):
        shutil.copy(linker, root + "/lib64/")
    shutil.copy(example(PROGRAM), root + "/program")
    return root


def watch(target, probe):
    memflame = Memflame(probe, "-p", target.pid, "--max-depth", 1023)
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    complete(summary)
    lossless(profile, summary)
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")


for kind in ("alloc", "fault"):
    what = (kind, "20")
    watch(Target(PROGRAM, populate(path(f"root-{kind}")), "/program", *what,
                 executable=shutil.which("chroot")), kind)

    # On a file system that no other process has.
    os.mkdir(path(f"unseen-{kind}"))
    script = ('mount -t tmpfs none "$0" && cp -a "$1"/* "$0" && shift && '
              'exec chroot "$0" /program "$@"')
    watch(Target(PROGRAM, "-m", "sh", "-c", script, path(f"unseen-{kind}"), path(f"root-{kind}"),
                 *what, executable=shutil.which("unshare")), kind)

    # Updated during the run: first all files are gone, then there are other files.
    for replaced in (False, True):
        root = populate(path(f"gone-{kind}-{replaced}"))
        target = Target(PROGRAM, root, "/program", *what, executable=shutil.which("chroot"))
        for file in ["/program", *LIBRARIES]:
            os.unlink(root + file)
            if replaced:
                shutil.copy(example("brk_truth"), root + file)
        watch(target, kind)
