# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside --sample: right on average, as far off as predicted, and nothing left when all is freed, also when
threads free each other's blocks and in forked children. --max-wait loses allocations, and no free.

$MEMFLAME_SAMPLING_RUNS runs of each rate (default 5, 15 in scripts/test full)."""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time

from lib import LONG, MEMFLAME, PATIENCE, USAGE, Profile, check, equal, example, losses, lossless, path, run, spawn
from sampling_lib import FAR, check_nothing_left, check_rate, poisson

RUNS = int(os.environ.get("MEMFLAME_SAMPLING_RUNS", "15" if LONG else "5"))
OUTPUT, SUMMARY = path("sampled.json"), path("sampled.summary")


def memflame(*words):
    return [MEMFLAME, "alloc", "--inside", *words[0], "-o", OUTPUT, "--summary", SUMMARY, "--", example(words[1]),
            *words[2:]]


def results():
    with open(SUMMARY, encoding="utf-8") as stream:
        return Profile(OUTPUT), json.load(stream)


def watch(options, program, *arguments):
    """The profile, the summary, and what the program states."""
    done = subprocess.run(memflame(options, program, *arguments), capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    equal(f"exit status of {program}, which said:\n{done.stderr}\n", done.returncode, 0)
    return *results(), stated_in(done.stdout)


def stated_in(text):
    return json.loads(text[text.index("{"):text.rindex("}") + 1]) if "{" in text else {}


def compiled(name, code):
    """A program whose functions stay on the stack while they call others."""
    with open(path(f"{name}.cc"), "w", encoding="utf-8") as stream:
        stream.write(code)
    subprocess.run(["g++", "-O2", "-pthread", "-fno-builtin", "-fno-optimize-sibling-calls", path(f"{name}.cc"), "-o",
                    path(name)], check=True)


# The estimates, and their errors.
for mean in (524288, 65536):
    check_rate(lambda *options: watch(options, "alloc_sampled"), ("--sample", str(mean)), poisson(mean), RUNS)
for mean in (524288, 4096, 512, 1):
    rate = ("--sample", str(mean))
    check_nothing_left(rate, *watch(rate, "alloc_sampled", "all")[:2])

# Eight threads free each other's blocks: none seems live. At 64 bytes, more are sampled than the agent has places for
# in its table of blocks, at 1 byte all of them.
OPERATIONS = 5_000_000 if LONG else 250_000
for mean in (1, 64, 4096, 262144):
    profile, summary, truth = watch(("--sample", str(mean)), "alloc_storm", "--threads", "8", "--operations",
                                    str(OPERATIONS))
    lossless(profile, summary)
    equal(f"live bytes of the storm at {mean}", profile.sum("live", "storm_allocate"), 0)
    equal(f"live blocks of the storm at {mean}", profile.sum("live-count", "storm_allocate"), 0)
    stated = truth["functions"]["storm_allocate"]["total"]
    off = profile.sum("total", "storm_allocate") - stated
    bound = FAR * math.sqrt(stated * (mean + 264))  # every second block is larger than 264 bytes
    check(mean != 1 or off == 0, f"at 1 byte every block is sampled: {off} bytes off")
    check(abs(off) < bound, f"total of the storm at {mean}: {off} bytes off, at most {bound}")

# Forked children draw anew: with their parent's draws, all 200 would sample the same of their 100 blocks, and the
# estimate would be off by a multiple of what it is now. What they free of their parent's stays the parent's.
for mean in (65536, 262144):
    profile, summary, truth = watch(("--sample", str(mean)), "alloc_sampled_children")
    lossless(profile, summary)
    for function in ("before_fork", "in_child"):
        for column in ("total", "live"):
            stated = truth["functions"][function][column]
            off = profile.sum(column, function) - stated
            check(abs(off) <= FAR * math.sqrt(stated * mean),
                  f"{function} {column} at {mean}: {off} bytes off {stated}")

# Each function draws once, also those that call others of them.
FUNCTIONS = {"malloc": "malloc(BYTES)", "calloc": "calloc(BYTES / 10, 10)", "realloc": "realloc(0, BYTES)",
             "moved": "realloc(malloc(BYTES), 2 * BYTES)", "reallocarray": "reallocarray(0, BYTES / 10, 10)",
             "array_moved": "reallocarray(malloc(BYTES), BYTES / 5, 10)", "memalign": "memalign(64, BYTES)",
             "aligned_alloc": "aligned_alloc(64, BYTES)", "valloc": "valloc(BYTES)", "pvalloc": "pvalloc(BYTES)",
             "posix_memalign": "posix_memalign(&block, 64, BYTES) ? 0 : block"}
BYTES, TIMES, MEAN = 960, 20000, 16384
compiled("functions", """
#include <malloc.h>
#include <stdlib.h>
""" + "".join(f"""
extern "C" __attribute__((noinline)) void* by_{name}() {{
  void* block = nullptr;
  return block = {call.replace("BYTES", str(BYTES))};
}}""" for name, call in FUNCTIONS.items()) + """
int main() {
""" + "".join(f"  for (int i = 0; i < {TIMES}; ++i) free(by_{name}());\n" for name in FUNCTIONS) + "}\n")
profile, summary, _ = watch(("--sample", str(MEAN)), path("functions"))
lossless(profile, summary)
for name in FUNCTIONS:
    stated = TIMES * BYTES * (3 if name.endswith("moved") else 1)
    off = profile.sum("total", f"by_{name}") - stated
    check(abs(off) < FAR * math.sqrt(stated * (MEAN + 2 * BYTES)), f"{name}: {off} bytes off {stated}")
    equal(f"{name}: live bytes", profile.sum("live", f"by_{name}"), 0)

# A leak comes first.
report = path("leaks.txt")
run("leaks", "--inside", "--sample", "16K", "-o", report, "--", example("leaky"), "4")
with open(report, encoding="utf-8") as stream:
    text = stream.read()
first = next(stack for stack in text.split("\n\n") if "[leaky]" in stack)
check("server::transcript_create" in first and "    leak: " in first, f"the leak comes first: {text}")
check("estimated from samples (1 sample per 16.0 KiB)" in text, f"says so: {text}")

# What only the kernel can do is refused by name, and --max-wait is not the kernel's.
for options, named in ((("--every", "7"), "--every"), (("--size", "usable"), "--size usable")):
    words = run("alloc", "--inside", *options, "-o", OUTPUT, "--", "true", status=USAGE).stderr
    check(named in words, words)
words = run("alloc", "--max-wait", "100", "-o", OUTPUT, "--", "true", status=USAGE).stderr
check("--max-wait is for --inside" in words, words)

# With --max-wait, allocations are lost while memflame is kept from reading; their frees are not recorded, all others
# wait: so nothing seems live, no free is of an unknown block, and what was lost is counted.
storm = spawn(memflame(("--max-wait", "20"), "alloc_storm", "--threads", "8", "--operations", str(8 * OPERATIONS)),
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for _ in range(10):  # for less than the two seconds after which it is taken for gone
    time.sleep(0.05)
    if storm.poll() is not None:
        break
    storm.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    storm.send_signal(signal.SIGCONT)
said, errors = storm.communicate(timeout=PATIENCE)
equal(f"exit status of the storm: {errors}", storm.returncode, 0)
profile, summary = results()
lost = losses(summary)["agent_ring_full"]
print(f"--max-wait 20: lost {lost['events']:,} of {8 * OPERATIONS:,} allocations")
check(lost["events"] > 0, f"something was lost: {summary['losses']}")
stated = stated_in(said)["functions"]["storm_allocate"]
equal("recorded and lost", profile.sum("total-count", "storm_allocate") + lost["events"], stated["total_count"])
equal("bytes of both", profile.sum("total", "storm_allocate") + lost["bytes"], stated["total"])
equal("live blocks", profile.sum("live-count", "storm_allocate"), 0)
equal("frees of unknown blocks", summary["losses"]["free_miss"]["events"], 0)
check(any("no block seems live that was freed" in note for note in summary["notes"]), f"notes: {summary['notes']}")

# More threads than there are rings, as in a process with a limit of address space: those without one lose what they allocate, but neither that nor its frees make a
# block seem live. The frees of recorded blocks are lost, too: as many stay live as the note says.
compiled("crowd", """
#include <pthread.h>
#include <stdlib.h>
constexpr int threads = 1200;
pthread_barrier_t all;
void* blocks[threads];
extern "C" __attribute__((noinline)) void* main_allocates() { return malloc(1000); }
extern "C" __attribute__((noinline)) void* own_block() { return malloc(500); }
void* run(void* block) {
  void* own = own_block();
  pthread_barrier_wait(&all);
  free(block);
  free(own);
  pthread_barrier_wait(&all);
  return nullptr;
}
int main() {
  pthread_barrier_init(&all, nullptr, threads + 1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  static pthread_t started[threads];
  for (void*& block : blocks) block = main_allocates();
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&started[i], &small, run, blocks[i]) != 0) return 1;
  pthread_barrier_wait(&all);
  pthread_barrier_wait(&all);
  for (pthread_t thread : started) pthread_join(thread, nullptr);
}
""")
profile, summary, _ = watch((), path("crowd"))
lossless(profile, summary)
equal("blocks without a limit", (profile.sum("total-count", "own_block"), profile.sum("live-count", "own_block"),
                                 profile.sum("live-count", "main_allocates")), (1200, 0, 0))
profile, summary, _ = watch((), shutil.which("prlimit"), f"--as={8 << 30}", path("crowd"))
stuck = profile.sum("live-count", "main_allocates")
check(100 < stuck < 300, f"{stuck} blocks of the main thread seem live")
check(any(f"the blocks of {stuck} frees" in note for note in summary["notes"]), f"{stuck}: {summary['notes']}")
equal("own blocks that seem live", profile.sum("live-count", "own_block"), 0)
equal("own blocks that were not recorded", 1200 - profile.sum("total-count", "own_block"), stuck)
equal("frees of unknown blocks", summary["losses"]["free_miss"]["events"], 0)

# Where nothing is allocated, memflame hardly ever wakes: it may watch for weeks.
process = spawn([MEMFLAME, "alloc", "--inside", "--sample", "512K", "-d", "6", "-o", OUTPUT, "--", "sleep", "8"],
                stderr=subprocess.DEVNULL)


def wakes():
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as stream:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", stream.read(), re.M)[1])


time.sleep(2)
before = wakes()
time.sleep(3)
woke = wakes() - before
check(process.poll() is None and woke < 3 * 40, f"memflame woke {woke} times in 3 s")
equal("exit status", process.wait(PATIENCE), 0)
