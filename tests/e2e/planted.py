# SPDX-License-Identifier: BSD-2-Clause
"""What another user put where an output is to go, in a folder like /tmp, is neither written nor replaced; a pipe never holds
memflame; and under sudo files are opened with the caller's rights."""
import fcntl
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time

from lib import MEMFLAME, PATIENCE, Memflame, check, equal, path, run, spawn, wait_until

nobody = pwd.getpwnam("nobody")
FOLDED = path("in.folded")
RECORDING = path("in.mfr")
with open(FOLDED, "w", encoding="utf-8") as stream:
    stream.write("a;b 10\n")
run("record", "--probes", "alloc", "-o", RECORDING, "--", "sleep", "0.3")
os.umask(0o022)
sleeper = spawn(["sleep", "1000"])
shared = path("shared")
os.mkdir(shared)
os.chmod(shared, 0o1777)

# Each kind of output: the name, and what writes it.
BRK = ["brk", "-d", "0.2", "-p", str(sleeper.pid)]
KINDS = {
    "picture.svg": [*BRK, "-o"],
    "summary.json": [*BRK, "-o", "/dev/null", "--format", "folded", "--summary"],
    "recording.mfr": ["record", "-d", "0.2", "-p", str(sleeper.pid), "-o"],
    "leaks.txt": ["leaks", "0.2", "1", "-p", str(sleeper.pid), "-o"],
    "check.sarif": ["leaks", "0.2", "1", "-p", str(sleeper.pid), "--fail-if-leaked", "1G", "--report"],
    "folded.txt": ["collapse", FOLDED, "--format", "folded", "-o"],
    "drawn.svg": ["render", FOLDED, "-o"],
    "palette.map": ["render", FOLDED, "-o", "/dev/null", "--format", "svg", "--palette-map"],
    "difference.svg": ["diff", FOLDED, FOLDED, "-o"],
    "report.html": ["report", RECORDING, "-o"],
    "timeline.csv": ["timeline", RECORDING, "-o"],
    "answer.csv": ["query", RECORDING, "select 1", "-o"],
    "tables.sqlite": ["query", RECORDING, "--export"],
    "named.mfr": ["symbolize", RECORDING, "-o"],
}


