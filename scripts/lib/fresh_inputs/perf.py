# SPDX-License-Identifier: BSD-2-Clause
"""perf record and perf script: faults, clocks and tracepoints of the kernel's allocators."""

import re

PACKAGES = ["linux-perf", "g++"]

SOURCE = r"""
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {
volatile unsigned sink;
__attribute__((noinline)) void touch(size_t bytes) {
  char* block = static_cast<char*>(std::malloc(bytes));
  std::memset(block, 1, bytes);
  sink += static_cast<unsigned char>(block[bytes / 2]);
  std::free(block);
}
__attribute__((noinline)) void files() {
  for (int i = 0; i < 2000; ++i) {
    const int file = open("/proc/self/status", O_RDONLY);
    char text[64];
    sink += static_cast<unsigned>(read(file, text, sizeof text));
    close(file);
  }
}
__attribute__((noinline)) void compute() {
  for (unsigned i = 0; i < 100000000; ++i) sink = sink * 3 + i;
}
}  // namespace

int main() {
  for (int i = 0; i < 8; ++i) touch(4 << 20);
  files();
  compute();
}
"""


def fields(text, event, field):
    """Sum of a field over the lines of one event."""
    lines = (line for line in text.splitlines() if f" {event}: " in line)
    return sum(int(re.search(rf"\b{field}=(\d+)", line).group(1)) for line in lines)


def check(work):
    program = work.compile("worker", SOURCE)
    print("perf:", work.run(["perf", "--version"])[0].strip())

    def record(name, *events):
        """Makes NAME.txt with stacks; returns text of the events alone, to be added up."""
        data = work.path(name + ".data")
        _, said = work.run(["perf", "record", "-q", "-m", "4M", "-o", data, *events, "--", program], check=False)
        try:
            text, _ = work.run(["perf", "script", "-i", data])
            plain, _ = work.run(["perf", "script", "-i", data, "-F", "comm,tid,time,period,event,trace"])
        except RuntimeError:
            work.skip(f"{name}: perf cannot record it here: {said.strip()[:120]}")
            return None
        work.write(name + ".txt", text)
        return plain

    def periods(plain, event):
        return sum(map(int, re.findall(rf"(\d+) +{re.escape(event)}:[a-zA-Z]*:? ", plain)))

    for name, event in [("faults", "page-faults"), ("clock", "cpu-clock"), ("task", "task-clock")]:
        plain = record(name, "-e", event, "-g", *(["-c", "1"] if event == "page-faults" else []))
        if plain is None:
            continue
        totals = work.totals(name + ".txt")
        column = next(iter(totals))
        work.same(f"{event}: periods", totals[column], periods(plain, event))
        report, _ = work.run(["perf", "report", "-i", work.path(name + ".data"), "--stdio", "-g", "none"])
        work.same(f"{event}: event count of perf report", totals[column],
                  int(re.search(r"Event count \(approx\.\): (\d+)", report).group(1)))
        work.same(f"{event}: two threads", work.totals(name + ".txt", "--threads", "2"), totals)
    plain = record("kmem", "-e", "kmem:kmalloc", "-e", "kmem:kmem_cache_alloc", "-e", "kmem:kfree",
                   "-e", "kmem:kmem_cache_free", "-e", "kmem:mm_page_alloc", "-g")
    if plain is not None:
        totals = work.totals("kmem.txt")
        requested = work.totals("kmem.txt", "--weight", "bytes_req")
        for event in ["kmem:kmalloc", "kmem:kmem_cache_alloc"]:
            work.same(f"{event}: bytes_alloc", totals[event], fields(plain, event, "bytes_alloc"))
            work.same(f"{event}: bytes_req", requested[event], fields(plain, event, "bytes_req"))
        work.same("kmem:kfree: events", totals["kmem:kfree"], plain.count(" kmem:kfree: "))
        orders = re.findall(r" kmem:mm_page_alloc: .*\border=(\d+)", plain)
        work.same("kmem:mm_page_alloc: pages", totals["kmem:mm_page_alloc"], sum(1 << int(o) for o in orders))
        work.same("kmem: net", sum(work.totals("kmem.txt", "--net", "--event", "kmem:kmalloc", "--event",
                                               "kmem:kfree", "--event", "kmem:kmem_cache_alloc", "--event",
                                               "kmem:kmem_cache_free").values()), net(plain))


def net(plain):
    """Bytes that are allocated and not freed later."""
    live = {}
    for line in plain.splitlines():
        event = re.search(r" kmem:(kmalloc|kmem_cache_alloc|kfree|kmem_cache_free): .*\bptr=(0x[0-9a-f]+)", line)
        if not event or int(event.group(2), 16) == 0:
            continue
        if "free" in event.group(1):
            live.pop(event.group(2), None)
        else:
            live[event.group(2)] = int(re.search(r"bytes_alloc=(\d+)", line).group(1))
    return sum(live.values())
