# SPDX-License-Identifier: BSD-2-Clause
"""What the cases about outputs share: the program that feeds them with windows, and free ports."""

import json
import os
import socket
import subprocess
import threading

import lib

FEED = os.path.abspath(os.environ["FLEET_FEED"])


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Feed:
    """Windows of three versions of a service, of which 1.2 leaks, through a spool to these outputs."""

    def __init__(self, name, outputs, windows, milliseconds, profile=None):
        config = lib.path(name + ".json")
        with open(config, "w") as file:
            json.dump({"outputs": outputs}, file)
        self.errors = open(lib.path(name + ".err"), "w+")
        more = [profile] if profile else []
        self.process = lib.spawn([FEED, config, lib.path(name + ".spool"), str(windows), str(milliseconds), *more],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.windows = []
        self.counts = None
        self.sent = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line == "sent\n":
                self.sent.set()
                continue
            values = json.loads(line)
            if "id" in values:
                self.windows.append(values)
            else:
                self.counts = values

    def all_sent(self):
        """Waits until nothing waits any more; the windows that were sent."""
        self.sent.wait(timeout=lib.PATIENCE)
        lib.check(self.sent.is_set(), f"not all windows were sent: {self.said()}")
        return self.windows

    def end(self):
        """The counts of the spool."""
        self.process.stdin.write("end\n")
        self.process.stdin.close()
        lib.equal("exit status of the feed", self.process.wait(timeout=lib.PATIENCE), 0)
        self.reader.join(timeout=lib.PATIENCE)
        return self.counts

    def said(self):
        self.errors.seek(0)
        return self.errors.read()
