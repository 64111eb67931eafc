// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <vector>

// Compiled alone: step.h has names that other tests use.
#define JAVA_MEMORY_ALONE
#include "tests/probes/languages/java_machine.h"

namespace memflame::bpf {
namespace {

// A virtual thread whose frames are in two chunks: compiled, interpreted, compiled; interpreted.
struct WaitingThread {
  JavaMachine machine;
  java_chunk_form form;
  uint64_t inner, outer, of, method, first, second, stale;
  uint64_t barrier = machine.code(code_low + 0x3000, "StubRoutines (continuation stubs)", 0);
  static constexpr uint64_t interpreted = interpreter_at + 8;

  explicit WaitingThread(const java_chunk_form& given) : form(given) {
    machine.put(java_base + 0x28, java_base);
    machine.put(java_base + 0x30, uint32_t{3});
    const uint64_t said = machine.make(32);
    stale = machine.make(8);
    machine.put(said + 8, stale);
    machine.put(said + 16, stale);
    if (form.kind == java_marked) machine.put(java_base + 0x38, said);
    if (form.kind == java_whole) machine.put(java_base + 0x40, said);
    machine.begin();
    method = machine.method("a/B", "run");
    first = machine.code(code_low + 0x1000, "nmethod", 4, method) + 40;
    second = machine.code(code_low + 0x2000, "nmethod", 6, method) + 40;
    of = machine.make(128);
    inner = chunk(30, first, 0x77);
    outer = chunk(16, interpreted, 12);
    refer(of + form.tail, inner);
    refer(inner + form.parent, outer);
    put(inner, 4, 16);
    put(inner, 5, interpreted);
    interpret(inner, 20, 4);
    put(inner, 20, 0x77);
    put(inner, 21, second);
    put(inner, 28, 0x77);
    put(inner, 29, barrier);
    interpret(outer, 12, 1);
    put(outer, 13, barrier);
  }
  uint64_t chunk(uint32_t words, uint64_t pc, uint64_t saved) {
    const uint64_t made = machine.make(form.stack + 8 * words);
    machine.put(made + form.pc, pc);
    machine.put(made + form.sp, uint32_t{2});
    machine.put(made + form.bottom, words);
    refer(made + form.of, of);
    put(made, 0, saved);
    put(made, 1, pc);
    return made;
  }
  void refer(uint64_t at, uint64_t object) {
    if (form.kind == java_whole) return machine.put(at, object);
    if (form.kind == java_marked) {
      const uint64_t mark = at / 8 % 4;
      return machine.put(at, object << (13 + mark) | uint64_t{0x1000} << mark | 0x550);
    }
    machine.put(at, static_cast<uint32_t>((object - java_base) >> 3));
  }
  void put(uint64_t chunk, uint64_t word, uint64_t value) {
    machine.put(chunk + form.stack + 8 * word, value);
  }
  void interpret(uint64_t chunk, uint64_t word, uint64_t sender) {
    put(chunk, word - 8, machine.bytecode(method, 5));
    put(chunk, word - 7, 3);
    put(chunk, word - 3, method);
    put(chunk, word - 1, sender);
  }
  // What stands for the frames from the thread's stack on, and how the walk ended.
  std::vector<uint64_t> walk(uint64_t arguments = 0, uint64_t came = stack_at) {
    machine.put(stack_at + java_entry_of + 8 * arguments, of);
    frame at = java_at(barrier, stack_at, 0);
    machine.chunk = {};
    machine.chunk.came = came;
    std::vector<uint64_t> words;
    for (int turn = 0; turn < 20; ++turn) {
      java_frame made{};
      const enum java_step step = machine.step(at, made);
      if (made.word != 0) words.push_back(made.word);
      if (step == java_taken || step == java_passed) continue;
      words.push_back(step);
      break;
    }
    machine.put(stack_at + java_entry_of + 8 * arguments, uint64_t{0});
    return words;
  }
};

TEST_CASE("java: callers of a virtual thread that has waited are read in the heap") {
  for (const java_chunk_form& form : java_chunk_forms) {
    WaitingThread thread(form);
    const uint64_t interpreted = script_word(language_java, thread.method, 5);
    const std::vector<uint64_t> all{java_code_word(thread.first - code_low), interpreted,
                                    java_code_word(thread.second - code_low), interpreted,
                                    java_virtual_end};
    CHECK(thread.walk() == all);
    CHECK(thread.machine.layout.chunk_form == &form - java_chunk_forms + 1);
    CHECK(thread.walk(java_entry_places - 1) == all);
    CHECK(thread.walk(java_entry_places) == std::vector<uint64_t>{java_frozen});
    // From native code: Java may just be moving frames.
    CHECK(thread.walk(0, 0) == std::vector<uint64_t>{java_frozen});
  }
}

TEST_CASE("java: what is not a virtual thread's chunk is not walked") {
  for (const java_chunk_form& form : java_chunk_forms) {
    const auto ends = [&](auto spoil, size_t frames) {
      WaitingThread thread(form);
      spoil(thread);
      const std::vector<uint64_t> words = thread.walk();
      CHECK(words.size() == frames + 1);
      CHECK(words.back() == java_frozen);
    };
    ends([](WaitingThread& thread) { thread.refer(thread.inner + thread.form.of, java_base + 8); },
         0);
    ends([](WaitingThread& thread) { thread.refer(thread.of + thread.form.tail, java_base); }, 0);
    ends([](WaitingThread& thread) { thread.machine.put(thread.inner + thread.form.sp, 31); }, 0);
    ends([](WaitingThread& thread) { thread.machine.put(thread.inner + thread.form.sp, 1); }, 0);
    ends([](WaitingThread& thread) { thread.machine.put(thread.inner + thread.form.bottom, -1); },
         0);
    ends([](WaitingThread& thread) { thread.refer(thread.outer + thread.form.of, java_base + 8); },
         3);
    // Objects that are moved, or may have been.
    ends([](WaitingThread& thread) { thread.machine.put(thread.of, 3); }, 0);
    ends([](WaitingThread& thread) { thread.machine.put(thread.inner, 3); }, 0);
    ends([](WaitingThread& thread) { thread.machine.put(thread.outer, 3); }, 3);
    if (form.kind == java_short) continue;
    ends([](WaitingThread& thread) { thread.machine.put(thread.stale, ~0); }, 0);
    if (form.kind == java_marked)
      ends([](WaitingThread& thread) { thread.machine.layout.stale_marked = 0; }, 0);
  }
}

TEST_CASE("java: the heap is not entered while a collection moves objects") {
  WaitingThread thread(java_chunk_forms[0]);
  JavaMachine& machine = thread.machine;
  constexpr uint64_t collecting = 12, collections = 16;
  const auto moved = [&] { return have_java_objects_moved(&machine.layout, &machine.chunk) != 0; };
  machine.put(machine.collector + collections, uint32_t{7});
  CHECK(thread.walk().back() == java_virtual_end);
  CHECK(!moved());
  machine.put(machine.collector + collecting, uint8_t{1});
  CHECK(moved());
  CHECK(thread.walk() == std::vector<uint64_t>{java_frozen});
  machine.put(machine.collector + collecting, uint8_t{0});
  CHECK(thread.walk().back() == java_virtual_end);
  CHECK(!moved());
  machine.put(machine.collector + collections, uint32_t{8});
  CHECK(moved());
  machine.layout.collector = 0;
  CHECK(moved());
  CHECK(thread.walk() == std::vector<uint64_t>{java_frozen});
}

}  // namespace
}  // namespace memflame::bpf
