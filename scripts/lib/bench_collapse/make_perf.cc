// SPDX-License-Identifier: BSD-2-Clause
// Writes `perf script` text as a C++ server would give it: make_perf MEGABYTES STACKS > FILE. The same
// arguments give the same bytes. Calls form a tree: a stack is the beginning of an earlier one and
// some calls of its own; about 31 frames, 94 bytes a line, one in nine inlined.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

uint64_t state = 20240229;

uint64_t random_number() {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t below(uint64_t limit) { return random_number() % limit; }

const char* const words[] = {"parse",  "Buffer", "index", "Cache",  "flush",   "node",   "Table",  "merge",
                             "Reader", "append", "query", "Planner", "visit",  "scan",   "Worker", "queue",
                             "Block",  "decode", "tree",  "Session", "commit", "log",    "Writer", "page",
                             "fetch",  "Pool",   "batch", "Filter",  "apply",  "column", "Type",   "hash"};
const char* const files[] = {"/usr/lib/server/libengine.so.4", "/usr/bin/server", "/usr/lib/libstorage.so",
                             "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "[kernel.kallsyms]"};

std::string word() { return words[below(32)]; }

std::string type(int depth) {
  std::string name = word() + "::" + word();
  if (depth > 0 && below(3) == 0) name += "<" + type(depth - 1) + ", " + type(depth - 1) + ">";
  return name;
}

std::string function() {
  std::string name = below(9) == 0 ? "(anonymous namespace)" : word() + "_" + std::to_string(below(400));
  name += "::" + type(below(200) == 0 ? 8 : 1) + "::" + word() + std::to_string(below(1000));
  if (below(2) == 0) name += "(" + type(0) + (below(2) == 0 ? " const&, int)" : "&)");
  return name;
}

// A call is a line: an address in a function, and where it is mapped from.
std::string call(const std::string& name) {
  char address[32];
  const bool inlined = below(9) == 0;
  std::snprintf(address, sizeof address, "\t%16lx ", 0x7f0000000000UL + below(1UL << 36));
  std::string line = address + name;
  if (inlined) return line + " (inlined)\n";
  std::snprintf(address, sizeof address, "+0x%lx", below(4000));
  return line + address + " (" + files[below(5)] + ")\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const uint64_t size = std::strtoull(arguments[1], nullptr, 10) * 1000000;
  const uint64_t stacks = std::strtoull(arguments[2], nullptr, 10);
  std::vector<std::string> calls;
  for (uint64_t i = 0; i < stacks * 5 / 8; ++i) {
    const std::string name = function();
    for (int site = 0; site < 4; ++site) calls.push_back(call(name));
  }
  std::vector<std::vector<uint32_t>> known{{0}};  // from the root on
  while (known.size() <= stacks) {
    std::vector<uint32_t> stack = known[below(known.size())];
    stack.resize(1 + below(stack.size()));
    const uint64_t depth = 8 + below(24) + below(24);
    while (stack.size() < depth) stack.push_back(static_cast<uint32_t>(below(calls.size())));
    known.push_back(std::move(stack));
  }
  uint64_t written = 0;
  for (uint64_t sample = 0; written < size; ++sample) {
    // Some stacks are met far more often than others; each is met.
    const double part = static_cast<double>(below(1U << 20U)) / (1U << 20U);
    const uint64_t which =
        sample < 4 * stacks && sample % 4 == 0 ? sample / 4 : static_cast<uint64_t>(part * part * stacks);
    char header[128];
    int bytes = std::snprintf(header, sizeof header, "server 4242/%lu [%03lu] %lu.%06lu:    %lu cycles:u: \n",
                              4242 + below(16), below(8), 1000 + sample / 4000, sample % 4000 * 250,
                              1000000 + below(1000));
    std::fwrite(header, 1, static_cast<size_t>(bytes), stdout);
    written += static_cast<uint64_t>(bytes) + 1;
    const std::vector<uint32_t>& stack = known[1 + which];
    for (size_t i = stack.size(); i-- > 0;) {
      std::fwrite(calls[stack[i]].data(), 1, calls[stack[i]].size(), stdout);
      written += calls[stack[i]].size();
    }
    std::fputc('\n', stdout);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
