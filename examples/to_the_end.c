// SPDX-License-Identifier: BSD-2-Clause
// One chain of calls from main, in C and with nothing but the C library, to be linked in every way
// there is: what differs is how a program starts. Speaks as truth/report.h does.
//
//   to_the_end alloc|brk|mmap|fault [--wait]
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWN_FRAME __attribute__((noinline))
#define PAGE 4096
enum { rounds = 200 };

static char* pages;
static char kind;

#define KEEP(block) __asm__ volatile("" : : "r"(block) : "memory")

OWN_FRAME void has_event(void) {
  if (kind == 'a') {
    void* block = malloc(100);
    KEEP(block);
    free(block);
  } else if (kind == 'b') {
    const long top = syscall(SYS_brk, 0);
    syscall(SYS_brk, top + PAGE);
    syscall(SYS_brk, top);
  } else if (kind == 'm') {
    void* block = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    KEEP(block);
    munmap(block, PAGE);
  } else {
    *(volatile char*)pages = 1;
    pages += PAGE;
  }
  KEEP(0);
}
OWN_FRAME void calls_with_frame(int size) {
  char block[300];
  KEEP(block + size);
  has_event();
  KEEP(block);
}
OWN_FRAME void calls_plainly(int size) {
  calls_with_frame(size);
  KEEP(0);
}

static void wait_for_line(void) {
  char c = 0;
  while (c != '\n' && read(STDIN_FILENO, &c, 1) == 1) {
  }
}
static void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(1);
}

int main(int argc, char** argv) {
  const int waiting = argc > 2 && strcmp(argv[2], "--wait") == 0;
  char text[600];
  if (argc < 2 || strchr("abmf", argv[1][0]) == NULL) return 1;
  kind = argv[1][0];
  pages = mmap(NULL, rounds * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  madvise(pages, rounds * PAGE, MADV_NOHUGEPAGE);
  snprintf(text, sizeof text, "ready %d\n", getpid());
  if (waiting) say(text);
  if (waiting) wait_for_line();

  for (int i = 0; i < rounds; ++i) calls_plainly(i);

  snprintf(text, sizeof text,
           "{\"functions\": {\"has_event\": {\"%s\": %d}},\n"
           "\"chains\": {\"has_event\": [\"calls_with_frame\", \"calls_plainly\", \"main\", \"*\","
           " \"_start\"]}}\n",
           kind == 'a'   ? "total_count"
           : kind == 'f' ? "gained"
                         : "calls",
           kind == 'b' ? 2 * rounds : rounds);
  say(text);
  if (waiting) say("done\n");
  if (waiting) wait_for_line();
  return 0;
}
