# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: a dynamic program with musl is counted to the byte, in its threads and children too."""
import shutil
import subprocess
import sys

from lib import Memflame, check, equal, losses, path, run

if not shutil.which("musl-gcc"):
    print("SKIPPED: no musl-gcc")
    sys.exit(77)

SOURCE = """
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noipa))
void *volatile kept;
OWN void use_malloc(void) { for (int i = 0; i < 10; ++i) kept = malloc(100); }
OWN void use_calloc(void) { for (int i = 0; i < 10; ++i) kept = calloc(10, 20); }
OWN void use_realloc(void) { kept = malloc(50); kept = realloc(kept, 500); kept = realloc(kept, 5000); }
OWN void use_reallocarray(void) { kept = reallocarray(NULL, 7, 30); }
OWN void use_aligned_alloc(void) { kept = aligned_alloc(64, 640); }
OWN void use_memalign(void) { kept = memalign(32, 96); }
OWN void use_posix_memalign(void) { void *block; if (posix_memalign(&block, 64, 320)) _exit(3); kept = block; }
OWN void use_free(void) { for (int i = 0; i < 1000; ++i) { kept = malloc(77); free(kept); } }
OWN void in_thread(void) {
  for (int i = 0; i < 2000; ++i) { void *block = malloc(40); kept = block; if (i % 2) free(block); }
}
OWN void *thread(void *argument) { in_thread(); kept = argument; return argument; }
OWN void in_child(void) { for (int i = 0; i < 100; ++i) kept = malloc(60); }
int main(void) {
  use_malloc(); use_calloc(); use_realloc(); use_reallocarray(); use_aligned_alloc(); use_memalign();
  use_posix_memalign(); use_free();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) if (pthread_create(&threads[i], NULL, thread, NULL)) return 1;
  for (int i = 0; i < 3; ++i) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) { in_child(); _exit(0); }
    if (child < 0 || waitpid(child, &status, 0) != child || status) return 2;
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""
# Live and total: bytes and blocks.
TRUTH = {"use_malloc": (1000, 10, 1000, 10), "use_calloc": (2000, 10, 2000, 10), "use_realloc": (5000, 1, 5550, 3),
         "use_reallocarray": (210, 1, 210, 1), "use_aligned_alloc": (640, 1, 640, 1), "use_memalign": (96, 1, 96, 1),
         "use_posix_memalign": (320, 1, 320, 1), "use_free": (0, 0, 77000, 1000),
         "in_thread": (160000, 4000, 320000, 8000), "in_child": (18000, 300, 18000, 300)}

with open(path("program.c"), "w", encoding="utf-8") as file:
    file.write(SOURCE)
for name, flags in (("dynamic", ("-g",)), ("no_pie", ("-no-pie", "-g")), ("static", ("-static",))):
    subprocess.run(["musl-gcc", "-O2", "-fno-optimize-sibling-calls", *flags, "-o", path(name), path("program.c"),
                    "-lpthread"], check=True)
for name in ("dynamic", "no_pie"):
    memflame = Memflame("alloc", "--inside", "--", path(name)).wait()
    profile, summary = memflame.profile(), memflame.summary()
    equal(f"{name}: figures", {function: tuple(profile.sum(column, function) for column in profile.columns)
                               for function in TRUTH}, TRUTH)
    check(not losses(summary), f"{name}: something was lost: {losses(summary)}")
    equal(f"{name}: stacks that end early", profile.marked("total-count", "[truncated: "), 0)
    equal(f"{name}: stacks of main", profile.sum("total-count", "main", "use_free"), 1000)
words = run("alloc", "--inside", "-o", path("static.json"), "--", path("static")).stderr
check("it is linked statically" in words, words)
