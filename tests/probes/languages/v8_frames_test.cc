// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "probes/bpf/shared.h"

namespace memflame::bpf {
namespace {

// The memory of a process: one piece.
constexpr uint64_t v8_base = 0x200000000000;
std::vector<uint8_t>* v8_memory = nullptr;

long read_v8_memory(void* to, size_t size, uint64_t address) {
  const uint64_t at = address - v8_base;
  if (at > v8_memory->size() || size > v8_memory->size() - at) return -14;
  std::memcpy(to, v8_memory->data() + at, size);
  return 0;
}

}  // namespace

#undef SCRIPT_READ
#undef SCRIPT_LOOP
#undef SCRIPT_FUNCTION
#define SCRIPT_READ(to, size, address) read_v8_memory(to, size, address)
#define SCRIPT_FUNCTION static inline
#define SCRIPT_LOOP(turns, function, context) \
  for (u32 turn = 0; turn < u32{turns} && !function(turn, context); ++turn)
#include "probes/languages/v8/frames.bpf.h"
#undef SCRIPT_READ
#undef SCRIPT_LOOP
#undef SCRIPT_FUNCTION

namespace {

enum : uint16_t {
  info_type = 262,
  script_type = 167,
  scope_type = 261,
  array_type = 175,
  bytecode_type = 191
};

struct V8Heap {
  std::vector<uint8_t> bytes;
  v8_layout layout{};

  V8Heap() {
    v8_memory = &bytes;
    layout.function_info = 24;
    layout.function_code = 48;
    layout.info_type = info_type;
    layout.script_type = script_type;
    layout.scope_type = scope_type;
    layout.array_type = array_type;
    layout.bytecode_type = bytecode_type;
  }
  ~V8Heap() { v8_memory = nullptr; }
  V8Heap(const V8Heap&) = delete;
  V8Heap& operator=(const V8Heap&) = delete;

