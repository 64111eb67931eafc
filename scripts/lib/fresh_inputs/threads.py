# SPDX-License-Identifier: BSD-2-Clause
"""eu-stack and gdb on a process with threads: one stack a thread, all frames there."""

import re
import subprocess
import time

PACKAGES = ["elfutils", "gdb", "g++"]

PROGRAM = """
#include <pthread.h>
#include <unistd.h>
namespace { namespace deep {
__attribute__((noinline)) int level(int n) {
  if (n == 0) { pause(); return 1; }
  const int below = level(n - 1);
  __asm__ volatile("" ::: "memory");
  return below + 1;
}
} }
void* work(void* depth) {
  pthread_setname_np(pthread_self(), "worker x");
  return (void*)(long)deep::level((int)(long)depth);
}
int main() {
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, work, (void*)(3 * i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
"""


def compare(work, name, text):
    work.write(name, text)
    frames = len(re.findall(r"^#\d+ ", text, re.M))
    threads = len(re.findall(r"^#0 ", text, re.M))
    ours = [line.rsplit(" ", 1) for line in work.collapse(name, "--no-comm")]
    work.same(f"{name}: threads", sum(int(count) for _, count in ours), threads)
    work.same(f"{name}: frames", sum(int(count) * (stack.count(";") + 1) for stack, count in ours),
              frames)


def check(work):
    program = work.compile("threads", PROGRAM)
    with subprocess.Popen([program]) as running:
        try:
            time.sleep(1)
            pid = str(running.pid)
            compare(work, "eu-stack.txt", work.run(["eu-stack", "-p", pid])[0])
            compare(work, "eu-stack-inlined.txt",
                    work.run(["eu-stack", "-s", "-i", "-m", "-b", "-p", pid])[0])
            compare(work, "gdb.txt",
                    work.run(["gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"])[0])
        finally:
            running.kill()
