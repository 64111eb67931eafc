# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: every function of every allocator, and operators new and delete of an allocator's own, when the agent
is there from the start and when it comes later; and exceptions that pass through it."""
import json
import os
import subprocess

from allocator_matrix import CELLS, environment, missing, program, strange
from lib import MEMFLAME, PATIENCE, Memflame, Profile, Target, check, equal, example, losses, path, run, spawn

SHARED = [(allocator, way) for allocator, ways in CELLS for way in ways if way in ("dynamic", "preload")]


def inside(*command, status=0, options=(), **others):
    """A command whose agent is there from the start: its picture, its summary and its output."""
    output, summary = path("command.json"), path("command.summary")
    done = subprocess.run([MEMFLAME, "alloc", "--inside", "-o", output, "--summary", summary, *options, "--", *command],
                          capture_output=True, text=True, timeout=PATIENCE, check=False, **others)
    equal(f"exit status of {command}: {done.stderr}", done.returncode, status)
    if not os.path.exists(output):
        return None, None, done
    with open(summary, encoding="utf-8") as stream:
        return Profile(output), json.load(stream), done


for allocator, way in SHARED:
    name, what = program("allocator_matrix", allocator, way), f"{allocator}, {way}"
    wrong = missing("allocator_matrix", allocator, way)
    check(not wrong, wrong)
    # Containers are gone when the program has ended.
    profile, summary, done = inside(example(name), env=environment(allocator, way))
    functions = json.loads(done.stdout[done.stdout.index("{"):done.stdout.rindex("}") + 1])["functions"]
    profile.compare({name: figures for name, figures in functions.items() if name != "of_containers"})
    check(not losses(summary), f"{what}: lost {losses(summary)}")
    if allocator == "musl":
        continue  # no agent comes later there: inside_attach
    target = Target(name, env=environment(allocator, way))
    memflame = Memflame("alloc", "--inside", "-p", target.pid)
    functions = target.work()["functions"]
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(functions)
    equal(f"{what}: what else allocates", strange(profile, functions), "")
    equal(f"{what}: lost, and freed without being allocated",
          (losses(summary), summary["losses"]["free_miss"]["events"]), ({}, 0))
    # What operator new throws passes through the agent, and what comes after is counted.
    name, caught = example(program("throwing_new", allocator, way)), 0
    for arguments in ([], ["handler"]):
        alone = subprocess.run([name, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False,
                               env=environment(allocator, way))
        status = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
        profile, _, done = inside(name, *arguments, status=status, env=environment(allocator, way))
        equal(f"{what}, {arguments}: output", done.stdout, alone.stdout)
        if status:
            continue
        equal(f"{what}: after an exception", [profile.sum(column, "goes_on") for column in profile.columns],
              [128 * 100, 128, 128 * 300, 256])
        equal(f"{what}: kept of what failed", profile.sum("live", "asks_for_too_much"), 0)

# glibc's second names of its functions, from the start, found by dlsym(), and from later on; also where what is behind
# malloc() calls them for it.
DIRECT = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void __libc_free(void* block);
void* __libc_memalign(size_t alignment, size_t size);
void* __libc_valloc(size_t size);
void* __libc_pvalloc(size_t size);
__attribute__((noinline)) void directly(void) {
  void* (*found)(size_t) = (void* (*)(size_t))dlsym(RTLD_DEFAULT, "__libc_malloc");
  for (int i = 0; i < 100; ++i) {
    void* block = __libc_realloc(memset(__libc_malloc(1000), 1, 1000), 2000);
    if (i % 2 == 0) __libc_free(block);
    memset(__libc_calloc(10, 100), 1, 1000);
    memset(__libc_memalign(64, 1000), 1, 1000);
    memset(__libc_valloc(1000), 1, 1000);
    memset(__libc_pvalloc(4096), 1, 1000);
    memset(found(1000), 1, 1000);
  }
}
__attribute__((noinline)) void by_malloc(void) {
  for (int i = 0; i < 10000; ++i) memset(malloc(1000), 1, 1000);
}
int main(int count, char** words) {
  if (count > 1 && strcmp(words[1], "--wait") == 0) {
    puts("ready");
    fflush(stdout);
    getchar();
  }
  directly();
  by_malloc();
  puts("done");
  fflush(stdout);
  getchar();
  return 0;
}
"""
WRAPPER = """#include <stddef.h>
void* __libc_malloc(size_t size);
void __libc_free(void* block);
__attribute__((noinline)) void* malloc(size_t size) {
  void* block = __libc_malloc(size + 16);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
void free(void* block) { __libc_free(block); }
"""
# live, live-count, total, total-count.
DIRECTLY = [100 * (2000 / 2 + 4 * 1000 + 4096), 550, 100 * (3000 + 4 * 1000 + 4096), 700]
BY_MALLOC = [10000 * 1000, 10000, 10000 * 1000, 10000]
for name, source, flags in (("direct", DIRECT, ("-O1", "-ldl")), ("wrapper.so", WRAPPER, ("-O1", "-shared", "-fPIC"))):
    with open(path("source.c"), "w", encoding="utf-8") as stream:
        stream.write(source)
    subprocess.run(["gcc", "-fno-builtin", "-o", path(name), path("source.c"), *flags], check=True)


def of(profile, function):
    return [profile.sum(column, function) for column in ("live", "live-count", "total", "total-count")]


profile, summary, _ = inside(path("direct"), input="")
equal("__libc_malloc and its kin", (of(profile, "directly"), of(profile, "by_malloc")), (DIRECTLY, BY_MALLOC))
equal("losses", losses(summary), {})
direct = spawn([path("direct"), "--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
equal("it waits", direct.stdout.readline(), "ready\n")
memflame = Memflame("alloc", "--inside", "-p", direct.pid)
direct.stdin.write("\n")
direct.stdin.flush()
equal("it has worked", direct.stdout.readline(), "done\n")
memflame.stop()
direct.communicate("", timeout=PATIENCE)
equal("an agent that came later", (of(memflame.profile(), "directly"), of(memflame.profile(), "by_malloc")),
      (DIRECTLY, BY_MALLOC))
WRAPPED = {**os.environ, "LD_PRELOAD": path("wrapper.so")}
profile, _, _ = inside(path("direct"), input="", env=WRAPPED)
equal("a malloc() that calls __libc_malloc()", of(profile, "by_malloc"), BY_MALLOC)
profile, _, _ = inside(path("direct"), input="", options=("--sample", "8192"), env=WRAPPED)
part = profile.sum("total", "by_malloc") / BY_MALLOC[2]
check(0.8 < part < 1.2, f"the same, sampled: {part} of what was allocated")

# An allocator in the program's own file is called directly. (From the start: inside_exec.)
for allocator in ("jemalloc", "tcmalloc"):
    name = program("allocator_matrix", allocator, "archive")
    if not os.path.exists(example(name)):
        continue
    target = Target(name)
    words = run("alloc", "--inside", "-p", target.pid, "-o", path("x.json"), status=1).stderr
    check("part of the program" in words, words)
    target.work()
    target.end()
