// SPDX-License-Identifier: BSD-2-Clause
#include "tests/stack_oracle/dump.h"

#include <algorithm>
#include <cstring>

namespace memflame::oracle {
namespace {

struct Head {
  uint32_t magic, size, pid, frames, stop, copied, at_entry, reserved;
};

template <class T>
void append(std::string& bytes, const T* from, size_t count) {
  if (count != 0) bytes.append(reinterpret_cast<const char*>(from), count * sizeof(T));
}

template <class T>
void take(std::string_view& bytes, T* to, size_t count) {
  if (count != 0) std::memcpy(to, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

uint64_t size_of(const Head& head) {
  return sizeof(Head) + sizeof(DumpedStack::registers) + uint64_t{head.frames} * 8 + head.copied;
}

// What is wrong with a record, or "".
std::string wrong_with(const Head& head, size_t available) {
  if (head.magic != dump_magic) return "not a stack record";
  if (head.frames == 0 || head.frames > most_frames) return "number of frames";
  if (head.copied > most_stack_bytes) return "size of the stack";
  if (head.size != size_of(head)) return "size of the record";
  if (head.size > available) return "the last record is cut off";
  return "";
}

}  // namespace

Dump parse_dump(std::string_view bytes) {
  Dump dump;
  const size_t all = bytes.size();
  while (!bytes.empty()) {
    Head head{};
    std::memcpy(&head, bytes.data(), std::min(bytes.size(), sizeof(head)));
    dump.damage = wrong_with(head, bytes.size());
    if (!dump.damage.empty()) {
      dump.damage += ", at byte " + std::to_string(all - bytes.size());
      return dump;
    }
    take(bytes, &head, 1);
    DumpedStack stack;
    stack.pid = head.pid;
    stack.stop = head.stop;
    stack.at_entry = head.at_entry != 0;
    take(bytes, stack.registers.data(), reg_count);
    stack.pcs.resize(head.frames);
    take(bytes, stack.pcs.data(), head.frames);
    stack.memory.resize(head.copied);
    take(bytes, stack.memory.data(), head.copied);
    dump.stacks.push_back(std::move(stack));
  }
  return dump;
}

void append_to_dump(std::string& bytes, const DumpedStack& stack) {
  Head head{dump_magic,
            0,
            stack.pid,
            static_cast<uint32_t>(stack.pcs.size()),
            stack.stop,
            static_cast<uint32_t>(stack.memory.size()),
            stack.at_entry ? 1U : 0U,
            0};
  head.size = static_cast<uint32_t>(size_of(head));
  append(bytes, &head, 1);
  append(bytes, stack.registers.data(), reg_count);
  append(bytes, stack.pcs.data(), stack.pcs.size());
  append(bytes, stack.memory.data(), stack.memory.size());
}

}  // namespace memflame::oracle
