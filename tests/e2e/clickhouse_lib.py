# SPDX-License-Identifier: BSD-2-Clause
"""A ClickHouse of its own for a case: an unprivileged process on free ports, with its data in a temporary folder; and
made windows to send to it."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from lib import PATIENCE, check, free_ports, path, spawn, wait_until

SEND = os.environ["MEMFLAME_SEND_WINDOWS"]
PASSWORD = "a \"word\" of '3'"

CONFIG = """<yandex>
<logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<http_port>{1}</http_port><tcp_port>{2}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><user_files_path>{0}/files/</user_files_path>
<users_config>{0}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
<timezone>America/New_York</timezone>
</yandex>
"""
USERS = """<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<fleet><password_sha256_hex>{0}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet>
</users><quotas><default></default></quotas></yandex>
"""


def require_none():
    """Skips the case on a system whose packages have no ClickHouse."""
    offered = subprocess.run(["apt-cache", "show", "clickhouse-server"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False) if shutil.which("apt-cache") else None
    if offered and offered.returncode == 0:
        raise SystemExit("FAILED: clickhouse-server is not installed: scripts/setup test")
    print("SKIPPED: this system has no package clickhouse-server")
    sys.exit(77)


class ClickHouse:
    def __init__(self):
        if not shutil.which("clickhouse-server"):
            require_none()
        self.folder = path("clickhouse")
        os.makedirs(self.folder)
        self.port, native = free_ports(2)
        with open(f"{self.folder}/config.xml", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(self.folder, self.port, native))
        with open(f"{self.folder}/users.xml", "w", encoding="utf-8") as file:
            file.write(USERS.format(hashlib.sha256(PASSWORD.encode()).hexdigest()))
        shutil.chown(self.folder, "nobody", "nogroup")
        os.chmod(self.folder, 0o700)
        self.start()

    def start(self):
        self.process = spawn(["clickhouse-server", f"--config-file={self.folder}/config.xml"], user="nobody",
                             group="nogroup", extra_groups=[], cwd="/", stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        wait_until(self.answers, "clickhouse-server")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def answers(self):
        check(self.process.poll() is None, "clickhouse-server has ended")
        try:
            return self.sql("SELECT 1") == "1\n"
        except (urllib.error.URLError, ConnectionError):
            return False

    def sql(self, query, database=None, seconds=PATIENCE, **settings):
        asked = ({"database": database} if database else {}) | settings
        where = f"http://127.0.0.1:{self.port}/" + ("?" + urllib.parse.urlencode(asked) if asked else "")
        try:
            with urllib.request.urlopen(where, query.encode(), seconds) as reply:
                return reply.read().decode("utf-8", "surrogateescape")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAILED: {query}: {error.read().decode()}") from error

    def address(self, database, user="", **asked):
        """Words of Python may not be labels, so `from_` is `from`."""
        parameters = urllib.parse.urlencode({name.rstrip("_"): value for name, value in asked.items()},
                                            quote_via=urllib.parse.quote)
        return f"clickhouse://{user}127.0.0.1:{self.port}/{database}" + ("?" + parameters if parameters else "")


def window(service, host, began, seconds=60, stacks=(), figures=None, label_bytes=None, **labels):
    """`stacks`: pairs of a list of frames and values by type. A second window of the same place and time has the same
    id."""
    name = json.dumps([service, host, began, labels, label_bytes])
    return {"id": hashlib.md5(name.encode()).hexdigest(), "began_ns": int(began * 10**9),
            "ended_ns": int((began + seconds) * 10**9), "labels": {"service": service, "host": host, **labels},
            "label_bytes": label_bytes or {}, "figures": figures or {}, "top": [],
            "stacks": [{"frames": frames, "values": values} for frames, values in stacks]}


def send(to, windows, *more, status=0):
    done = subprocess.run([SEND, to, *more], input="".join(json.dumps(each) + "\n" for each in windows), text=True,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    if done.returncode != status:
        print(done.stderr, file=sys.stderr)
    check(done.returncode == status, f"send_windows: {done.returncode}: {done.stderr}")
    return done.stderr
