# SPDX-License-Identifier: BSD-2-Clause
"""Functions of PHP in stacks, against PHP's own word: a program allocates blocks of one size from random paths of calls,
and writes down its own stack with lines each time. What memflame saw must be the same stacks, as often. Native frames
stay as they are without the functions."""
import collections
import json
import os
import re
import socket
import struct
import subprocess
import sys

from frames_lib import SIZE, as_told, program_text, same_native_frames, stacks_of, watched
from lib import LONG, Memflame, PATIENCE, check, equal, losses, path, spawn, wait_until

# PHP asks malloc for a string's length, a head and a zero, in whole words.
LARGEST = SIZE + 32
COUNT = int(os.environ.get("MEMFLAME_PHP_STACKS", "5000" if LONG else "2000"))
KNOWN = ("8.1", "8.2", "8.3", "8.4")


def phps():
    """The commands of the PHPs here that memflame knows, by version. MEMFLAME_PHP_ROOT: a system with another one.
    MEMFLAME_PHP: a program elsewhere."""
    found, root, elsewhere = {}, os.environ.get("MEMFLAME_PHP_ROOT"), os.environ.get("MEMFLAME_PHP")
    for command in [["php"], *([[elsewhere]] if elsewhere else []), *([["chroot", root, "php"]] if root else [])]:
        try:
            told = subprocess.run([*command, "-n", "-r", "echo PHP_VERSION, ' ', (int)PHP_ZTS;"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False).stdout
        except FileNotFoundError:
            continue
        if told.startswith(tuple(f"{version}." for version in KNOWN)) and told.endswith(" 0"):
            found.setdefault(told[:3], command)
    return found


def root_of(command):
    """The folder of the system that a command runs in, and a folder there for files."""
    return (command[1], "/tmp") if command[0] == "chroot" else ("", path(""))


def run(command, name, *options, count=COUNT, kind=(), opcache="0"):
    """What the program says of its stacks, and memflame's profile."""
    root, folder = root_of(command)
    many = ";\n".join(f"if ($a > {i}) $a += {i}" for i in range(150))
    for file in ("frames.php", "included.php"):
        with open(os.path.join(root + folder, file), "w", encoding="utf-8") as to:
            to.write(program_text(file, BLOCK_BYTES=SIZE, MANY_STATEMENTS=many))
    truth = os.path.join(folder, f"{name}.json")
    memflame = watched([*command, "-d", f"opcache.enable_cli={opcache}", os.path.join(folder, "frames.php"), str(count),
                        truth, *kind], *options, largest=LARGEST, env={**os.environ, "USE_ZEND_ALLOC": "0"})
    with open(root + truth, encoding="utf-8") as file:
        return json.load(file), memflame


def is_script(frame):
    return re.search(r"\(\S+\.php\b.*:\d+\)$", frame) is not None


versions = phps()
if not versions:
    print(f"SKIPPED: no PHP {' or '.join(KNOWN)}")
    sys.exit(77)
for version, command in versions.items():
    told = subprocess.run([*command, "-d", "opcache.enable_cli=1", "-r", "echo extension_loaded('Zend OPcache');"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    equal(f"opcache is installed for {version}", told, "1")
    for name, opcache in ((version, "0"), (f"{version} with opcache", "1")):
        truth, memflame = run(command, "truth", opcache=opcache)
        as_told(name, memflame, truth, is_script)

    runs = [run(command, "native", "--languages", languages, count=2000)[1] for languages in ("off", "auto")]
    same_native_frames(version, runs, is_script)

    # A loop without a function: nothing is placed, and it is said.
    _, memflame = run(command, "dying", count=20, kind=["dying_in_callback"])
    unread = losses(memflame.summary(), "news")["scripts_unread"]["events"]
    for stack, count in stacks_of(memflame.profile()).items():
        check("[php: unreadable]" in stack and not any(map(is_script, stack)), f"a stack that is marked: {stack}")
    equal("stacks that could not be read", unread, 20)


# Requests of php-fpm, without opcache: each compiles its file anew, and so memory of one function is soon that of another.
def ask(socket_path, script):
    """The response of php-fpm to a request for a script."""
    def record(kind, content):
        return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content
    said = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "SCRIPT_NAME": script, "QUERY_STRING": ""}
    words = b"".join(bytes([len(k), len(v)]) + k.encode() + v.encode() for k, v in said.items())
    with socket.socket(socket.AF_UNIX) as to:
        to.settimeout(PATIENCE)
        to.connect(socket_path)
        to.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, words) + record(4, b"") + record(5, b""))
        answer = b""
        while got := to.recv(65536):
            answer += got
    return answer


def worker_of(server):
    def children():
        with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
            return file.read().split()
    wait_until(children, "php-fpm has a worker")
    return int(children()[0])


def fpm_of(version, command):
    """The command of php-fpm beside that of php; none if it is not there."""
    root = root_of(command)[0]
    built = os.path.join(os.path.dirname(os.path.dirname(command[-1])), "sbin/php-fpm")
    for program in (f"/usr/sbin/php-fpm{version}", built):
        if os.path.exists(root + program):
            return [*command[:-1], program]
    return None


REQUESTS = 40
NAMES = ["first", "other"]
for version, command in versions.items():
    fpm = fpm_of(version, command)
    if not fpm:
        print(f"no php-fpm {version}: left out")
        continue
    root, folder = root_of(command)
    conf, socket_path = os.path.join(folder, "fpm.conf"), os.path.join(folder, "fpm.socket")
    for name in NAMES:
        with open(root + os.path.join(folder, f"{name}.php"), "w", encoding="utf-8") as to:
            to.write(f"<?php\nfunction {name}_one() {{\n  return strlen(str_repeat('x', 3000000));\n}}\n{name}_one();\n")
    with open(root + conf, "w", encoding="utf-8") as to:
        to.write(f"[global]\nerror_log = {os.path.join(folder, 'fpm.log')}\ndaemonize = no\n[www]\nlisten = {socket_path}\n"
                 "user = root\ngroup = root\npm = static\npm.max_children = 1\n")
    server = spawn([*fpm, "-n", "-R", "-y", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        worker = worker_of(server)
        wait_until(lambda: os.path.exists(root + socket_path), "php-fpm listens")
        memflame = Memflame("mmap", "-p", worker, "--value", "calls")
        for i in range(REQUESTS):
            answer = ask(root + socket_path, os.path.join(folder, f"{NAMES[i % 2]}.php"))
            check(answer and b"Status: " not in answer, f"php-fpm answers: {answer}")
        memflame.stop()
    finally:
        server.terminate()  # its worker ends with it, but not if it is killed
        server.wait(timeout=PATIENCE)
    equal("lost by php-fpm's stacks", losses(memflame.summary()), {})
    got = collections.Counter()
    profile = memflame.profile()
    for stack, values in profile.stacks:
        if any("_one " in frame for frame in stack):
            got[tuple(filter(is_script, stack))] += values[profile.columns.index("calls")]
    equal("functions of php-fpm's requests", set(got),
          {(f"{{main}} ({name}.php:5)", f"{name}_one ({name}.php:3)") for name in NAMES})
    check(all(count >= REQUESTS / 2 for count in got.values()), f"each request allocates once or twice: {got}")
    print(f"php-fpm {version}: {sum(got.values())} stacks of {REQUESTS} requests, all of the function that ran")
