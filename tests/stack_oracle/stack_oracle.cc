// SPDX-License-Identifier: BSD-2-Clause
// Compares the stacks that `memflame PROBE --check-stacks DUMP` wrote with what libdwfl, an
// unwinder that is not ours, makes of the same registers and memory.
//
//   stack_oracle [--maps [PID=]FILE]… [--show N] DUMP
//
// Processes should still be there, for /proc/PID/maps; --maps has what was saved of one that is
// gone (without PID: of any). Prints a table: how many stacks are equal, and each kind of
// difference by its name, with the first N of a kind (default 3) in full. Exits with 1 when a
// difference is unexplained, the dump is damaged, or nothing was compared; with 2 on wrong usage.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/stack_oracle/compare.h"

using namespace memflame;          // NOLINT(google-build-using-namespace)
using namespace memflame::oracle;  // NOLINT(google-build-using-namespace)

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Arguments {
  std::map<uint32_t, std::string> maps;  // by pid; 0 = any
  size_t show = 3;
  std::string dump;
};

bool number(const std::string& text, auto& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(const std::vector<std::string>& words, Arguments& arguments) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool more = i + 1 < words.size();
    if (word == "--maps" && more) {
      const std::string& value = words[++i];
      const size_t equals = value.find('=');
      uint32_t pid = 0;
      if (equals != std::string::npos && !number(value.substr(0, equals), pid)) return false;
      arguments.maps[pid] = equals == std::string::npos ? value : value.substr(equals + 1);
    } else if (word == "--show" && more) {
      if (!number(words[++i], arguments.show)) return false;
    } else if (arguments.dump.empty() && !word.starts_with('-')) {
      arguments.dump = word;
    } else {
      return false;
    }
  }
  return !arguments.dump.empty();
}

// The mappings of each process, read once.
class Processes {
 public:
  explicit Processes(const Arguments& arguments) : arguments_(arguments) {}

  Process& of(uint32_t pid) {
    std::unique_ptr<Process>& process = known_[pid];
    if (!process) process = std::make_unique<Process>(static_cast<pid_t>(pid), maps(pid));
    return *process;
  }

 private:
  std::string maps(uint32_t pid) const {
    std::string text = contents("/proc/" + std::to_string(pid) + "/maps");
    for (const uint32_t key : {pid, 0U}) {
      const auto saved = arguments_.maps.find(key);
      if (text.empty() && saved != arguments_.maps.end()) text = contents(saved->second);
    }
    return text;
  }

  const Arguments& arguments_;
  std::map<uint32_t, std::unique_ptr<Process>> known_;
};

int check(const Arguments& arguments) {
  std::ifstream file(arguments.dump, std::ios::binary);
  if (!file) {
    std::cerr << "stack_oracle: cannot read " << arguments.dump << '\n';
    return 1;
  }
  const Dump dump = parse_dump(contents(arguments.dump));
  Processes processes(arguments);
  std::map<std::string, size_t> table;
  std::set<std::vector<uint64_t>> distinct;
  size_t frames = 0, failures = 0;
  for (const DumpedStack& stack : dump.stacks) {
    Process& process = processes.of(stack.pid);
    const Verdict verdict = compare(stack, process);
    const size_t seen = table[verdict.name]++;
    distinct.insert(stack.pcs);
    frames += verdict.frames;
    failures += verdict.explained ? 0 : 1;
    if (verdict.name != "equal" && seen < arguments.show)
      std::cout << verdict.name << ", frame " << verdict.frames << '\n'
                << side_by_side(stack, process);
  }
  const auto row = [](size_t count, const std::string& name) {
    std::cout << std::setw(9) << count << "  " << name << '\n';
  };
  row(dump.stacks.size(), "stacks");
  row(distinct.size(), "distinct");
  row(frames, "frames compared");
  for (const auto& [name, count] : table) row(count, name);
  row(failures, "unexplained");
  if (!dump.damage.empty()) std::cerr << "stack_oracle: damaged dump: " << dump.damage << '\n';
  if (frames == 0) std::cerr << "stack_oracle: nothing was compared\n";
  return failures == 0 && dump.damage.empty() && frames != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(std::vector<std::string>(argv + 1, argv + argc), arguments)) {
    std::cerr << "Usage: stack_oracle [--maps [PID=]FILE]... [--show N] DUMP\n";
    return 2;
  }
  return check(arguments);
}
