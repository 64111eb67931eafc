# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside of a program that writes over all memory that it shares with memflame: it goes on to its end, what
is damaged is said, and no other cause and no process is made up."""
import subprocess

from lib import MEMFLAME, Memflame, check, equal, losses, path

ROUNDS = 1500

with open(path("scribbles.c"), "w", encoding="utf-8") as stream:
    stream.write("""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct range { uint64_t start, bytes; } ranges[64];
static int find(void) {
  char line[512], rights[8];
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  unsigned long start, end;
  while (count < 64 && fgets(line, sizeof(line), maps))
    if (strstr(line, "memflame") && sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 &&
        rights[1] == 'w' && rights[3] == 's')
      ranges[count++] = (struct range){start, end - start};
  fclose(maps);
  return count;
}
__attribute__((noinline)) void works(void) {
  void* one = malloc(64);
  free(malloc(64));
  *(volatile char*)one = 1;
}
int main(int argc, char** argv) {
  const int span = atoi(argv[1]), rounds = atoi(argv[2]);
  uint64_t seed = 88172645463325252u;
  works();
  const int count = find();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count * 400; ++i) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      const struct range* range = &ranges[i % count];
      const uint64_t most = span && range->bytes > 65536 ? 65536 : range->bytes < 200 << 20 ? range->bytes : 200 << 20;
      volatile uint64_t* word = (volatile uint64_t*)(range->start + (seed >> 8) % most / 8 * 8);
      const uint64_t values[] = {~0ul, 0, ~0ul >> 1, *word ^ 1ul << (seed & 63), seed & 0xffffffff, *word + (seed & 63)};
      *word = values[(seed >> 4) % 6];
    }
    for (int i = 0; i < 10; ++i) works();
    usleep(300);
  }
  printf("%d\\n", count);
  return 7;
}
""")
subprocess.run(["gcc", "-O1", "-o", path("scribbles"), path("scribbles.c")], check=True)
for span in (1, 0):
    done = Memflame("alloc", "--inside", "--", path("scribbles"), span, ROUNDS, stdout=subprocess.PIPE).wait(7)
    summary = done.summary()
    said = losses(summary)
    if span:
        check("agent_ring_damaged" in said, f"damage is told: {said}")
    for other in ("agent_gave_up", "process_table_full"):
        check(other not in said, f"{other} is not the cause: {said}, {summary['notes']}")
    # One more that was counted may be one that was killed while it said which.
    check(said.get("process_uncovered", {"events": 0})["events"] <= 1, f"{said}, {summary['notes']}")
    check(done.profile().sum("total-count") < ROUNDS * 100, f"no absurd figure: {summary['totals']}")
