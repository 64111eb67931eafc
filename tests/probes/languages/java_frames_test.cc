// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/java_lines.h"
#include "core/recording.h"
#include "probes/languages/scripts/scripts.h"

// Compiled alone: step.h has names that other tests use.
#define JAVA_MEMORY_ALONE
#include "tests/probes/languages/java_machine.h"
#include "tests/support/scaled.h"

namespace memflame::bpf {
namespace {

TEST_CASE("java: nothing is read before the machine's interpreter is there") {
  JavaMachine machine;
  CHECK(begin_java(&machine.layout, java_base) == 0);
  CHECK(machine.layout.bytes == 0);
  machine.begin();
  CHECK(machine.layout.low == code_low);
  CHECK(machine.layout.bytes == code_bytes);
}

TEST_CASE("java: from an interpreted method to a compiled one, to the machine") {
  JavaMachine machine;
  machine.begin();
  const uint64_t method = machine.method("a/B", "run"), other = machine.method("a/B", "main");
  const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 6, other);
  const uint64_t bp = stack_at + 0x100;
  machine.put(bp - java_frame_method, method);
  machine.put(bp - java_frame_instruction, machine.bytecode(method, 7));
  machine.put(bp - java_frame_sender, bp + 32);  // two locals
  machine.put(bp, uint64_t{99});                 // compiled code has something else in rbp
  machine.put(bp + 8, code + 40);
  machine.put(bp + 32 + 32, bp + 0x200);
  machine.put(bp + 32 + 40, call_stub_at);
  machine.put(bp + 0x200, uint64_t{77});
  machine.put(bp + 0x208, uint64_t{0x7000});
  frame at = java_at(interpreter_at + 5, stack_at, bp);
  java_frame made{};
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(script_code(made.word) == method);
  CHECK(script_place(made.word) == 7);
  CHECK(!is_java_code(made.word));
  CHECK(at.sp == bp + 32);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(is_java_code(made.word));
  CHECK(code_low + java_code_place(made.word) == code + 40);
  CHECK(at.sp == bp + 32 + 48);
  CHECK(at.bp == bp + 0x200);
  REQUIRE(machine.step(at, made) == java_passed);
  CHECK(made.word == 0);
  CHECK(at.ip == 0x7000);
  CHECK(at.sp == bp + 0x210);
}

TEST_CASE("java: a method that is to be deoptimized is where it was called from") {
  JavaMachine machine;
  machine.begin();
  const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 8);
  const uint64_t blob = code - 200;
  machine.put(blob + 48, uint32_t{16});
  machine.put(stack_at + 16, code + 20);
  machine.put(stack_at + 56, code + 90);
  java_frame made{};
  frame at = java_at(blob + 256, stack_at, 0);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(code_low + java_code_place(made.word) == code + 20);
  machine.put(stack_at + 16, uint64_t{5});
  at = java_at(blob + 256, stack_at, 0);
  CHECK(machine.step(at, made) == java_unreadable);
}

TEST_CASE("java: code that is interrupted before or after it has its frame is not walked") {
  JavaMachine machine;
  machine.begin();
  const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 8);
  java_frame made{};
  for (const uint64_t offset : {0UL, 11UL, 12UL, 30UL}) {
    frame at = java_at(code + offset, stack_at, 0);
    at.exact = 1;
    CHECK((machine.step(at, made) == java_taken) == (offset >= 12));
  }
  for (const uint8_t last : {uint8_t{0x5d}, uint8_t{0xc3}}) {
    machine.put(code + 30, last);
    frame at = java_at(code + 30, stack_at, 0);
    at.exact = 1;
    CHECK(machine.step(at, made) == java_unreadable);
  }
  // The interpreter: r14 has the locals of the frame, or it is not the frame's yet.
  const uint64_t method = machine.method("a/B", "run"), bp = stack_at + 0x100;
  machine.put(bp - java_frame_method, method);
  machine.put(bp - java_frame_sender, bp + 16);
  machine.put(bp - java_frame_locals, bp + 16);
  for (const uint64_t locals : {bp + 16, bp + 8, uint64_t{0}}) {
    frame at = java_at(interpreter_at, stack_at, bp);
    at.exact = 1;
    CHECK((machine.step(at, made, locals) == java_taken) == (locals == bp + 16));
  }
}

