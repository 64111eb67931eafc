// SPDX-License-Identifier: BSD-2-Clause
// C of which much is inlined, for lines that are compared with addr2line's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
  struct list *next;
  char text[24];
};

static struct list *made(struct list *next, const char *text) {
  struct list *one = malloc(sizeof *one);
  if (one == NULL) exit(1);
  one->next = next;
  strncpy(one->text, text, sizeof one->text - 1);
  one->text[sizeof one->text - 1] = '\0';
  return one;
}

static inline size_t length(const struct list *list) {
  size_t count = 0;
  for (; list != NULL; list = list->next) ++count;
  return count;
}

static int cold(const char *why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

#define EACH(list, do_it)                           \
  for (struct list *at = list; at; at = at->next) { \
    do_it;                                          \
  }

int main(int argc, char **argv) {
  struct list *list = NULL;
  for (int i = 0; i < argc; ++i) list = made(made(list, argv[i]), "twice");
  if (length(list) != 2 * (size_t)argc) return cold("lost");
  size_t letters = 0;
  EACH(list, letters += strlen(at->text))
  return letters == 0 ? cold("empty") : 0;
}
