#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The ten commands at the beginning of docs/fleet.md, one after the other: with a ClickHouse of this test instead of the
system's, files in a folder of this test, and the rights that memflame.service gives instead of systemd."""
import os
import re
import shlex
import shutil
import subprocess

import lib
from clickhouse_lib import ClickHouse
from lib import MEMFLAME, check, equal, example, free_ports, path, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# As another user, memflame reads its file and the programs, and writes where systemd would let it.
os.chmod(lib.scratch, 0o755)
for folder in ("etc", "state", "home"):
    os.makedirs(path(folder))
shutil.chown(path("state"), "nobody")

with open(f"{ROOT}/docs/fleet.md", encoding="utf-8") as stream:
    block = stream.read().split("\n\n", 3)[2]
commands = [line.removeprefix("    ") for line in block.split("\n")]
equal("commands", len(commands), 10)

with open(f"{ROOT}/packaging/watch/memflame.service", encoding="utf-8") as stream:
    service = dict(line.split("=", 1) for line in stream.read().split("\n") if re.match(r"\w+=", line))
equal("the sets of rights", service["AmbientCapabilities"], service["CapabilityBoundingSet"])
rights = ",".join("+" + right.removeprefix("CAP_").lower() for right in service["AmbientCapabilities"].split())
equal("what the service runs", service["ExecStart"], "/usr/bin/memflame watch")

store = ClickHouse()
shutil.copy(example("leaky"), path("web"))
web = lib.spawn([path("web"), "60"], env={**os.environ, "APP_VERSION": "1.5"}, stdout=subprocess.DEVNULL)
large = lib.spawn(["/usr/bin/python3", "-c", "import time\nblock = b'x' * (550 << 20)\nmore = []\nwhile True:\n    "
                   "more.append(b'y' * (1 << 20))\n    time.sleep(0.1)"])
watch = None
errors = open(path("watch.stderr"), "w+", encoding="utf-8")


def as_here(command):
    """The command with the places of this test."""
    for there, here in (("sudo ", ""), ("localhost:8123", f"127.0.0.1:{store.port}"), ("/etc/memflame", path("etc")),
                        ("/usr/share/doc/memflame", f"{ROOT}/packaging"), ("-o fleet", f"-o {path('home')}/fleet")):
        command = command.replace(there, here)
    return re.sub(r"^memflame ", f"{shlex.quote(MEMFLAME)} ", command)


def run_here(command):
    done = subprocess.run(as_here(command), shell=True, capture_output=True, text=True, timeout=lib.PATIENCE, check=False)
    equal(f"exit status of {command}, which said:\n{done.stderr}\n", done.returncode, 0)
    return done.stdout


def shorten_windows():
    """The same rules, in a hurry, and without a budget: the program of this test does little but allocate."""
    with open(path("etc/watch.json"), encoding="utf-8") as file:
        text = file.read()
    for there, here in (("localhost:8123", f"127.0.0.1:{store.port}"), ("127.0.0.1:9754", f"127.0.0.1:{free_ports(1)[0]}"),
                        ('"rules"', f'"max_cpu": 100, "spool": {{"folder": "{path("state/spool")}"}},\n  "rules"'),
                        ('"name": "large",', '"name": "large", "window": "1s",'),
                        ('"name": "web",', '"name": "web", "window": "1s", "sample": "all",')):
        check(there in text, f"{there} is in the file")
        text = text.replace(there, here)
    with open(path("etc/watch.json"), "w", encoding="utf-8") as file:
        file.write(text)


def start_service():
    global watch
    watch = lib.spawn(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps=-all,{rights}",
                       f"--ambient-caps=-all,{rights}", f"--bounding-set=-all,{rights}", "--no-new-privs",
                       MEMFLAME, "watch", path("etc/watch.json")], stderr=errors)
    for service_name, column in (("web", "inuse_space"), ("python3", "resident_space")):
        wait_until(lambda: watch.poll() is None and int(store.sql(
            f"SELECT uniqExact(time) FROM samples WHERE service = '{service_name}' AND type = '{column}'",
            "memflame")) >= 1, f"windows of {service_name}")
    wait_until(lambda: int(store.sql("SELECT count() FROM windows WHERE service = 'web'", "memflame")) >= 8,
               "some windows of web")


for command in commands:
    if "apt install" in command:
        check(shutil.which(command.split()[-1]), f"{command.split()[-1]} is installed")
    elif "systemctl start" in command:
        check(store.answers(), "the store runs")
    elif "systemctl enable" in command:
        try:
            start_service()
        except SystemExit:
            errors.seek(0)
            print(errors.read())
            raise
    else:
        said = run_here(command)
        if " cp " in command:
            shorten_windows()
        if "--check" in command:
            check("2 rules, 2 outputs: no mistakes" in said, said)
        if "leaks" in command:
            check("transcript" in said, said)
for name, word in (("fleet.svg", "python3"), ("fleet-over-time.svg", "transcript")):
    with open(f"{path('home')}/{name}", encoding="utf-8") as stream:
        picture = stream.read()
    check("<svg" in picture and word in picture, f"{name} has {word}")
versions = store.sql("SELECT DISTINCT version FROM windows WHERE service = 'web'", "memflame")
equal("version, from the environment", versions, "1.5\n")
watch.terminate()
equal("exit status of memflame watch", watch.wait(lib.PATIENCE), 0)