def ended(arguments, **options):
    return subprocess.run([MEMFLAME, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL, **options)


def as_nobody(*command):
    return ["setpriv", "--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups", *command]


def plant(what, name):
    if what in ("pipe", "unread pipe"):
        subprocess.run(as_nobody("mkfifo", "-m", "644", name), check=True)
    elif what == "link":
        subprocess.run(as_nobody("ln", "-s", path("target"), name), check=True)
    else:
        subprocess.run(as_nobody("sh", "-c", 'echo theirs > "$1"', "sh", name), check=True)


for name, arguments in KINDS.items():
    output = f"{shared}/{name}"
    for what in ("pipe", "unread pipe", "link", "file"):
        plant(what, output)
        reader = None
        if what == "pipe":
            reader = spawn(as_nobody("cat", output), stdout=subprocess.PIPE)
        before = os.lstat(output)
        done = ended([*arguments, output])
        check(done.returncode != 0, f"{name}, a {what} of nobody: the status is {done.returncode}")
        check(f"{output}: it is a {what.split()[-1]} of nobody" in done.stderr, f"{name}, a {what}: {done.stderr}")
        equal(f"{name}, a {what}: it is still there", os.lstat(output).st_ino, before.st_ino)
        check(not os.path.exists(path("target")), f"{name}: nothing is written through the link")
        if what == "file":
            with open(output, encoding="utf-8") as stream:
                equal(f"{name}: nobody's file", stream.read(), "theirs\n")
        os.unlink(output)
        if reader:
            reader.kill()
            equal(f"{name}: what nobody's reader got", reader.communicate()[0], b"")
    equal(f"{name}: nothing is left", os.listdir(shared), [])
    done = ended([*arguments, output])
    check(done.returncode == 0, f"{name}: {done.stderr}")
    equal(f"{name} belongs to root", os.lstat(output).st_uid, 0)
    done = ended([*arguments, output])
    check(done.returncode == 0, f"{name}, once more: {done.stderr}")
    os.unlink(output)

# A picture on request, and what a killed memflame of the same number would have left.
memflame = Memflame("brk", "-p", sleeper.pid, output="svg", folder=shared)
asked = memflame.output.replace(".svg", ".1.svg")
plant("pipe", asked)
reader = spawn(as_nobody("cat", asked), stdout=subprocess.PIPE)
memflame.process.send_signal(signal.SIGUSR1)
wait_until(lambda: "it is a pipe of nobody" in memflame.stderr(), "the picture is refused")
reader.kill()
equal("what nobody's reader got", reader.communicate()[0], b"")
os.unlink(asked)
partial = f"{memflame.output}.{memflame.process.pid}.partial"
plant("file", partial)
memflame.stop(status=1)
check(f"{memflame.output}: it is a file of nobody" in memflame.stderr(), memflame.stderr())
os.unlink(partial)

# Pipes of the caller work, also by a link of its own, and never hold memflame.
own = path("own.pipe")
os.mkfifo(own)
os.symlink(own, path("to-own"))
for name in (own, path("to-own")):
    reader = spawn(["cat", own], stdout=subprocess.PIPE, text=True)
    equal("a pipe", ended(["collapse", FOLDED, "--format", "folded", "-o", name]).returncode, 0)
    check("a;b 10" in reader.communicate()[0], "its reader gets all")
done = ended(["collapse", FOLDED, "--format", "folded", "-o", own])
equal("without a reader", (done.returncode, "nobody reads this pipe" in done.stderr), (1, True))
done = subprocess.run(["bash", "-c", f"{MEMFLAME} collapse {FOLDED} --format folded -o >(cat >&2); sleep 0.3"],
                      capture_output=True, text=True, check=False)
check("a;b 10" in done.stderr, f"process substitution: {done.stderr}")
os.link(own, f"{shared}/second-name")
done = ended(["collapse", FOLDED, "--format", "folded", "-o", f"{shared}/second-name"])
equal("a hard link to a pipe", (done.returncode, "hard links" in done.stderr), (1, True))
os.unlink(f"{shared}/second-name")
done = ended(["collapse", FOLDED, "--format", "folded", "-o", "/dev/zero"])
equal("/dev/zero", (done.returncode, "it is a device" in done.stderr), (1, True))

# More than a pipe holds, whose reader stands still: signals end memflame while it waits for a reader, while it writes
# what was measured, and while it still measures (leaks), where signals are blocked.
with open(path("big.folded"), "w", encoding="utf-8") as stream:
    stream.writelines(f"a;function_{i} 1\n" for i in range(20000))


def held_by(reads, arguments, stop):
    """memflame, stopped by a signal while it waits. Its reader opens the pipe, and reads nothing."""
    reader = os.open(own, os.O_RDONLY | os.O_NONBLOCK) if reads else None
    if reads:
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    process = spawn([MEMFLAME, *arguments, "-o", own], stderr=subprocess.PIPE, text=True)
    if reads:
        size = bytearray(4)

        # A write of less than a page waits until all of it finds room: the pipe need not be full to its last byte.
        def is_held():
            before = bytes(size)
            time.sleep(0.5)
            check(process.poll() is None, f"{arguments} ended early")
            fcntl.ioctl(reader, 0x541B, size)  # FIONREAD
            return any(size) and size == before
        wait_until(is_held, "it waits for its reader")
    else:
        time.sleep(1)
    process.send_signal(stop)
    _, said = process.communicate(timeout=PATIENCE)
    check(process.returncode != 0, f"{arguments} ended by {stop.name}: {said}")
    if reader is not None:
        os.close(reader)


for stop in (signal.SIGTERM, signal.SIGINT):
    held_by(False, ["collapse", FOLDED, "--format", "folded"], stop)
    held_by(True, ["collapse", path("big.folded"), "--format", "folded"], stop)
    held_by(True, ["query", RECORDING, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) "
                   "select * from n", "--format", "csv"], stop)
busy = spawn(["python3", "-c", "keep = []\nwhile True: keep.append(bytearray(1000)) if len(keep) < 10000 else keep.clear()"])
held_by(True, ["leaks", "0.1", "--trace", "--older", "0", "-p", str(busy.pid)], signal.SIGTERM)
busy.kill()


