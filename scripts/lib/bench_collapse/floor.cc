// SPDX-License-Identifier: BSD-2-Clause
// What any reader has to do at least: floor count FILE counts line feeds, floor perf FILE hashes each
// line of `perf script` once, makes a number of it and adds up stacks of numbers. It trusts hashes of
// 64 bits, tells no kinds of frames apart and checks nothing.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string_view mapped(const char* path) {
  const int file = open(path, O_RDONLY);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) return {};
  const auto size = static_cast<size_t>(status.st_size);
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  return at == MAP_FAILED ? std::string_view{} : std::string_view(static_cast<const char*>(at), size);
}

struct Slot {
  uint64_t hash = 0;
  uint32_t value = 0;
};

class Table {
 public:
  uint32_t& operator[](uint64_t hash) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[place(hash)];
    if (slot.hash == 0) {
      slot.hash = hash;
      ++used_;
    }
    return slot.value;
  }
  size_t size() const { return used_; }

 private:
  size_t place(uint64_t hash) const {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].hash != 0 && slots_[at].hash != hash) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<size_t>(1024, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.hash != 0) slots_[place(slot.hash)] = slot;
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

// The name in "   7f12 main+0x2d (/bin/app)".
std::string_view name_in(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  begin = line.find(' ', begin) + 1;
  const size_t end = std::min(line.rfind("+0x"), line.rfind(" ("));
  return line.substr(begin, end - begin);
}

int perf(std::string_view text) {
  Table lines, names, stacks;
  std::vector<std::string> known_names{""};
  std::vector<uint32_t> stack;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const auto* feed = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (feed == nullptr) feed = end;
    const std::string_view line(at, static_cast<size_t>(feed - at));
    at = feed + 1;
    if (line.empty()) {
      stacks[XXH3_64bits(stack.data(), stack.size() * sizeof(uint32_t))] += 1;
      stack.clear();
    } else if (line[0] != '\t') {
      stack.clear();
    } else {
      uint32_t& frame = lines[XXH3_64bits(line.data(), line.size())];
      if (frame == 0) {
        const std::string_view name = name_in(line);
        uint32_t& number = names[XXH3_64bits(name.data(), name.size())];
        if (number == 0) {
          number = static_cast<uint32_t>(known_names.size());
          known_names.emplace_back(name);
        }
        frame = number;
      }
      stack.push_back(frame);
    }
  }
  std::printf("%zu stacks, %zu lines\n", stacks.size(), lines.size());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string_view text = mapped(arguments[2]);
  if (text.empty()) return 1;
  if (std::string_view(arguments[1]) == "perf") return perf(text);
  std::printf("%ld\n", static_cast<long>(std::count(text.begin(), text.end(), '\n')));
  return 0;
}