TEST_CASE("java: a place in code that is met again in a stack is read once") {
  JavaMachine machine;
  machine.begin();
  const uint64_t method = machine.method("a/B", "run");
  const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 6, method);
  const ReadJava read = read_java_memory;
  int reads = 0;
  read_java_memory = [&](void* to, size_t size, uint64_t address) {
    // Those of the stack go through a window.
    if (address < stack_at) ++reads;
    return read(to, size, address);
  };
  machine.room.memos.stack = 7;
  java_frame first{}, made{};
  frame at = java_at(code + 40, stack_at, 0);
  REQUIRE(machine.step(at, first) == java_taken);
  CHECK(reads <= 3);  // the map, the blob's head, its name
  reads = 0;
  machine.put(stack_at + 40, uint64_t{77});
  at = java_at(code + 40, stack_at, 0);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(reads == 0);
  CHECK(made.word == first.word);
  CHECK(made.instance == first.instance);
  CHECK(at.ip == 77);
  CHECK(at.sp == stack_at + 48);
  // One that was interrupted there is looked at.
  at = java_at(code + 40, stack_at, 0);
  at.exact = 1;
  machine.put(code + 40, uint8_t{0xc3});
  CHECK(machine.step(at, made) == java_unreadable);
  // Methods of the interpreter.
  const uint64_t bp = stack_at + 0x100;
  machine.put(bp - java_frame_method, method);
  machine.put(bp - java_frame_sender, bp + 16);
  for (const uint64_t place : {3UL, 7UL, 20UL}) {
    machine.put(bp - java_frame_instruction, machine.bytecode(method, place));
    reads = 0;
    at = java_at(interpreter_at + 5, stack_at, bp);
    REQUIRE(machine.step(at, made) == java_taken);
    CHECK(script_place(made.word) == (place == 20 ? uint64_t{script_no_place} : place));
    CHECK(reads == (place == 3 ? 2 : 0));
  }
  // Another stack: the method at this address is another one, and so is the code.
  const uint32_t instance = made.instance;
  uint64_t constant = 0;
  std::memcpy(&constant, &machine.memory[method + 8 - java_base], 8);
  machine.put(constant + 32, uint16_t{4});
  machine.put(code - 200 + 100, uint32_t{5});
  at = java_at(interpreter_at + 5, stack_at, bp);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(made.instance == instance);
  ++machine.room.memos.stack;
  at = java_at(interpreter_at + 5, stack_at, bp);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(made.instance != instance);
  at = java_at(code + 40, stack_at, 0);
  REQUIRE(machine.step(at, made) == java_taken);
  CHECK(made.instance == (5U | 1U << 31U));
}

TEST_CASE("java: a place in code that is met in another stack is checked with one read") {
  JavaMachine machine;
  machine.begin();
  const uint64_t method = machine.method("a/B", "run");
  const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 6, method);
  const ReadJava read = read_java_memory;
  int reads = 0;
  read_java_memory = [&](void* to, size_t size, uint64_t address) {
    if (address < stack_at) ++reads;
    return read(to, size, address);
  };
  machine.room.memos.life = 1ULL << 63;
  const auto step = [&] {
    ++machine.room.memos.stack;
    reads = 0;
    frame at = java_at(code + 40, stack_at, 0);
    java_frame made{};
    REQUIRE(machine.step(at, made) == java_taken);
    CHECK(at.sp == stack_at + 48);
    return made.instance;
  };
  const uint32_t first = step();
  CHECK(reads > 1);
  CHECK(step() == first);
  CHECK(reads == 1);
  machine.put(code - 200 + 100, uint32_t{5});  // other code
  CHECK(step() == (5U | 1U << 31U));
  CHECK(reads > 1);
  CHECK(step() == (5U | 1U << 31U));
  CHECK(reads == 1);
}

TEST_CASE("java: code far from the begin of its blob, and a map that ends") {
  JavaMachine machine;
  machine.begin();
  java_layout& layout = machine.layout;
  std::vector<uint8_t> map(600, java_free_segment);
  for (size_t i = 0; i < 500; ++i)  // as HotSpot does, from segment 50 on
    map[50 + i] = static_cast<uint8_t>(i < 255 ? i : 1 + (i - 1) % 254);
  java_map room{};
  size_t missing = 0;  // what lies below cannot be read
  const ReadJava read = read_java_memory;
  read_java_memory = [&](void* to, size_t size, uint64_t address) -> long {
    const uint64_t at = address - 0x1000;
    if (at < missing || at > map.size() || size > map.size() - at) return -14;
    std::memcpy(to, map.data() + at, size);
    return 0;
  };
  layout.heap[0].segments = 0x1000;
  const auto blob_of = [&](uint64_t segment) {
    return find_java_blob(&layout, code_low + (segment << segment_bits) + 5, &room);
  };
  const uint64_t blob = code_low + (50UL << segment_bits) + layout.block_bytes;
  for (uint64_t segment = 50; segment < 550; ++segment) CHECK(blob_of(segment) == blob);
  for (const uint64_t segment : {0UL, 49UL, 550UL, 599UL, 600UL, 1000UL})
    CHECK(blob_of(segment) == 0);
  missing = 40;
  CHECK(blob_of(60) == blob);
  CHECK(blob_of(545) == blob);
  missing = 51;
  CHECK(blob_of(60) == 0);
  map[50] = 51;  // back before the begin of the map
  missing = 0;
  CHECK(blob_of(60) == 0);
  read_java_memory = read;
}

