# SPDX-License-Identifier: BSD-2-Clause
"""Unwind tables are kept between runs, but only where no other user could have written them."""
import os

from chains import compare, complete
from lib import Memflame, Target, check, equal, path


def run(cache):
    target = Target("no_frame_pointer", "alloc", "2")
    memflame = Memflame("alloc", "-p", target.pid, "--max-depth", "1023",
                        env={**os.environ, "XDG_CACHE_HOME": cache})
    truth = target.work()
    memflame.stop()
    target.end()
    summary = memflame.summary()
    complete(summary)
    compare(memflame.profile(), truth, "alloc")
    return summary["unwind"]


cache = path("cache")
os.mkdir(cache, 0o700)
cold, warm = run(cache), run(cache)
equal("tables from a new cache", cold["from_cache"], 0)
check(cold["tables"] >= 4, f"too few tables: {cold}")
# The vdso is in no file.
equal("tables from the cache", warm["from_cache"], cold["built"] - 1)
equal("rows", warm["rows"], cold["rows"])
equal("what is wrong with the cache", warm["cache_problem"], "")

folder = os.path.join(cache, "memflame", "unwind")
check(os.listdir(folder), "the cache is empty")
for name in os.listdir(folder):
    equal(f"mode of {name}", os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)

# A damaged table is made anew.
damaged = os.path.join(folder, max(os.listdir(folder)))
with open(damaged, "r+b") as file:
    file.seek(-9, os.SEEK_END)
    byte = file.read(1)
    file.seek(-9, os.SEEK_END)
    file.write(bytes([byte[0] ^ 1]))
equal("tables from a damaged cache", run(cache)["from_cache"], warm["from_cache"] - 1)

# Other users can write to the folder: nothing is read from it.
os.chmod(folder, 0o777)
open_to_all = run(cache)
equal("tables from a cache that all can write", open_to_all["from_cache"], 0)
check(open_to_all["cache_problem"], "nothing is said about a cache that all can write")
