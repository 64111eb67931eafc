#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The functions of each BPF program that call each other fit together into 512 bytes of stack.

    tests/probes/bpf_stack_depth.py OBJECT.bpf.o …

Before Linux 6.13 the verifier adds them up, each rounded up to 32 bytes, and rejects the program. Newer kernels do not, so
that a program that only they take would be found out on the older kernel alone (scripts/kernel-boot), minutes later. Chains
of the deepest programs go to standard output."""

import struct
import sys

MOST, ROUNDED_TO, MOST_CALLS = 512, 32, 8
CALL, LOAD_IMMEDIATE, MOVE, ADD_IMMEDIATE = 0x85, 0x18, 0xbf, 0x07
FRAME_POINTER, IS_FUNCTION = 10, 1
STORE_CLASSES, LOAD_CLASS = (2, 3), 1  # ST and STX, by the register that they write to; LDX, by the one that it reads
SYMTAB, REL, FUNCTION_TYPE = 2, 9, 2


class Object:
    """The functions of an ELF file: what each has on its stack, and which ones it calls or hands to bpf_loop()."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        (at,), (size, count) = struct.unpack_from("<Q", self.data, 40), struct.unpack_from("<HH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + size * i) for i in range(count)]
        table = next(section for section in self.sections if section[1] == SYMTAB)
        names = self.bytes_of(self.sections[table[6]])
        self.symbols = []
        for i in range(table[5] // 24):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self.bytes_of(table), 24 * i)
            self.symbols.append((names[name:names.index(b"\0", name)].decode(), info & 15, section, value, length))
        self.functions = {(section, value): (name, length)
                          for name, kind, section, value, length in self.symbols if kind == FUNCTION_TYPE}
        targets = {}
        for section in self.sections:
            if section[1] != REL:
                continue
            for i in range(section[5] // 16):
                offset, info = struct.unpack_from("<QQ", self.bytes_of(section), 16 * i)
                targets[section[7], offset] = self.symbols[info >> 32]
        self.depth, self.calls = {}, {}
        for (section, begin), (name, length) in self.functions.items():
            self.read(name, section, begin, length, targets)

    def bytes_of(self, section):
        return self.data[section[4]:section[4] + section[5]]

    def read(self, name, section, begin, length, targets):
        depth, calls, copies = 0, set(), set()
        code = self.bytes_of(self.sections[section])
        for at in range(begin, begin + length, 8):
            opcode, registers, offset, immediate = struct.unpack_from("<BBhi", code, at)
            to, of = registers & 15, registers >> 4
            if (opcode & 7 in STORE_CLASSES and to == FRAME_POINTER) or (opcode & 7 == LOAD_CLASS and of == FRAME_POINTER):
                depth = max(depth, -offset)
            if opcode == MOVE and of == FRAME_POINTER:
                copies.add(to)
            elif opcode == ADD_IMMEDIATE and to in copies:
                depth = max(depth, -immediate)
                copies.discard(to)
            elif opcode in (CALL, LOAD_IMMEDIATE):
                symbol = targets.get((section, at))
                if symbol and symbol[1] == FUNCTION_TYPE:
                    calls.add(symbol[0])
                elif symbol or (opcode == CALL and of == IS_FUNCTION):
                    # By its place in a section, or from here.
                    where = symbol[2] if symbol else section
                    place = 8 * (immediate + 1) if opcode == CALL else immediate
                    if not symbol:
                        place += at
                    if (where, place) in self.functions:
                        calls.add(self.functions[where, place][0])
        self.depth[name], self.calls[name] = depth, calls

    def worst(self, name, known):
        """The deepest chain that begins with a function."""
        if name not in known:
            own = -(-max(self.depth[name], 1) // ROUNDED_TO) * ROUNDED_TO
            rest = max((self.worst(each, known) for each in self.calls[name]), default=(0, []))
            known[name] = (own + rest[0], [f"{name} ({self.depth[name]})", *rest[1]])
        return known[name]


def main(paths):
    failed = functions = 0
    for path in paths:
        program, known = Object(path), {}
        called = set().union(*program.calls.values())
        chains = sorted((program.worst(name, known) for name in program.depth if name not in called), reverse=True)
        functions += len(program.depth)
        for bytes_, chain in chains:
            if bytes_ > MOST or len(chain) > MOST_CALLS:
                failed += 1
                print(f"FAILED: {path.rsplit('/', 1)[-1]}: {bytes_} bytes, {len(chain)} functions: {' > '.join(chain)}")
        print(f"{path.rsplit('/', 1)[-1]}: {len(chains)} programs, {chains[0][0]} bytes at most: {' > '.join(chains[0][1])}")
    if not functions:
        sys.exit("FAILED: no function was found")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
