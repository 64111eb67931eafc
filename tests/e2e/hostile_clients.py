#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of /metrics and of the live page that ask for a thousand ranges, never end their question, or take no answer:
answers are bounded, and the scrape and the owner of the page get through."""

import re
import socket
import subprocess
import sys
import urllib.request

from fleet_lib import Feed, free_port
from lib import MEMFLAME, PATIENCE, check, equal, path, spawn, wait_until

NOBODY = 65534
# Holds as many connections as it is allowed to, for as long as its standard input is open: half questions, which go on
# byte by byte, and whole ones whose answer it does not take.
HOLDER = """
import os, select, socket, sys
port, target = int(sys.argv[1]), sys.argv[2].encode()
os.setuid(int(sys.argv[3]))
held = []
def hold(text, buffer):
    client = socket.socket()
    if buffer: client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect(("127.0.0.1", port))
    client.sendall(text)
    held.append(client)
for turn in range(200):
    hold(b"GET / HTTP/1.1\\r\\nX: ", 0)
    hold(b"GET " + target + b" HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % port, 2048)
print("holds", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    for client in list(held):
        try:
            client.send(b"a")
        except OSError:
            held.remove(client)
            hold(b"GET / HTTP/1.1\\r\\nX: ", 0)
"""


def answer(port, target, headers=""):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
        parts = []
        while part := client.recv(1 << 16):
            parts.append(part)
    head, _, content = b"".join(parts).partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), content


def is_hard_to_harm(port, target, held_target):
    status, content = answer(port, target)
    equal("status", status, "HTTP/1.1 200 OK")
    ranges = "Range: bytes=" + ",".join(["0-"] * 2000) + "\r\n"
    status, of_ranges = answer(port, target, ranges)
    equal("status of a request for ranges", status, "HTTP/1.1 200 OK")
    check(len(of_ranges) < len(content) * 2, f"{len(of_ranges)} bytes of a page of {len(content)}")
    status, refusal = answer(port, "/elsewhere", ranges)
    equal("a refusal", status, "HTTP/1.1 404 Not Found")
    check(len(refusal) < 1000, f"a refusal of {len(refusal)} bytes")
    for user in (NOBODY, 0):  # another user, and another program of this one
        holder = spawn([sys.executable, "-c", HOLDER, str(port), held_target, str(user)], text=True,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        equal("the holder", holder.stdout.readline(), "holds\n")
        for _ in range(20):
            status, content = answer(port, target)
            equal("status beside the holder", status, "HTTP/1.1 200 OK")
            check(len(content) > 100, "the whole answer comes")
        equal("the holder goes on", holder.poll(), None)
        holder.stdin.close()
        holder.wait(PATIENCE)


port = free_port()
feed = Feed("metrics", {"metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}}, 3, 100)


def is_served():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).status == 200
    except OSError:
        return False


wait_until(is_served, "/metrics")
is_hard_to_harm(port, "/metrics", "/metrics")
feed.end()

with open(path("live.err"), "w+") as said:
    live = spawn([MEMFLAME, "report", "--live", "--", "sleep", "60"], stdout=subprocess.DEVNULL, stderr=said)

    def address():
        said.seek(0)
        return re.search(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]+/)", said.read())

    wait_until(address, "the address of the page")
    found = address()
    is_hard_to_harm(int(found[1]), found[2], "/")
    live.terminate()
    live.wait(PATIENCE)
