# SPDX-License-Identifier: BSD-2-Clause
"""valgrind --leak-check=full; its log ends with the sums of each kind of leak."""

import re

PACKAGES = ["valgrind"]

SOURCE = """
#include <cstdlib>
struct Node { Node* next; char text[24]; };
__attribute__((noinline)) Node* list(int length) {
  Node* head = nullptr;
  for (int i = 0; i < length; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = head;
    head = node;
  }
  return head;
}
char* kept;
char* inside;
__attribute__((noinline)) void lose() {
  volatile unsigned long sum = 0;
  for (int i = 1; i < 30; ++i) sum += reinterpret_cast<unsigned long>(list(i));
  kept = static_cast<char*>(malloc(4000));
  inside = static_cast<char*>(malloc(500)) + 8;
}
__attribute__((noinline)) int clear(int depth) {
  volatile char bytes[256] = {};
  return depth == 0 ? bytes[7] : clear(depth - 1) + bytes[9];
}
int main() {
  lose();
  return clear(20);
}
"""

KINDS = (("definitely", "definitely lost"), ("indirectly", "indirectly lost"),
         ("possibly", "possibly lost"), ("reachable", "still reachable"))


def check(work):
    program = work.compile("loses", SOURCE)
    options = ["valgrind", "--leak-check=full", "--show-leak-kinds=all"]
    work.run([*options, f"--log-file={work.path('log')}", program])
    work.run([*options, "--xml=yes", f"--xml-file={work.path('xml')}", program])
    with open(work.path("log"), encoding="utf-8") as file:
        log = file.read()
    for name in ("log", "xml"):
        ours = work.totals(name)
        for column, text in KINDS:
            row = re.search(text + r": ([\d,]+) bytes in ([\d,]+) blocks", log)
            work.same(f"{name}: {text}, bytes", ours[column], int(row[1].replace(",", "")))
            work.same(f"{name}: {text}, blocks", ours[column + "_blocks"], int(row[2].replace(",", "")))