TEST_CASE("java: stubs") {
  JavaMachine machine;
  machine.begin();
  const uint64_t copy = machine.code(code_low + 0x1000, "StubRoutines (2)", 0);
  const uint64_t runtime = machine.code(code_low + 0x2000, "_new_array_Java", 4);
  const uint64_t other = machine.code(code_low + 0x4000, "StubRoutines (compiler stubs)", 0);
  const uint64_t barrier = machine.code(code_low + 0x3000, "StubRoutines (continuation stubs)", 0);
  java_frame made{};
  machine.put(stack_at + 24, runtime);
  frame at = java_at(runtime, stack_at, 0);
  CHECK(machine.step(at, made) == java_taken);
  CHECK(at.sp == stack_at + 32);
  at = java_at(barrier, stack_at, 0);
  CHECK(machine.step(at, made) == java_frozen);
  machine.put(stack_at + 8, runtime);
  at = java_at(other, stack_at, stack_at);
  CHECK(machine.step(at, made) == java_taken);
  // Interrupted: with a frame pointer of its own, or with its caller's.
  for (const uint64_t below : {0UL, 16UL, 72UL}) {
    const uint64_t bp = stack_at + below;
    machine.put(bp + 8, runtime);
    at = java_at(copy, stack_at, bp);
    at.exact = 1;
    CHECK((machine.step(at, made) == java_taken) == (below < 72));
  }
}

TEST_CASE("java: a virtual thread ends at the native method that enters it") {
  JavaMachine machine;
  machine.begin();
  const uint64_t other = machine.method("java/lang/Object", "wait0");
  const uint64_t entry = machine.method("jdk/internal/vm/Continuation", "enterSpecial");
  const uint64_t namesake = machine.method("a/B", "enterSpecial");  // not an intrinsic
  machine.put(other + 20, uint16_t{7});
  machine.put(entry + 20, uint16_t{350});
  const auto step = [&](uint64_t at, std::string_view kind, uint64_t method) {
    java_frame made{};
    frame from = java_at(machine.code(code_low + at, kind, 8, method) + 40, stack_at, 0);
    return machine.step(from, made);
  };
  CHECK(step(0x1000, "native nmethod", other) == java_taken);
  CHECK(step(0x1400, "native nmethod", namesake) == java_taken);
  CHECK(step(0x1800, "nmethod", entry) == java_taken);
  CHECK(machine.layout.virtual_entry == 0);
  CHECK(step(0x1c00, "native nmethod", entry) == java_virtual_end);
  CHECK(machine.layout.virtual_entry == 350);
  CHECK(step(0x2000, "native nmethod", entry) == java_virtual_end);
  CHECK(step(0x2400, "native nmethod", other) == java_taken);
  CHECK(step(0x2800, "native nmethod", 5) == java_taken);  // no method at all
}

TEST_CASE("java: a method that a method handle leads to") {
  JavaMachine machine;
  machine.begin();
  const uint64_t method = machine.method("a/B", "run"), bp = stack_at + 0x100;
  machine.put(bp - java_frame_method, method);
  for (const uint64_t sender : {bp + 16, bp + 8, bp, bp + 12}) {
    machine.put(bp - java_frame_sender, sender);
    java_frame made{};
    frame at = java_at(interpreter_at + 5, stack_at, bp);
    CHECK((machine.step(at, made) == java_taken) == (sender == bp + 16 || sender == bp + 8));
    if (sender == bp + 8) CHECK(at.sp == bp + 8);
  }
}

