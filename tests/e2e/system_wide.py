"""Without a target: the whole system, a root per process name, memflame itself left out."""
import subprocess

from lib import Memflame, USAGE, check, equal, example, run

expected = {"fault": ("fault_truth", "gained", "write_pages", 3000),
            "brk": ("brk_truth", "grown", "grow_index", 1000003),
            "mmap": ("mmap_truth", "outstanding", "map_anonymous", 245 * 4096)}
for probe, (program, column, function, wanted) in expected.items():
    memflame = Memflame(probe, "-d", "3")
    for _ in range(2):
        subprocess.run([example(program)], stdout=subprocess.DEVNULL, check=True)
    memflame.wait()
    profile = memflame.profile()
    # What a process that ended had mapped or grown is outstanding no more; what it did remains.
    column = {"outstanding": "total"}.get(column, column)
    equal(f"{function} of two processes", profile.sum(column, program, function), 2 * wanted)
    check("memflame" not in profile.roots, f"memflame watched itself: {profile.roots}")
    check(program in profile.roots, f"{program} is a root: {profile.roots}")

done = run("alloc", "-d", "1", status=USAGE)
check("-p" in done.stderr and "--comm" in done.stderr, f"alloc says what it needs: {done.stderr}")
