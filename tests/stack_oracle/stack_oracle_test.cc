// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "probes/bpf/shared.h"
#include "tests/stack_oracle/compare.h"
#include "tests/stack_oracle/dump.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::oracle;  // NOLINT(google-build-using-namespace): tests only

// In section .fini, which has no unwind information.
extern "C" void _fini();  // NOLINT(clang-diagnostic-reserved-identifier): the linker's name

namespace {

std::string own_maps() {
  std::ifstream file("/proc/self/maps");
  return {std::istreambuf_iterator<char>(file), {}};
}

uint64_t end_of_stack() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* start = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(start) + size;
}

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* pcs) {
  const uint64_t pc = _Unwind_GetIP(context);
  if (pc != 0) static_cast<std::vector<uint64_t>*>(pcs)->push_back(pc);
  return _URC_NO_REASON;
}

// ucontext's numbers of DWARF's registers.
constexpr int greg_of[reg_count] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

__attribute__((no_sanitize("address"))) void copy_memory(DumpedStack& stack, size_t most) {
  const uint64_t size = std::min<uint64_t>(end_of_stack() - stack.rsp(), most);
  stack.memory.resize(size);
  for (uint64_t i = 0; i < size; ++i)
    stack.memory[i] = reinterpret_cast<const uint8_t*>(stack.rsp())[i];
}

// The current stack of its caller.
__attribute__((noinline)) DumpedStack snapshot(size_t most) {
  DumpedStack stack;
  stack.pid = static_cast<uint32_t>(::getpid());
  stack.stop = bpf::stop_end;
  ucontext_t context;
  ::getcontext(&context);
  for (int i = 0; i < reg_count; ++i)
    stack.registers[static_cast<size_t>(i)] =
        static_cast<uint64_t>(context.uc_mcontext.gregs[greg_of[i]]);
  _Unwind_Backtrace(add_frame, &stack.pcs);
  // Both calls are in this function; getcontext() came back elsewhere in it.
  stack.pcs[0] = stack.registers[reg_rip];
  copy_memory(stack, most);
  return stack;
}

// A tail call would leave out frames.
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

__attribute__((noinline)) DumpedStack at_depth(int depth, size_t most) {
  DumpedStack stack = depth == 0 ? snapshot(most) : at_depth(depth - 1, most);
  NO_TAIL_CALL;
  return stack;
}

Verdict judge(const DumpedStack& stack) {
  Process process(::getpid(), own_maps());
  INFO(side_by_side(stack, process));
  CHECK_FALSE(side_by_side(stack, process).empty());
  return compare(stack, process);
}

constexpr size_t all = 1 << 20;

DumpedStack in_handler;
void handler(int) { in_handler = snapshot(all); }

}  // namespace

TEST_CASE("a stack that libgcc walks is the one that libdwfl walks") {
  for (const int depth : {0, 1, 5, 60, 300}) {
    const DumpedStack stack = at_depth(depth, all);
    const Verdict verdict = judge(stack);
    CHECK(verdict.name == "equal");
    CHECK(verdict.frames == stack.pcs.size());
    CHECK(stack.pcs.size() > static_cast<size_t>(depth) + 3);
  }
}

TEST_CASE("over a signal's frame") {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::raise(SIGUSR1);
  CHECK(judge(in_handler).name == "equal");
}

TEST_CASE("of a thread") {
  pthread_t thread;
  DumpedStack stack;
  const auto body = [](void* result) -> void* {
    *static_cast<DumpedStack*>(result) = at_depth(3, all);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, body, &stack) == 0);
  pthread_join(thread, nullptr);
  CHECK(judge(stack).name == "equal");
}

TEST_CASE("a short copy is compared as far as it goes") {
  const DumpedStack stack = at_depth(50, 3000);
  const Verdict verdict = judge(stack);
  CHECK(verdict.name == "equal up to the end of the copy");
  CHECK(verdict.frames > 5);
  CHECK(verdict.frames < stack.pcs.size());
}

TEST_CASE("each kind of wrong stack is found") {
  const DumpedStack right = at_depth(10, all);
  DumpedStack stack = right;
  stack.pcs[5] += 4;
  CHECK(judge(stack).name == "UNEXPLAINED: another caller of code with unwind information");
  CHECK(judge(stack).frames == 5);

  stack = right;
  stack.pcs.erase(stack.pcs.begin() + 1);  // the direct caller is missing
  CHECK_FALSE(judge(stack).explained);

  stack = right;
  stack.pcs.resize(6);
  CHECK(judge(stack).name == "UNEXPLAINED: complete where libdwfl goes on");
  stack.stop = bpf::stop_bad_row;
  CHECK(judge(stack).name == "equal, marked bad_row where libdwfl goes on");
  CHECK(judge(stack).explained);

  stack = right;
  stack.stop = bpf::stop_no_table;
  CHECK(judge(stack).name == "UNEXPLAINED: marked no_table at the outermost frame");

  stack = right;
  stack.pcs.push_back(right.pcs.back());
  CHECK(judge(stack).name == "UNEXPLAINED: goes on beyond the outermost frame");

  stack = right;
  stack.registers[reg_rip] = 0x1000;
  CHECK(judge(stack).name == "UNEXPLAINED: another first frame");
  stack.pcs = {0x1000, 0x2000};
  CHECK(judge(stack).name.find("generated code") != std::string::npos);
}

