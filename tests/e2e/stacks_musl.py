# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of programs with musl, which describes none of its code, end where main was called."""
import shutil
import subprocess
import sys

from lib import Memflame, check, path

if not shutil.which("musl-gcc"):
    print("SKIPPED: no musl-gcc")
    sys.exit(77)

SOURCE = """
#include <stdlib.h>
#include <string.h>
void *volatile kept;
__attribute__((noinline)) int grow(int depth) {
  if (depth > 0) return grow(depth - 1) + 1;
  char *block = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; i += 4096) block[i] = 1;
  kept = block;
  return 0;
}
int main(void) {
  for (int i = 0; i < 40; ++i) grow(5);
  return 0;
}
"""
with open(path("program.c"), "w", encoding="utf-8") as file:
    file.write(SOURCE)
for name, flags in (("dynamic", ()), ("static", ("-static",)), ("stripped", ("-static", "-s"))):
    subprocess.run(["musl-gcc", "-O2", "-fno-optimize-sibling-calls", *flags, "-o", path(name),
                    path("program.c")], check=True)
    for probe in ("alloc", "fault") if name == "dynamic" else ("fault",):
        options = ("--value", "total") if probe == "alloc" else ()
        memflame = Memflame(probe, *options, "--", path(name))
        memflame.wait()
        profile = memflame.profile()
        whole = cut = 0
        for frames, values in profile.stacks:
            # Only the program's own faults, which are nearly all of them.
            if frames[1].startswith("[truncated: "):
                cut += values[profile.columns.index(profile.shown)]
            else:
                whole += values[profile.columns.index(profile.shown)]
        check(cut < whole / 50, f"{name} {probe}: {cut} cut, {whole} whole: "
              f"{[frames for frames, _ in profile.stacks if 'truncated' in frames[1]][:5]}")
        check(name == "stripped" or profile.has("main"), f"{name} {probe}: main is missing")
