# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside --max-overhead: the rate follows what the program does, estimates stay right on average while it
changes, nothing is left when all is freed, and what cannot be held ends the run. Nothing here depends on a duration
being short."""
import json
import math
import subprocess

from lib import LONG, MEMFLAME, PATIENCE, Profile, Target, check, equal, example, lossless, path, run
from attached import attach

FAR = 4.5
RUNS = 4 if LONG else 1
OUTPUT, SUMMARY = path("governed.json"), path("governed.summary")

# Phases that do little work for each block, and much: so the rate that a budget allows goes up and down. A part of the
# blocks stays allocated until the end. Two threads; each states what it allocated.
with open(path("phases.cc"), "w", encoding="utf-8") as stream:
    stream.write("""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <time.h>
#include <vector>
struct Sums { uint64_t live = 0, live_count = 0, total = 0, total_count = 0; };
extern "C" __attribute__((noinline)) void* block_of(size_t size) {
  void* volatile block = malloc(size);
  return block;
}
static double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}
static void phase(double seconds, int work, bool keeps, uint32_t& random, Sums& sums, std::vector<void*>& kept) {
  volatile int done = 0;
  const double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 100; ++i) {
      random = random * 1664525 + 1013904223;
      const size_t size = 16 + (random >> 16) % ((random >> 8) % 64 == 0 ? 60000 : 1000);
      void* const block = block_of(size);
      sums.total += size;
      sums.total_count += 1;
      if (keeps && random >> 26 == 0) {
        kept.push_back(block);
        sums.live += size;
        sums.live_count += 1;
      } else
        free(block);
      for (int k = 0; k < work; ++k) done = k;
    }
}
int main(int argc, char** argv) {
  const bool keeps = argc > 2 && strcmp(argv[2], "keep") == 0;
  Sums sums[2];
  std::vector<std::thread> threads;
  for (Sums& mine : sums)
    threads.emplace_back([&mine, keeps, seconds = atof(argv[1])] {
      uint32_t random = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&mine));
      std::vector<void*> kept;
      kept.reserve(1 << 22);
      for (int work : {3000, 200, 6000, 200}) phase(seconds, work, keeps, random, mine, kept);
    });
  Sums all;
  for (std::thread& thread : threads) thread.join();
  for (const Sums& one : sums) {
    all.live += one.live;
    all.live_count += one.live_count;
    all.total += one.total;
    all.total_count += one.total_count;
  }
  printf("{\\"live\\": %lu, \\"live-count\\": %lu, \\"total\\": %lu, \\"total-count\\": %lu}\\n", all.live,
         all.live_count, all.total, all.total_count);
}
""")
subprocess.run(["g++", "-O2", "-pthread", "-fno-builtin", "-fno-optimize-sibling-calls", path("phases.cc"), "-o",
                path("phases")], check=True)


def watched(budget, *arguments):
    done = subprocess.run([MEMFLAME, "alloc", "--inside", "--max-overhead", str(budget), "-o", OUTPUT, "--summary",
                           SUMMARY, "--", path("phases"), *arguments], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    equal(f"exit status of the phases, which said:\n{done.stderr}\n", done.returncode, 0)
    with open(SUMMARY, encoding="utf-8") as stream:
        summary = json.load(stream)
    check_changes(budget, summary)
    return Profile(OUTPUT), summary, json.loads(done.stdout) if done.stdout else None


def check_changes(budget, summary):
    overhead = summary["overhead"]
    equal("budget", overhead["budget"], budget)
    equal("ended early, as a loss", summary["losses"]["ended_early"]["events"],
          int(overhead["ended_after_seconds"] is not None))
    check(overhead["prices"]["sampled_ns"] >= 0, f"prices: {overhead}")
    at, distance = 0, 512 << 10
    for change in overhead["changes"]:
        check(change["seconds"] > at and change["from"] == distance, f"changes: {overhead}")
        check(64 <= change["to"] <= 1 << 30 and change["to"] & (change["to"] - 1) == 0, f"a distance: {change}")
        check(change["percent"] <= budget or change["to"] > change["from"], f"a change over the budget: {change}")
        at, distance = change["seconds"], change["to"]
    notes = " ".join(summary["notes"])
    check("of a budget of" in notes, f"notes: {notes}")
    equal("changes in the notes", notes.count(" before)"), min(12, len(overhead["changes"])))
    equal("sampling", summary["sampling"], f"as {budget} % of overhead allow")


def right_on_average():
    """Runs whose rate changes, compared with the figures that the program states."""
    sums = {column: [0.0, 0.0] for column in ("live", "live-count", "total", "total-count")}
    changes = []
    for _ in range(RUNS):
        profile, summary, truth = watched(8, "2", "keep")
        if summary["losses"]["ended_early"]["events"]:
            print(f"out of control on this machine: {summary['overhead']}")
            continue
        lossless(profile, summary)
        changes += summary["overhead"]["changes"]
        for column, sum_ in sums.items():
            sum_[0] += profile.sum(column, "block_of") - truth[column]
            sum_[1] += summary["standard_errors"][column] ** 2
    if not changes:
        return
    check(any(change["to"] < change["from"] for change in changes), f"the rate never became finer: {changes}")
    for column, (off, variance) in sums.items():
        print(f"{column}: {off / math.sqrt(variance):+.2f} standard errors off, {len(changes)} changes")
        check(abs(off) < FAR * math.sqrt(variance), f"{column} is {off / math.sqrt(variance):.2f} standard errors off")


def nothing_left():
    """A budget that is never reached, so that all rates come, and one that is."""
    for budget in (1000, 3):
        profile, summary, _ = watched(budget, "1")
        if summary["losses"]["ended_early"]["events"]:
            print(f"out of control on this machine: {summary['overhead']}")
            continue
        lossless(profile, summary)
        check(profile.sum("total") > 0, "something was sampled")
        for column in ("live", "live-count"):
            index = profile.columns.index(column)
            equal(f"{column} when all is freed",
                  [frames for frames, values in profile.stacks if values[index] and "block_of" in frames], [])
        check(summary["overhead"]["percent"] is not None, f"the cost is known: {summary['overhead']}")


def beyond():
    """What the hooks take when nothing is sampled is above the budget: measuring ends, and the program runs on."""
    _, summary, _ = watched(0.001, "3")
    overhead = summary["overhead"]
    check(overhead["beyond_control"] and overhead["ended_after_seconds"] is not None, f"went on: {overhead}")
    notes = " ".join(summary["notes"])
    check("the hooks alone cost more than that" in notes and "measuring ended after" in notes, notes)


def of_a_running_process():
    target = Target("alloc_truth")
    memflame = attach(target, "--max-overhead", "5")
    target.work()
    memflame.stop()
    target.end()
    summary = memflame.summary()
    check_changes(5, summary)
    check("memflame's agent came into process" in " ".join(summary["notes"]), summary["notes"])


def without_asking():
    """A command is watched from inside by default, also with a budget. A short run is too short to change the rate."""
    words = run("alloc", "--collect", "auto", "--max-overhead", "3", "-o", path("auto.json"), "--summary", SUMMARY, "--",
                example("alloc_truth")).stderr
    check("recording from inside the program" in words, words)
    with open(SUMMARY, encoding="utf-8") as stream:
        changes = json.load(stream)["overhead"]["changes"]
    # On a busy machine the run is not that short.
    equal("changes in the first half second", [change for change in changes if change["seconds"] < 0.5], [])


right_on_average()
nothing_left()
beyond()
of_a_running_process()
without_asking()