TEST_CASE("in a gap libdwfl follows rbp, which may leave out the caller") {
  const DumpedStack below = at_depth(5, all);
  // As if snapshot() had called a function that sets up rbp and calls _fini().
  DumpedStack stack = below;
  const uint64_t caller = below.pcs[3], rsp = below.rsp() - 32;
  const uint64_t words[] = {caller, 0, below.registers[reg_rbp], below.pcs[0]};
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  stack.memory.insert(stack.memory.begin(), bytes, bytes + sizeof(words));
  stack.registers[reg_rsp] = rsp;
  stack.registers[reg_rbp] = rsp + 16;
  stack.registers[reg_rip] = reinterpret_cast<uint64_t>(&_fini);
  stack.pcs.insert(stack.pcs.begin(), {stack.registers[reg_rip], caller});
  CHECK(judge(stack).name ==
        "complete, libdwfl leaves out the caller of a gap in a file's unwind information");
  stack.pcs[4] += 1;
  CHECK_FALSE(judge(stack).explained);
}

TEST_CASE("without mappings nothing is compared, and is said to be so") {
  Process process(::getpid(), "");
  CHECK(compare(at_depth(1, all), process).name.starts_with("not checked"));
  CHECK(process.walk(at_depth(1, all), 10).pcs.empty());
}

TEST_CASE("a return probe's trampoline stands for an address behind a call, and for no other") {
  DumpedStack stack = at_depth(10, all);
  Process process(::getpid(),
                  own_maps() + "700000000000-700000001000 r-xp 00000000 00:00 0 [uprobes]\n");
  // at_depth() calls itself: the same return address occurs many times, also left over from earlier
  // calls. The first such word that a walk meets counts.
  const std::vector<uint8_t> memory = stack.memory;
  const uint64_t trampoline = 0x700000000000;
  bool replaced = false;
  for (size_t i = 0; i + 8 <= memory.size() && !replaced; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, memory.data() + i, 8);
    if (word != stack.pcs[4]) continue;
    stack.memory = memory;
    std::memcpy(stack.memory.data() + i, &trampoline, 8);
    replaced = process.walk(stack, 1000).trampolines > 0;
  }
  REQUIRE(replaced);
  CHECK(process.walk(stack, 1000).trampolines == 1);
  CHECK(compare(stack, process).name == "equal, over return-probe trampolines");
  for (uint64_t& pc : stack.pcs)
    if (pc == stack.pcs[4]) pc += 1;
  CHECK_FALSE(compare(stack, process).explained);
}

TEST_CASE("dumps are read back as written") {
  const DumpedStack first = at_depth(2, 100), second = at_depth(4, all);
  std::string bytes;
  append_to_dump(bytes, first);
  append_to_dump(bytes, second);
  const Dump dump = parse_dump(bytes);
  CHECK(dump.damage.empty());
  REQUIRE(dump.stacks.size() == 2);
  CHECK(dump.stacks[0].pcs == first.pcs);
  CHECK(dump.stacks[1].memory == second.memory);
  CHECK(dump.stacks[1].registers == second.registers);
  CHECK(dump.stacks[1].pid == second.pid);
}

TEST_CASE("damaged dumps give what comes before the damage") {
  std::string bytes;
  append_to_dump(bytes, at_depth(1, 64));
  const size_t one = bytes.size();
  for (size_t cut = 1; cut < one; ++cut) {
    CHECK(parse_dump(std::string_view(bytes).substr(0, cut)).stacks.empty());
    CHECK_FALSE(parse_dump(std::string_view(bytes).substr(0, cut)).damage.empty());
  }
  // Each of the eight numbers of the head is corrupted in turn.
  for (const size_t field : {0U, 1U, 3U, 5U}) {
    for (const uint32_t value : {0U, 1U, 0x7fffffffU, 0xffffffffU}) {
      std::string wrong = bytes + bytes;
      std::memcpy(wrong.data() + one + field * 4, &value, 4);
      const Dump dump = parse_dump(wrong);
      CHECK(dump.stacks.size() == 1);
      CHECK_FALSE(dump.damage.empty());
    }
  }
  CHECK(parse_dump("").stacks.empty());
}
