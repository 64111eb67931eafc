# SPDX-License-Identifier: BSD-2-Clause
"""Asks the kernel about loaded BPF programs, with the bpf() system call alone.

Layouts and numbers are those of include/uapi/linux/bpf.h and btf.h, which never change.
"""

import ctypes
import glob
import os
import re
import struct

SYS_BPF = 321  # x86-64
PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, BTF_GET_FD_BY_ID, ENABLE_STATS = 13, 15, 19, 32
STATS_RUN_TIME = 0

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"))
    result = _syscall(ctypes.c_long(SYS_BPF), ctypes.c_long(command), buffer,
                      ctypes.c_long(len(buffer.raw) - 1))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def enable_stats():
    """Makes programs count their runs and their time, until the returned descriptor is closed."""
    return bpf(ENABLE_STATS, struct.pack("=I", STATS_RUN_TIME))


def _info(fd, prefilled, size):
    buffer = ctypes.create_string_buffer(prefilled.ljust(size, b"\0"), size)
    bpf(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", fd, size, ctypes.addressof(buffer)))
    return buffer.raw


# How many bytes follow the three words of a BTF type, and how many for each of its members.
_BTF_EXTRA = {1: 4, 3: 12, 14: 4, 17: 4}
_BTF_MEMBER = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}


def _btf_name(btf_id, type_id):
    fd = bpf(BTF_GET_FD_BY_ID, struct.pack("=I", btf_id))
    try:
        size = struct.unpack_from("=Q I", _info(fd, b"", 16))[1]
        data = ctypes.create_string_buffer(size)
        _info(fd, struct.pack("=QI", ctypes.addressof(data), size), 16)
    finally:
        os.close(fd)
    _, _, _, header, types, types_size, strings, _ = struct.unpack_from("=HBBIIIII", data.raw)
    at, number = header + types, 0
    while at < header + types + types_size:
        number += 1
        name, info, _ = struct.unpack_from("=III", data.raw, at)
        if number == type_id:
            start = header + strings + name
            return data.raw[start:data.raw.index(b"\0", start)].decode()
        kind = info >> 24 & 0x1f
        at += 12 + _BTF_EXTRA.get(kind, 0) + _BTF_MEMBER.get(kind, 0) * (info & 0xffff)
    return ""


class Program:
    """A program's state at one moment. `verified` is how many instructions the verifier visited."""

    def __init__(self, number):
        self.id = number
        fd = bpf(PROG_GET_FD_BY_ID, struct.pack("=I", number))
        try:
            info = _info(fd, b"", 232)
            self.jited = struct.unpack_from("=I", info, 16)[0]  # bytes
            self.short_name = info[64:80].split(b"\0")[0].decode()
            btf, record_size = struct.unpack_from("=II", info, 128)
            self.run_ns, self.runs = struct.unpack_from("=QQ", info, 192)
            self.verified = struct.unpack_from("=I", info, 216)[0]
            self.name = self._full_name(fd, btf, record_size) or self.short_name
        finally:
            os.close(fd)

    def _full_name(self, fd, btf, record_size):
        """The info cuts names after 15 characters; the first function's type has the whole name."""
        if not btf or record_size < 8:
            return ""
        record = ctypes.create_string_buffer(record_size)
        # At 132: the size of a record, the address of the records, and room for how many.
        request = b"\0" * 132 + struct.pack("=IQI", record_size, ctypes.addressof(record), 1)
        _info(fd, request, 232)
        return _btf_name(btf, struct.unpack_from("=II", record.raw)[1])


def programs_of(pid):
    """All programs to which the process has a descriptor, by name."""
    numbers = set()
    for file in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(file, encoding="utf-8") as stream:
                found = re.search(r"^prog_id:\s*(\d+)", stream.read(), re.M)
        except OSError:
            continue
        if found:
            numbers.add(int(found[1]))
    programs = {}
    for number in sorted(numbers):
        program = Program(number)
        programs[program.name] = program
    return programs
