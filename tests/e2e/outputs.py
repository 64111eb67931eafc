# SPDX-License-Identifier: BSD-2-Clause
"""Outputs never go through another user's link or to a device, and have the right owner."""
import json
import os
import pwd
import stat
import subprocess
import threading

from lib import MEMFLAME, check, equal, example, path, run, spawn

nobody = pwd.getpwnam("nobody")
FOLDED = "a;b 1\n" * 20000
VICTIM = path("victim")


def collapse(output, **options):
    done = subprocess.run([MEMFLAME, "collapse", "-o", output, "--format", "folded"],
                          input=FOLDED, capture_output=True, text=True, check=False, **options)
    return done


def refused(output, why):
    done = collapse(output)
    equal(f"{output}: status", done.returncode, 1)
    check(why in done.stderr and output in done.stderr, f"{output} is refused: {done.stderr}")


def give_away(name):
    os.chown(name, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)


def victim():
    with open(VICTIM, "w", encoding="utf-8") as stream:
        stream.write("kept\n")


def unharmed(what):
    with open(VICTIM, encoding="utf-8") as stream:
        equal(f"{what}: the victim", stream.read(), "kept\n")


# A folder of another user, who plants links while root writes.
folder = path("theirs")
os.mkdir(folder)
give_away(folder)
victim()
stop = threading.Event()


def plant():
    while not stop.is_set():
        for name in os.listdir(folder):
            if name.endswith(".partial"):
                try:
                    os.unlink(f"{folder}/{name}")
                    os.symlink(VICTIM, f"{folder}/{name}")
                except OSError:
                    pass


planter = threading.Thread(target=plant)
planter.start()
for _ in range(20):
    collapse(f"{folder}/x.folded")
    unharmed("a link in place of the half-written file")
stop.set()
planter.join()

# A link of the caller's in place of the file is replaced, one of another user is refused; links in the path are followed
# only for their owner.
for name in os.listdir(folder):
    os.unlink(f"{folder}/{name}")
os.symlink(VICTIM, f"{folder}/x.folded")
give_away(f"{folder}/x.folded")
refused(f"{folder}/x.folded", "it is a link of nobody")
os.unlink(f"{folder}/x.folded")
os.symlink(VICTIM, f"{folder}/x.folded")
equal("status", collapse(f"{folder}/x.folded").returncode, 0)
unharmed("a link at the end")
equal("the link is a file now", os.path.islink(f"{folder}/x.folded"), False)
os.mkdir(path("mine"))
os.symlink(path("mine"), f"{folder}/sub")
equal("a link of root's own", collapse(f"{folder}/sub/x.folded").returncode, 0)
check(os.path.exists(path("mine/x.folded")), "it leads where it says")
give_away(f"{folder}/sub")
refused(f"{folder}/sub/y.folded", "link of nobody")
refused(f"{folder}/sub/", "link of nobody")
equal("nothing was written through it", os.listdir(path("mine")), ["x.folded"])
os.symlink("loop", path("loop"))
refused(path("loop/x"), "levels of symbolic links")
equal("a link to itself is replaced", collapse(path("loop")).returncode, 1)

# leaks writes its lines at once, to a new file.
victim()
os.symlink(VICTIM, f"{folder}/lines.txt")
give_away(f"{folder}/lines.txt")
run("leaks", "1", "-o", f"{folder}/lines.txt", "--", example("leaky"), "1", status=125)
os.unlink(f"{folder}/lines.txt")
os.symlink(VICTIM, f"{folder}/lines.txt")
run("leaks", "1", "-o", f"{folder}/lines.txt", "--", example("leaky"), "1")
unharmed("a link in place of the reports")

# Devices: only those that take a stream of bytes.
try:
    os.mknod(path("block"), stat.S_IFBLK | 0o600, os.makedev(7, 250))
    os.mknod(path("kmsg"), stat.S_IFCHR | 0o600, os.makedev(1, 11))
except PermissionError:
    print("SKIPPED: devices, which cannot be made here")
else:
    os.symlink(path("block"), path("to-block"))
    refused(path("block"), "block device")
    refused(path("to-block"), "block device")
    refused(path("kmsg"), "device")
    equal("the link is still there", os.readlink(path("to-block")), path("block"))