TEST_CASE("java: two processors at once read the same") {
  JavaMachine machine;
  machine.begin();
  const java_layout first = machine.layout;
  // The second was behind the check when the first was ready.
  const ReadJava read = read_java_memory;
  bool was_whole = true;
  machine.layout.begun = 0;
  read_java_memory = [&](void* to, size_t size, uint64_t address) {
    was_whole = was_whole && machine.layout.low == first.low &&
                machine.layout.bytes == first.bytes &&
                machine.layout.heap[0].low == first.heap[0].low &&
                machine.layout.heap[0].bytes == first.heap[0].bytes;
    return read(to, size, address);
  };
  REQUIRE(begin_java(&machine.layout, java_base));
  CHECK(was_whole);
  CHECK(machine.layout.heap[0].segments == first.heap[0].segments);
  CHECK(machine.layout.interpreter == first.interpreter);
  CHECK(machine.layout.call_stub == first.call_stub);
}

TEST_CASE("java: inlined methods, innermost first") {
  for (const int version : {17, 21, 25}) {
    const uint16_t lowest = version < 20 ? 0 : 1;
    JavaMachine machine;
    machine.begin();
    machine.layout.lowest_digit = lowest;
    machine.layout.apart = version < 25 ? 0 : 1;
    const uint64_t inner = machine.method("a/B", "inner"), outer = machine.method("a/B", "outer");
    const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 8, outer), blob = code - 200;
    machine.put(blob + 52, uint32_t{400});  // places
    machine.put(blob + 56, uint32_t{448});
    machine.put(blob + 60, uint32_t{264});  // metadata
    machine.put(blob + 128, blob + 300);    // scopes
    if (version == 25) {
      machine.put(blob + 40, uint32_t{200});
      machine.put(blob + 128, uint32_t{300});
      machine.put(blob + 136, blob);
      machine.put(blob + 144, blob);
      machine.put(blob + 152, uint32_t{300});
    }
    machine.put(blob + 264, inner);
    machine.put(blob + 272, outer);
    const auto text = [&](uint64_t at, const std::vector<int>& digits) {
      for (const int digit : digits) machine.put(at++, static_cast<uint8_t>(digit + lowest));
    };
    text(blob + 301, {10, 1, 6});               // inner at 5, in what is at 10
    text(blob + 310, {0, 2, 192 - lowest, 1});  // outer at 192 - lowest + 64 - 1
    const auto place = [&](uint64_t index, int pc, uint32_t scope) {
      machine.put(blob + 400 + 16 * index, pc);
      machine.put(blob + 404 + 16 * index, scope);
    };
    place(0, -1, 0);
    place(1, 24, 1);
    place(2, 0x7fffffff, 0);
    auto scopes = std::make_unique<java_scopes>();
    REQUIRE(read_java_blob(&machine.layout, code + 24, scopes->memory) == blob);
    REQUIRE(read_java_scopes(&machine.layout, scopes.get(), java_compiled, blob, code + 24));
    REQUIRE(scopes->count == 2);
    CHECK(scopes->inlined[0].method == inner);
    CHECK(scopes->inlined[0].place == 5);
    CHECK(scopes->inlined[1].method == outer);
    CHECK(scopes->inlined[1].place == 192U - lowest + 64 - 1);
    // A cycle ends.
    text(blob + 310, {1, 2, 6});
    REQUIRE(read_java_scopes(&machine.layout, scopes.get(), java_compiled, blob, code + 24));
    CHECK(scopes->count == java_most_inlined);
    text(blob + 310, {0, 190, 6});  // no such method
    CHECK(read_java_scopes(&machine.layout, scopes.get(), java_compiled, blob, code + 24) == 0);
  }
}

