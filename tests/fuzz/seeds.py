#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes seeds for the libFuzzer program of a reader: seeds.py OUT_DIR DIR...

A seed is an input, unpacked, and three bytes that choose options (see input_fuzz.cc). Long inputs
are cut to what a run takes. Folders that are not there are passed over.
"""
import gzip
import hashlib
import lzma
import pathlib
import sys

LONGEST = 4096 - 3
CHOICES = [bytes(3), b"\x01\x00\x02", b"\x20\x0f\x01", b"\x5f\x40\x03", b"\x80\x20\x04"]


def unpacked(data):
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    return data


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        for file in sorted(path.iterdir()) if path.is_dir() else []:
            if not file.is_file():
                continue
            data = file.read_bytes()
            for text in {data[:LONGEST], unpacked(data)[:LONGEST]}:
                for choice in CHOICES:
                    seed = text + choice
                    (out / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


main()