# Under sudo: as the caller, with a folder of its own, links to where only root may write, and another group.
def by_sudo(arguments, **options):
    return ended(arguments, env={**os.environ, "SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid),
                                 "SUDO_USER": "nobody"}, **options)


home, roots = path("home"), path("roots")
for folder, owner in ((home, nobody), (roots, None)):
    os.mkdir(folder, 0o755)
    if owner:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
subprocess.run(as_nobody("ln", "-s", roots, f"{home}/way"), check=True)
subprocess.run(as_nobody("ln", "-s", "way", f"{home}/way2"), check=True)
os.mkfifo(f"{roots}/pipe", 0o600)
subprocess.run(as_nobody("ln", "-s", f"{roots}/pipe", f"{home}/to-pipe"), check=True)
for name, arguments in KINDS.items():
    for folder in (roots, f"{home}/way", f"{home}/way2"):
        done = by_sudo([*arguments, f"{folder}/{name}"])
        check(done.returncode != 0 and "Permission denied for nobody, who called sudo" in done.stderr,
              f"{folder}/{name}: {done.returncode} {done.stderr}")
    equal(f"{name}: nothing is in root's folder", os.listdir(roots), ["pipe"])
    output = f"{home}/{name}"
    done = by_sudo([*arguments, output])
    equal(f"{name}: {done.stderr}", done.returncode, 0)
    status = os.lstat(output)
    equal(f"{name} is the caller's", (status.st_uid, status.st_gid, stat.S_ISREG(status.st_mode)),
          (nobody.pw_uid, nobody.pw_gid, True))
done = by_sudo(["collapse", FOLDED, "--format", "folded", "-o", f"{home}/to-pipe"])
check("Permission denied for nobody" in done.stderr, f"a link to a pipe of root's: {done.stderr}")
equal("no half of a file is left", [name for name in os.listdir(home) if name.endswith(".partial")], [])
# A folder that the caller may write to by its group only.
os.mkdir(path("group"))
os.chown(path("group"), 0, nobody.pw_gid)
os.chmod(path("group"), 0o770)
equal("a folder of the caller's group", by_sudo(["collapse", FOLDED, "--format", "folded", "-o", path("group/x.svg")]).returncode, 0)
os.chown(path("group"), 0, 0)
done = by_sudo(["collapse", FOLDED, "--format", "folded", "-o", path("group/y.svg")])
check("Permission denied" in done.stderr, f"a folder of root's group: {done.stderr}")
shutil.rmtree(home)


# The folders of watch: a spool by nobody's link, and a service's folder that nobody has made.
def watching(spool, windows):
    with open(path("watch.json"), "w", encoding="utf-8") as file:
        json.dump({"spool": {"folder": spool, "most": "64M"},
                   "outputs": {"files": {"kind": "directory", "folder": windows}},
                   "rules": [{"name": "sleeps", "match": {"comm": "sleep"}, "window": "1s"}]}, file)
    return [MEMFLAME, "watch", path("watch.json")]


subprocess.run(as_nobody("ln", "-s", roots, f"{shared}/spool"), check=True)
done = subprocess.run(watching(f"{shared}/spool", path("windows")), capture_output=True, text=True, timeout=PATIENCE,
                      check=False)
check(done.returncode != 0 and "link of nobody" in done.stderr, f"a spool by a link: {done.returncode} {done.stderr}")
equal("nothing is in root's folder", os.listdir(roots), ["pipe"])
subprocess.run(as_nobody("mkdir", f"{shared}/sleeps"), check=True)
with open(path("watch.stderr"), "w+", encoding="utf-8") as errors:
    process = spawn(watching(path("spool"), shared), stderr=errors)

    def said():
        with open(path("watch.stderr"), encoding="utf-8") as file:
            return file.read()
    wait_until(lambda: "folder of nobody" in said() or process.poll() is not None, "the folder is refused")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)
check("folder of nobody" in said(), said())
equal("nothing is in nobody's folder", os.listdir(f"{shared}/sleeps"), [])