  uint64_t make(size_t size) {
    const uint64_t at = v8_base + bytes.size();
    bytes.resize(bytes.size() + (size + 15) / 8 * 8);
    return at + 1;
  }
  template <class T>
  void put(uint64_t object, uint64_t offset, T value) {
    std::memcpy(bytes.data() + (object - 1 + offset - v8_base), &value, sizeof(value));
  }
  void number(uint64_t object, uint64_t offset, uint64_t value) {
    put(object, offset, value << 32);
  }
  uint64_t of_type(uint16_t type, size_t size) {
    const uint64_t map = make(16), object = make(size);
    put(map, v8_map_type, type);
    put(object, 0, map);
    return object;
  }
  uint64_t text(std::string_view value) {
    const uint64_t object = of_type(v8_one_byte, 16 + value.size());
    put(object, v8_string_length, static_cast<uint32_t>(value.size()));
    std::memcpy(bytes.data() + (object - 1 + 16 - v8_base), value.data(), value.size());
    return object;
  }
  uint64_t text(std::u16string_view value) {
    const uint64_t object = of_type(0, 16 + 2 * value.size());
    put(object, v8_string_length, static_cast<uint32_t>(value.size()));
    std::memcpy(bytes.data() + (object - 1 + 16 - v8_base), value.data(), 2 * value.size());
    return object;
  }
  // A string of two words: what it stands for, and where in that.
  uint64_t form(uint16_t type, uint32_t length, uint64_t other, uint64_t data) {
    const uint64_t object = of_type(type, 32);
    put(object, v8_string_length, length);
    put(object, v8_string_other, other);
    put(object, v8_string_data, data);
    return object;
  }
};

struct V8Function {
  uint64_t function, info, script, scope;
};

V8Function v8_function(V8Heap& heap, uint64_t name, uint64_t inferred, uint64_t source,
                       uint64_t position, uint64_t locals = 0) {
  V8Function made{.function = heap.of_type(1000, 64),
                  .info = heap.of_type(info_type, 64),
                  .script = heap.of_type(script_type, 96),
                  .scope = heap.of_type(scope_type, 96 + 16 * locals)};
  heap.put(made.function, 24, made.info);
  heap.put(made.info, v8_info_name, made.scope);
  heap.put(made.info, v8_info_script, made.script);
  heap.put(made.info, v8_info_number, uint32_t{7});
  heap.put(made.script, v8_script_source, source);
  heap.put(made.script, v8_script_name, heap.text("/srv/app.js"));
  heap.number(made.script, v8_script_line_offset, 0);
  heap.number(made.script, v8_script_line_ends, 0);
  heap.number(made.script, v8_script_number, 81);
  heap.number(made.scope, v8_scope_flags, 2 | 3 << 12 | 1 << 14);
  heap.number(made.scope, v8_scope_locals, locals);
  uint64_t at = v8_scope_fields + 8 * locals + 8 * (locals < 75 ? locals : 1);
  heap.put(made.scope, at, name);
  heap.put(made.scope, at + 16, inferred);
  heap.number(made.scope, at + 24, position);
  return made;
}

// What is read of a frame with these words.
struct V8Seen {
  v8_frame found = v8_other_frame;
  uint64_t info = 0, key = 0;
  v8_site site{};
};

V8Seen frame_of(V8Heap& heap, const V8Function& made, v8_last_script& last, script_memos& memos,
                uint64_t context = v8_base + 1, uint64_t bytecode = 0, uint64_t offset = 0,
                uint64_t pc = 0x7000, uint32_t thread = 5) {
  uint64_t memory[v8_memory_words] = {};
  memory[v8_memory_frame] = made.function;
  memory[v8_memory_frame + 1] = context;
  memory[v8_memory_offset] = offset;
  memory[v8_memory_offset + 1] = bytecode;
  V8Seen seen;
  seen.found = read_v8_frame(&heap.layout, pc, thread, memory, &last, &memos, &seen.info, &seen.key,
                             &seen.site);
  return seen;
}

V8Seen frame_of(V8Heap& heap, const V8Function& made, v8_last_script& last,
                uint64_t context = v8_base + 1, uint64_t bytecode = 0, uint64_t offset = 0) {
  script_memos memos{.stack = 1, .life = 0, .memo = {}};
  return frame_of(heap, made, last, memos, context, bytecode, offset);
}

V8Seen frame_of(V8Heap& heap, const V8Function& made, uint64_t context = v8_base + 1) {
  v8_last_script last{};
  return frame_of(heap, made, last, context);
}

std::string name_of(const script_code_record& record) {
  return {reinterpret_cast<const char*>(record.name_text), record.name.bytes};
}

TEST_CASE("v8: a frame's function is known by numbers, wherever it is moved to") {
  V8Heap heap;
  const V8Function made = v8_function(heap, heap.text("tick"), 0, heap.text("a\nb"), 2);
  const V8Seen seen = frame_of(heap, made);
  REQUIRE(seen.found == v8_function_frame);
  CHECK(seen.info == made.info);
  CHECK(seen.key == v8_key(5, 81, 7));
  CHECK(script_language(seen.key) == language_javascript);
  CHECK(script_code(seen.key) != 0);
  CHECK(heap.layout.info_map != 0);
  // The collector is at work: the object's new place is where its map was.
  const uint64_t moved = heap.make(64);
  std::memcpy(heap.bytes.data() + (moved - 1 - v8_base),
              heap.bytes.data() + (made.info - 1 - v8_base), 64);
  heap.put(made.info, 0, moved - 1);
  const V8Seen later = frame_of(heap, made);
  REQUIRE(later.found == v8_function_frame);
  CHECK(later.info == moved);
  CHECK(later.key == seen.key);
}

TEST_CASE("v8: a script is read once for the functions that follow each other") {
  V8Heap heap;
  const V8Function first = v8_function(heap, heap.text("f"), 0, heap.text("\n"), 0),
                   second = v8_function(heap, heap.text("g"), 0, heap.text("\n"), 0);
  heap.put(second.info, v8_info_script, first.script);
  heap.put(second.info, v8_info_number, uint32_t{8});
  v8_last_script last{};
  CHECK(frame_of(heap, first, last).key == v8_key(5, 81, 7));
  heap.number(first.script, v8_script_number, 82);
  CHECK(frame_of(heap, second, last).key == v8_key(5, 81, 8));
  last = {};
  CHECK(frame_of(heap, second, last).key == v8_key(5, 82, 8));
}

TEST_CASE("v8: a function that is met again in a stack is read once, and anew in the next stack") {
  V8Heap heap;
  const V8Function made = v8_function(heap, heap.text("f"), 0, heap.text("\n"), 0),
                   other = v8_function(heap, heap.text("g"), 0, heap.text("\n"), 0);
  const uint64_t bytecode = heap.of_type(bytecode_type, 64);
  heap.put(made.info, v8_info_data, bytecode);
  v8_last_script last{};
  script_memos memos{.stack = 1, .life = 0, .memo = {}};
  const V8Seen seen = frame_of(heap, made, last, memos);
  heap.put(made.info, v8_info_number, uint32_t{8});
  heap.put(other.info, v8_info_script, uint64_t{0});  // a part of V8
  for (int i = 0; i < 2; ++i) CHECK(frame_of(heap, other, last, memos).found == v8_other_frame);
  const V8Seen again = frame_of(heap, made, last, memos, v8_base + 1, bytecode, 70ULL << 32);
  CHECK(again.found == v8_function_frame);
  CHECK(again.key == seen.key);
  CHECK(again.info == made.info);
  CHECK(again.site.code == seen.site.code);
  CHECK(again.site.offset == 70);  // the frame's own
  ++memos.stack;
  CHECK(frame_of(heap, made, last, memos).key == v8_key(5, 81, 8));
  // What could not be read may be there in the next frame.
  ++memos.stack;
  heap.put(made.function, 24, v8_base + (1ULL << 30) + 1);
  CHECK(frame_of(heap, made, last, memos).found == v8_unreadable_frame);
  heap.put(made.function, 24, made.info);
  CHECK(frame_of(heap, made, last, memos).found == v8_function_frame);
}

TEST_CASE("v8: a function and its code stay what they are until the collector begins") {
  V8Heap heap;
  const V8Function made = v8_function(heap, heap.text("f"), 0, heap.text("\n"), 0);
  v8_last_script last{};
  script_memos memos{.stack = 1, .life = 1ULL << 63 | 4, .memo = {}};
  const auto number = [&](uint64_t pc, uint32_t thread = 5) {
    ++memos.stack;
    return frame_of(heap, made, last, memos, v8_base + 1, 0, 0, pc, thread).key;
  };
  const uint64_t first = number(0x7000);
  CHECK(first == v8_key(5, 81, 7));
  heap.put(made.info, v8_info_number, uint32_t{8});  // as if another function lay there
  CHECK(number(0x7000) == first);
  // A place elsewhere may be in other code, and a thread has functions of its own.
  CHECK(number(0x7100) == v8_key(5, 81, 8));
  CHECK(number(0x7000, 6) != first);
  CHECK(number(0x7000) == v8_key(5, 81, 8));
  heap.put(made.info, v8_info_number, uint32_t{9});
  ++memos.life;
  CHECK(number(0x7000) == v8_key(5, 81, 9));
}

TEST_CASE("v8: a frame of the interpreter says where its function is") {
  V8Heap heap;
  const V8Function made = v8_function(heap, heap.text("tick"), 0, heap.text("a\nb"), 2);
  const uint64_t bytecode = heap.of_type(bytecode_type, 64), other = heap.of_type(7, 64);
  heap.put(made.function, 48, other);
  v8_last_script last{};
  const V8Seen seen = frame_of(heap, made, last, v8_base + 1, bytecode, 70ULL << 32);
  CHECK(seen.site.offset == 70);
  CHECK(seen.site.pc == 0x7000);
  CHECK(seen.site.code == other);
  CHECK(heap.layout.bytecode_map != 0);
  heap.put(made.info, v8_info_data, bytecode);
  heap.layout.bytecode_map = 0;
  CHECK(frame_of(heap, made, last, v8_base + 1, bytecode, 70ULL << 32).site.offset == 70);
  CHECK(heap.layout.bytecode_map == 0);  // was not needed
  // Other compilers' frames have other things there.
  const auto offset = [&](uint64_t object, uint64_t value) {
    return frame_of(heap, made, last, v8_base + 1, object, value).site.offset;
  };
  CHECK(offset(other, 70ULL << 32) == v8_no_offset);
  CHECK(offset(bytecode, other) == v8_no_offset);
  CHECK(offset(bytecode, ~0ULL << 32) == v8_no_offset);
  CHECK(offset(bytecode + (1 << 20), 70ULL << 32) == v8_no_offset);
}

TEST_CASE("v8: a word stands for a function and the place of its call") {
  v8_site site{.code = 0x101, .pc = 0x7000, .offset = v8_no_offset, .pad = 0};
  const uint64_t key = v8_key(5, 81, 7), word = v8_word(key, &site);
  CHECK(word != key);
  CHECK(script_language(word) == language_javascript);
  site.code = 0x201;  // other code at the same place
  CHECK(v8_word(key, &site) != word);
  site.offset = 9;
  const uint64_t interpreted = v8_word(key, &site);
  site.code = 0x101;
  CHECK(v8_word(key, &site) == interpreted);
  site.pc = 0;
  CHECK(v8_word(key, &site) == key);
}

TEST_CASE("v8: other frames stay native") {
  V8Heap heap;
  const V8Function made = v8_function(heap, heap.text("tick"), 0, heap.text("a"), 0);
  CHECK(frame_of(heap, made, 18ULL << 32).found == v8_other_frame);  // tells the frame's type
  heap.put(made.info, v8_info_script, heap.of_type(131, 96));        // undefined: V8's own
  CHECK(frame_of(heap, made).found == v8_other_frame);
  heap.put(made.function, 24, heap.of_type(8, 96));  // a string
  CHECK(frame_of(heap, made).found == v8_other_frame);
  heap.put(made.function, 24, uint64_t{0x500000000001});
  CHECK(frame_of(heap, made).found == v8_unreadable_frame);
}

TEST_CASE("v8: keys differ by each number") {
  CHECK(v8_key(1, 0, 1) == 0);
  const uint64_t key = v8_key(1, 2, 3);
  CHECK(key != v8_key(2, 2, 3));
  CHECK(key != v8_key(1, 3, 3));
  CHECK(key != v8_key(1, 2, 4));
  CHECK(script_language(v8_key(~0U, ~0U, ~0U)) == language_javascript);
  CHECK(script_code(key) != 0);
}

TEST_CASE("v8: names, scripts and lines") {
  V8Heap heap;
  auto record = std::make_unique<script_code_record>();
  const auto read = [&](uint64_t name, uint64_t inferred, uint64_t source, uint64_t position,
                        uint64_t locals) {
    const V8Function made = v8_function(heap, name, inferred, source, position, locals);
    return read_v8_code(&heap.layout, made.info, record.get());
  };
  std::string source;
  for (int i = 0; i < 3000; ++i) source += "// line\n";
  REQUIRE(read(heap.text("tick"), 0, heap.text(source), 8 * 2000 + 3, 2));
  CHECK(name_of(*record) == "tick");
  CHECK(std::string(reinterpret_cast<const char*>(record->file_text), record->file.bytes) ==
        "/srv/app.js");
  CHECK(record->first_line == 2001);
  REQUIRE(read(heap.text(""), heap.text("o.foo"), heap.text(u"ä\nb\n名c"), 5, 100));
  CHECK(name_of(*record) == "o.foo");
  CHECK(record->first_line == 3);
  const uint64_t whole = heap.text("xx\ny resize\n");
  REQUIRE(read(heap.form(8 + v8_part, 6, whole, 5ULL << 32), 0,
               heap.form(8 + v8_alias, 0xffffffff, whole, 0), 3, 0));
  CHECK(name_of(*record) == "resize");
  CHECK(record->first_line == 2);
  heap.text("outside");
  const uint64_t outside = v8_base + heap.bytes.size() - 16;
  REQUIRE(read(heap.form(8 + v8_external, 7, 0, outside), 0, whole, 13, 0));
  CHECK(name_of(*record).size() == 7);
  CHECK(record->first_line == 0);  // a position behind the source's end
}

TEST_CASE("v8: a short name at the end of the memory that is there") {
  V8Heap heap;
  auto record = std::make_unique<script_code_record>();
  const V8Function made = v8_function(heap, 0, 0, heap.text("\n"), 0);
  const uint64_t name = heap.text("deep");
  heap.put(made.scope, v8_scope_fields, name);
  heap.bytes.resize(name - 1 + 24 - v8_base);
  REQUIRE(read_v8_code(&heap.layout, made.info, record.get()));
  CHECK(name_of(*record) == "deep");
}

TEST_CASE("v8: a name or a script that is not there is not an empty one") {
  V8Heap heap;
  auto record = std::make_unique<script_code_record>();
  const V8Function made = v8_function(heap, heap.text("f"), 0, heap.text("\n"), 0);
  const uint64_t nowhere = v8_base + (1 << 30) + 1;
  heap.put(made.script, v8_script_name, nowhere);
  CHECK(!read_v8_code(&heap.layout, made.info, record.get()));
  heap.put(made.script, v8_script_name, heap.of_type(script_type, 32));  // no text: there is none
  REQUIRE(read_v8_code(&heap.layout, made.info, record.get()));
  CHECK(record->file.bytes == 0);
  heap.put(made.scope, v8_scope_fields, nowhere);
  CHECK(!read_v8_code(&heap.layout, made.info, record.get()));
}

TEST_CASE("v8: V8's own table of lines goes first") {
  V8Heap heap;
  auto record = std::make_unique<script_code_record>();
  const V8Function made = v8_function(heap, heap.text("f"), 0, heap.text("no line here"), 11);
  const uint64_t table = heap.of_type(array_type, 64);
  heap.number(table, v8_array_length, 3);
  const uint64_t ends[] = {4, 10, 30};
  for (uint64_t i = 0; i < 3; ++i) heap.number(table, v8_array_items + 8 * i, ends[i]);
  heap.put(made.script, v8_script_line_ends, table);
  REQUIRE(read_v8_code(&heap.layout, made.info, record.get()));
  CHECK(record->first_line == 3);
}

TEST_CASE("v8: damaged memory is bounded and inert") {
  std::mt19937_64 random(20);
  auto record = std::make_unique<script_code_record>();
  for (int turn = 0; turn < 20000; ++turn) {
    V8Heap heap;
    const V8Function made =
        v8_function(heap, heap.text("tick"), heap.text("o.tick"), heap.text("a\nb\n"), 3, 3);
    const uint64_t self[] = {made.info, made.script, made.scope, ~0ULL, 1ULL << 62, 0, 1};
    for (int i = 0; i < 4; ++i) {
      const uint64_t at = random() % (heap.bytes.size() / 8) * 8;
      const uint64_t value = random() % 2 == 0 ? random() : self[random() % 7];
      std::memcpy(heap.bytes.data() + at, &value, 8);
    }
    const V8Seen seen = frame_of(heap, made);
    if (seen.found == v8_function_frame) CHECK(script_code(seen.key) != 0);
    if (!read_v8_code(&heap.layout, seen.info, record.get())) continue;
    CHECK(record->name.bytes <= max_script_name);
    CHECK(record->file.bytes <= max_script_file);
  }
}

}  // namespace
}  // namespace memflame::bpf