for device in ("/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
    equal(device, collapse(device).returncode, 0)
    check(not os.path.isfile(device) or os.path.islink(device), f"{device} is what it was")
equal("/dev/stdout", "a;b 20000" in collapse("/dev/stdout").stdout, True)
with open(path("redirected"), "w", encoding="utf-8") as stream:
    subprocess.run([MEMFLAME, "collapse", "-o", "/dev/stdout"], input=FOLDED, text=True, check=True,
                   stdout=stream)
check(os.path.getsize(path("redirected")) > 0, "/dev/stdout of a file")
os.mkfifo(path("fifo"))
reader = spawn(["cat", path("fifo")], stdout=subprocess.PIPE, text=True)
equal("a pipe with a name", collapse(path("fifo")).returncode, 0)
check("a;b 20000" in reader.communicate()[0], "its reader gets all")
refused("/dev/fd/99", "Bad file descriptor")

# A full disk is reported, and leaves no file.
refused("/dev/full", "No space left on device")
disk = path("disk")
os.mkdir(disk)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                  check=False).returncode == 0:
    try:
        with open(path("big.folded"), "w", encoding="utf-8") as stream:
            stream.writelines(f"a;function_{i} 1\n" for i in range(20000))
        done = run("collapse", path("big.folded"), "-o", f"{disk}/x.folded", status=1)
        check("No space left" in done.stderr, f"it is said: {done.stderr}")
        equal("what is left behind", os.listdir(disk), [])
    finally:
        subprocess.run(["umount", disk], check=True)


# Outputs about another user's process are readable by the caller only.
def mode_and_owner(name):
    status = os.stat(name)
    return stat.S_IMODE(status.st_mode), status.st_uid


def measured(*arguments, sudo=False):
    environment = dict(os.environ)
    if sudo:
        environment.update(SUDO_UID=str(nobody.pw_uid), SUDO_GID=str(nobody.pw_gid),
                           SUDO_USER="nobody")
    for name in ("o.json", "o.summary"):
        if os.path.exists(path(name)):
            os.unlink(path(name))
    done = run("brk", "-o", path("o.json"), "--summary", path("o.summary"), *arguments,
               env=environment)
    equal(f"{arguments}: picture and summary", mode_and_owner(path("o.json")),
          mode_and_owner(path("o.summary")))
    return done, *mode_and_owner(path("o.json"))


WHO = ["sh", "-c", "id -u; echo $HOME $USER $LOGNAME ${SUDO_UID-none}"]
os.umask(0o022)
done, mode, owner = measured("--", *WHO)
equal("root's own", (done.stdout.splitlines()[0], oct(mode), owner), ("0", oct(0o644), 0))
done, mode, owner = measured("--user", "nobody", "--", *WHO)
equal("another's", (done.stdout, oct(mode), owner),
      (f"{nobody.pw_uid}\n{nobody.pw_dir} nobody nobody none\n", oct(0o600), 0))
done, mode, owner = measured("--", *WHO, sudo=True)
equal("by sudo", (done.stdout, oct(mode), owner),
      (f"{nobody.pw_uid}\n{nobody.pw_dir} nobody nobody none\n", oct(0o644), nobody.pw_uid))
check("runs as nobody" in done.stderr and "--user root" in done.stderr, f"said: {done.stderr}")
done, mode, owner = measured("--user", "root", "--", *WHO, sudo=True)
equal("by sudo as root", (done.stdout.split("\n")[0], oct(mode), owner),
      ("0", oct(0o600), nobody.pw_uid))
sleeper = spawn(["sleep", "60"], user="nobody", group="nogroup", extra_groups=[])
_, mode, owner = measured("-p", sleeper.pid, "-d", "0.2")
equal("a process of another user", (oct(mode), owner), (oct(0o600), 0))
_, mode, owner = measured("-p", sleeper.pid, "-d", "0.2", sudo=True)
equal("by sudo, a process of the caller", (oct(mode), owner), (oct(0o644), nobody.pw_uid))
_, mode, _ = measured("-d", "0.2")
equal("the whole system", oct(mode), oct(0o600))
sleeper.kill()

# Command lines in outputs hide secrets, and can be left out.
SECRET = "hunter2hunter2"
for options, shown in (([], True), (["--anonymise"], False)):
    for format_name in ("json", "svg", "folded", "pprof", "html"):
        file = path(f"secret.{format_name}")
        run("brk", *options, "-o", file, "--format", format_name, "--summary", path("s.json"), "--",
            "true", f"--password={SECRET}", "--token", SECRET, "shownword")
        for each in (file, path("s.json")):
            with open(each, "rb") as stream:
                content = stream.read()
            if each.endswith("pprof"):
                content = subprocess.run(["zcat"], input=content, capture_output=True,
                                         check=True).stdout
            check(SECRET.encode() not in content, f"{each}: the secret is hidden")
            if format_name != "html":  # packed
                equal(f"{each} {options}: the command line", b"shownword" in content, shown)
with open(path("s.json"), encoding="utf-8") as stream:
    summary = json.load(stream)
equal("the summary without them", (summary["command"], summary["host"]), ("", ""))
with open(path("secret.folded"), encoding="utf-8") as stream:
    comments = [line for line in stream if line.startswith("#")]
check(comments and not any("host" in line or "command" in line for line in comments),
      f"folded text without them: {comments}")