TEST_CASE("java: names and lines as Java prints them") {
  JavaMachine machine;
  machine.begin();
  Scripts scripts;
  auto record = std::make_unique<script_code_record>();
  const SpaceId space{3};
  const auto told = [&](uint64_t method, uint64_t place) {
    record->language = language_java;
    record->code = method;
    record->space = space.index;
    REQUIRE(read_java_method(&machine.layout, method, record.get()));
    scripts.take(*record, sizeof(*record));
    std::vector<Pc> pcs;
    scripts.place(space, script_word(language_java, method, place), pcs);
    REQUIRE(pcs.size() == 1);
    const ScriptCode& code = scripts.all().at(script_index(pcs[0]));
    return code.function + " " + code.file + ":" +
           std::to_string(java_line(code.lines, script_place(pcs[0])));
  };
  const uint64_t run = machine.method("a/b/C$D", "run");
  CHECK(told(run, 0) == "a.b.C$D.run App.java:40");
  CHECK(told(run, 8) == "a.b.C$D.run App.java:42");
  CHECK(told(run, 9) == "a.b.C$D.run App.java:30");
  CHECK(told(machine.method("App$$Lambda$14+0x0000000800c03400", "apply"), 0) ==
        "App$$Lambda$14.apply App.java:40");
  // Two methods in compiled code, and the same place when it has other code.
  record->name.form = java_place_text;
  record->code = java_code_word(77);
  const java_inlined inlined[] = {{.method = run, .place = 9, .pad = 0},
                                  {.method = run + 8, .place = 1, .pad = 0}};
  std::memcpy(record->lines, inlined, sizeof(inlined));
  record->line_bytes = sizeof(inlined);
  scripts.take(*record, sizeof(*record));
  std::vector<Pc> pcs;
  scripts.place(space, java_code_word(77), pcs);
  REQUIRE(pcs.size() == 2);
  CHECK(scripts.all().at(script_index(pcs[0])).function == "a.b.C$D.run");
  CHECK(scripts.all().at(script_index(pcs[1])).function == "[java: unreadable]");
  record->name.form = 0;
  scripts.take(*record, sizeof(*record));
  pcs.clear();
  scripts.place(space, java_code_word(77), pcs);
  REQUIRE(pcs.size() == 1);
  CHECK(scripts.all().at(script_index(pcs[0])).function == "[java: unreadable]");
  pcs.clear();
  scripts.place(space, script_word(language_java, 0, script_virtual_thread), pcs);
  CHECK(scripts.all().at(script_index(pcs.at(0))).function == "[virtual thread]");
}

TEST_CASE("java: tables of lines, as Java before 20 and since writes them") {
  for (const uint32_t lowest : {0U, 1U}) {
    const auto table = [&](const std::vector<std::vector<uint32_t>>& numbers) {
      std::string text;
      for (const std::vector<uint32_t>& digits : numbers) {
        text += '\xff';
        for (const uint32_t digit : digits) text += static_cast<char>(digit + lowest);
      }
      return java_lines(text + '\x2a' + '\0', lowest);  // 5 places and 2 lines on
    };
    // Signed: twice the number. Digits from 192 on have another behind them.
    const std::string lines = table({{0, 80}, {16, 192, 4}, {6, 7}});
    CHECK(java_line(lines, 0) == 40);
    CHECK(java_line(lines, 8) == 40 + (192 + 4 * 64) / 2);
    CHECK(java_line(lines, 11) == 40 + (192 + 4 * 64) / 2 - 4);
    CHECK(java_line(lines, 16) == 40 + (192 + 4 * 64) / 2 - 2);
    CHECK(table({{0, 81}}).empty());               // no line is below 0
    CHECK(table({{250, 250, 250, 250}}).empty());  // cut
  }
}

TEST_CASE("java: hostile memory is bounded") {
  std::mt19937_64 random(7);
  for (size_t turn = 0; turn < scaled(3000); ++turn) {
    JavaMachine machine;
    machine.begin();
    const uint64_t method = machine.method("a/B", "run");
    const uint64_t code = machine.code(code_low + 0x1000, "nmethod", 6, method);
    // Words and bytes anywhere among what is read, pointers to the last byte of a page among them.
    for (int i = 0; i < 40; ++i) {
      const uint64_t values[] = {
          random(),       1ULL << 63, java_base + java_bytes - 1, java_base + random() % java_bytes,
          random() % 256, ~0ULL};
      const uint64_t places[] = {java_base + random() % 0x3000, code - 216 + random() % 512,
                                 stack_at + random() % 512};
      machine.put(places[random() % 3], values[random() % 6]);
    }
    frame at = java_at(random() % 2 ? code + 16 : interpreter_at, stack_at, stack_at + 0x80);
    java_frame made{};
    for (int i = 0; i < 64; ++i) {
      const uint64_t sp = at.sp;
      const java_step step = machine.step(at, made);
      if (step != java_taken && step != java_passed) break;
      CHECK(at.sp > sp);
    }
    auto scopes = std::make_unique<java_scopes>();
    if (const uint64_t blob = read_java_blob(&machine.layout, code + 16, scopes->memory)) {
      read_java_scopes(&machine.layout, scopes.get(), java_compiled, blob, code + 16);
      CHECK(scopes->count <= java_most_inlined);
    }
    auto record = std::make_unique<script_code_record>();
    read_java_method(&machine.layout, method, record.get());
    CHECK(record->line_bytes < max_script_lines);
    CHECK(record->name.bytes <= java_most_name);
  }
}

}  // namespace
}  // namespace memflame::bpf
