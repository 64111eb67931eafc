// SPDX-License-Identifier: BSD-2-Clause
#include "examples/truth/report.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace truth {
namespace {

struct Statement {
  const char* section;
  const char* name;
  const char* column;
  int64_t value;
};

struct Chain {
  const char* leaf;
  const char* callers;
};

Statement statements[512];
size_t statement_count = 0;
Chain chains[128];
size_t chain_count = 0;
bool waiting = false;
char output[65536];
size_t output_size = 0;

void flush() {
  for (size_t written = 0; written < output_size;) {
    const ssize_t n = write(STDOUT_FILENO, output + written, output_size - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    written += static_cast<size_t>(n);
  }
  output_size = 0;
}

void print(const char* text) {
  const size_t length = std::strlen(text);
  if (output_size + length > sizeof output) flush();
  std::memcpy(output + output_size, text, length);
  output_size += length;
}

void print(int64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(value));
  print(digits);
}

void print_quoted(const char* text) {
  print("\"");
  print(text);
  print("\"");
}

// Byte by byte, since a buffered read would take more than the line.
void wait_for_line() {
  char c = 0;
  while (c != '\n') {
    const ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
  }
}

bool same(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

// True for the first statement with this section (and name): the one that opens its object.
bool is_first(size_t index, bool by_name) {
  for (size_t i = 0; i < index; ++i)
    if (same(statements[i].section, statements[index].section) &&
        (!by_name || same(statements[i].name, statements[index].name)))
      return false;
  return true;
}

void print_columns(size_t first) {
  const char* separator = "{";
  for (size_t i = first; i < statement_count; ++i) {
    if (!same(statements[i].section, statements[first].section)) continue;
    if (!same(statements[i].name, statements[first].name)) continue;
    print(separator);
    print_quoted(statements[i].column);
    print(": ");
    print(statements[i].value);
    separator = ", ";
  }
  print("}");
}

void print_section(size_t first) {
  const char* separator = "{\n  ";
  for (size_t i = first; i < statement_count; ++i) {
    if (!same(statements[i].section, statements[first].section) || !is_first(i, true)) continue;
    print(separator);
    print_quoted(statements[i].name);
    print(": ");
    print_columns(i);
    separator = ",\n  ";
  }
  print("}");
}

// ["caller", "its caller", …] out of "caller;its caller;…"
void print_callers(const char* callers) {
  print("[\"");
  for (const char* at = callers; *at != '\0'; ++at) {
    const char text[2] = {*at, '\0'};
    print(*at == ';' ? "\", \"" : text);
  }
  print("\"]");
}

void print_chains() {
  const char* separator = "{\n  ";
  for (size_t i = 0; i < chain_count; ++i) {
    print(separator);
    print_quoted(chains[i].leaf);
    print(": ");
    print_callers(chains[i].callers);
    separator = ",\n  ";
  }
  print("}");
}

}  // namespace

void begin(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (same(argv[i], "--wait")) waiting = true;
  // Locking makes every page resident and writable in place; unlocking leaves it so. Without the
  // right to lock that much, first-time faults of code and data remain, which only fault_truth
  // minds.
  if (mlockall(MCL_CURRENT) == 0) munlockall();
  if (!waiting) return;
  print("ready ");
  print(static_cast<int64_t>(getpid()));
  print("\n");
  flush();
  wait_for_line();
}

void state(const char* section, const char* name, const char* column, int64_t value) {
  for (size_t i = 0; i < statement_count; ++i) {
    Statement& known = statements[i];
    if (!same(known.section, section) || !same(known.name, name) || !same(known.column, column))
      continue;
    known.value += value;
    return;
  }
  if (statement_count == sizeof statements / sizeof statements[0]) fail("too many statements");
  statements[statement_count++] = {section, name, column, value};
}

void chain(const char* leaf, const char* callers) {
  if (chain_count == sizeof chains / sizeof chains[0]) fail("too many chains");
  chains[chain_count++] = {leaf, callers};
}

int end() {
  const char* separator = "{";
  for (size_t i = 0; i < statement_count; ++i) {
    if (!is_first(i, false)) continue;
    print(separator);
    print_quoted(statements[i].section);
    print(": ");
    print_section(i);
    separator = ",\n";
  }
  if (chain_count != 0) {
    print(separator);
    print("\"chains\": ");
    print_chains();
    separator = ",\n";
  }
  print(separator[0] == '{' ? "{}\n" : "}\n");
  if (waiting) print("done\n");
  flush();
  if (waiting) wait_for_line();
  return 0;
}

void fail(const char* what) {
  std::fprintf(stderr, "ground truth broken: %s\n", what);
  _exit(1);
}

}  // namespace truth
