# SPDX-License-Identifier: BSD-2-Clause
"""Asks the system: a process's sizes, its code in memory, and loaded BPF programs."""

import ctypes
import os
import re
import struct

PAGE = os.sysconf("SC_PAGE_SIZE")


def status_bytes(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
        return int(re.search(rf"^{field}:\s+(\d+) kB", stream.read(), re.M).group(1)) * 1024


def heap_bytes(pid):
    """The size of [heap]; 0 if there is none. The kernel may list it in several parts."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as stream:
        return sum(int(line.split("-")[1].split()[0], 16) - int(line.split("-")[0], 16)
                   for line in stream if line.rstrip().endswith("[heap]"))


def resident_pages(pid):
    """Resident pages by the page tables, because statm lags behind before Linux 6.2."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as stream:
        return int(re.search(r"^Rss:\s+(\d+) kB", stream.read(), re.M).group(1)) * 1024 // PAGE


def changed_code(pid, folder="/"):
    """Files in a folder whose code differs between memory and disk, because of a breakpoint."""
    changed = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            fields = line.split()
            if len(fields) < 6 or "x" not in fields[1] or not fields[5].startswith(folder):
                continue
            start, end = (int(part, 16) for part in fields[0].split("-"))
            mem.seek(start)
            with open(fields[5], "rb") as file:
                file.seek(int(fields[2], 16))
                wanted = file.read(end - start)
            if mem.read(end - start)[:len(wanted)] != wanted:
                changed.append(fields[5])
    return changed


_libc = ctypes.CDLL(None, use_errno=True)
_SYS_BPF = 321  # x86-64
_PROG_GET_NEXT_ID, _PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD = 11, 13, 15


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(_SYS_BPF, command, buffer, len(buffer))
    return result, buffer.raw


def _program_name(number):
    fd, _ = _bpf(_PROG_GET_FD_BY_ID, struct.pack("I", number))
    if fd < 0:
        return ""
    info = ctypes.create_string_buffer(256)
    _bpf(_OBJ_GET_INFO_BY_FD, struct.pack("IIQ", fd, len(info), ctypes.addressof(info)))
    os.close(fd)
    return info.raw[64:80].split(b"\0")[0].decode()  # struct bpf_prog_info, name


def _held_programs():
    """Ids of the programs that any process has open, directly or through a link."""
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as stream:
                    held.update(map(int, re.findall(r"^prog_id:\s+(\d+)", stream.read(), re.M)))
        except OSError:
            continue
    return held


def programs():
    """Loaded BPF programs of memflame: id -> name."""
    found, number = {}, 0
    while True:
        result, answer = _bpf(_PROG_GET_NEXT_ID, struct.pack("I", number))
        if result < 0:
            return found
        number = struct.unpack_from("I", answer, 4)[0]
        name = _program_name(number)
        if name.startswith("memflame"):
            found[number] = name


def orphaned_programs():
    """memflame's programs that the kernel keeps although no process has them open."""
    held = _held_programs()
    return {number: name for number, name in programs().items() if number not in held}
