// SPDX-License-Identifier: BSD-2-Clause
// Memory of a made process with functions and code of V8, as version 11.3 lays them out.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "probes/languages/v8/memory.h"

namespace memflame {

class V8Process {
 public:
  enum : uint16_t {
    info_type = 262,
    script_type = 167,
    scope_type = 261,
    array_type = 175,
    bytecode_type = 191,
    code_type = 245,
    bytes_type = 190,
    literal_type = 240,
    one_byte_string = 8
  };
  static constexpr uint64_t base = 0x100000000000;
  static constexpr uint32_t thread = 5;

  V8Process() : bytes_(4096) {
    layout.version = 0x0b03;
    layout.function_info = 24;
    layout.function_code = 48;
    layout.info_type = info_type;
    layout.script_type = script_type;
    layout.scope_type = scope_type;
    layout.array_type = layout.deopt_type = array_type;
    layout.bytecode_type = bytecode_type;
    layout.code_type = code_type;
    layout.bytes_type = layout.table_type = bytes_type;
    layout.literal_type = literal_type;
  }

  // An object of a type, whose map is made with it.
  uint64_t object(uint16_t type, size_t size) {
    const uint64_t map = room(16), made = room(size);
    put(map, bpf::v8_map_type, type);
    put(made, 0, map);
    return made;
  }
  uint64_t room(size_t size, size_t alignment = 8) {
    const size_t at = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(at + (size + 15) / 8 * 8);
    return base + at + 1;
  }
  template <class T>
  void put(uint64_t object, uint64_t offset, T value) {
    std::memcpy(bytes_.data() + (object - 1 + offset - base), &value, sizeof(value));
  }
  void number(uint64_t object, uint64_t offset, uint32_t value) {
    put(object, offset, uint64_t{value} << 32U);
  }
  uint64_t text(std::string_view value) {
    const uint64_t made = object(one_byte_string, 16 + value.size());
    put(made, bpf::v8_string_length, static_cast<uint32_t>(value.size()));
    copy(made, bpf::v8_string_text, value);
    return made;
  }
  uint64_t array_of_bytes(std::string_view value, uint16_t type = bytes_type, size_t head = 16) {
    const uint64_t made = object(type, head + value.size());
    number(made, bpf::v8_array_length, static_cast<uint32_t>(value.size()));
    copy(made, head, value);
    return made;
  }
  uint64_t array(const std::vector<uint64_t>& words, uint16_t type) {
    const uint64_t made = object(type, 16 + 8 * words.size());
    number(made, bpf::v8_array_length, static_cast<uint32_t>(words.size()));
    for (size_t i = 0; i < words.size(); ++i) put(made, bpf::v8_array_items + 8 * i, words[i]);
    return made;
  }

  // A script with this source.
  uint64_t script(std::string_view source, uint32_t its_number) {
    const uint64_t made = object(script_type, 96);
    put(made, bpf::v8_script_source, text(source));
    put(made, bpf::v8_script_name, text("/srv/app.js"));
    number(made, bpf::v8_script_line_offset, 0);
    number(made, bpf::v8_script_line_ends, 0);
    number(made, bpf::v8_script_number, its_number);
    return made;
  }
  // A function that begins at `start` in its script: its information.
  uint64_t function(std::string_view name, uint64_t script, uint32_t its_number, uint32_t start,
                    uint64_t data = 0) {
    const uint64_t info = object(info_type, 64), scope = object(scope_type, 96);
    put(info, bpf::v8_info_data, data);
    put(info, bpf::v8_info_name, scope);
    put(info, bpf::v8_info_script, script);
    put(info, bpf::v8_info_number, its_number);
    number(scope, bpf::v8_scope_flags, 2 | 3 << 12);  // a function with a name
    number(scope, bpf::v8_scope_locals, 0);
    put(scope, bpf::v8_scope_fields, text(name));
    number(scope, bpf::v8_scope_fields + 16, start);
    return info;
  }
  uint64_t bytecode(std::string_view code, uint64_t positions) {
    const uint64_t made = array_of_bytes(code, bytecode_type, 54);
    put(made, 32, positions);
    return made;
  }
  // Code with room for instructions. Returns it; `begin`: where its instructions are.
  uint64_t code(uint32_t kind, uint64_t deopt, uint64_t positions, uint32_t bytes,
                uint64_t& begin) {
    const uint64_t made = object(code_type, 96);
    const uint64_t stream = room(64 + 16 + bytes, 64) + 48;
    begin = stream - 1 + 16;
    put(stream, 0, object(252, 16));
    put(stream, 8, made);
    put(made, 16, deopt);
    put(made, 24, positions);
    put(made, 40, begin);
    put(made, 48, kind);
    put(made, 56, bytes);
    return made;
  }

  ReadV8Memory reader() {
    return [this](uint64_t address, void* to, size_t size) {
      const uint64_t at = address - base;
      if (at > bytes_.size() || size > bytes_.size() - at) return false;
      std::memcpy(to, bytes_.data() + at, size);
      return true;
    };
  }
  // For tests that damage it.
  std::vector<uint8_t>& bytes() { return bytes_; }

  bpf::v8_layout layout{};

 private:
  void copy(uint64_t object, uint64_t offset, std::string_view value) {
    std::memcpy(bytes_.data() + (object - 1 + offset - base), value.data(), value.size());
  }

  std::vector<uint8_t> bytes_;
};

// Entries of a table of places, as V8 writes them.
class V8Table {
 public:
  // `at`: in the code; `value`: the place.
  V8Table& add(int64_t at, uint64_t value, bool is_statement = true) {
    const int64_t distance = at - at_;
    append(is_statement ? distance : ~distance);
    append(static_cast<int64_t>(value - value_));
    at_ = at;
    value_ = value;
    return *this;
  }
  std::string_view bytes() const { return bytes_; }
  // A place in a script, in the function that was inlined at a call; -1 = in the function itself.
  static uint64_t place(uint32_t offset, int32_t inlined = -1) {
    return uint64_t{offset + 1} << 1U | static_cast<uint64_t>(inlined + 1) << 31U;
  }

 private:
  void append(int64_t number) {
    auto left = static_cast<uint64_t>(number) << 1U ^ static_cast<uint64_t>(number >> 63);
    for (; left > 0x7f; left >>= 7U) bytes_ += static_cast<char>((left & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(left);
  }
  int64_t at_ = -1;
  uint64_t value_ = 0;
  std::string bytes_;
};

// A function "outer", with "inner" inlined into "middle", which is inlined into it. The code
// returns to 40 from the call in the innermost one.
struct V8Inlined {
  V8Process process;
  uint64_t script, inner, middle, outer, deopt, code, begin = 0;
  bpf::v8_call call{};

  V8Inlined() {
    using Process = V8Process;
    script = process.script("outer(\nmiddle(\n\n inner(\ncall\n", 81);
    const uint64_t table = process.array_of_bytes(
        V8Table().add(0, V8Table::place(10)).add(2, V8Table::place(24, 1), false).bytes());
    inner = process.function("inner", script, 3, 21, process.bytecode("\x0c\x0c\xa9", table));
    middle = process.function("middle", script, 2, 12);
    outer = process.function("outer", script, 1, 5);
    const uint64_t positions = process.array_of_bytes(V8Table()
                                                          .add(0, V8Table::place(5), false)
                                                          .add(36, V8Table::place(24, 1), false)
                                                          .add(40, V8Table::place(8), false)
                                                          .bytes());
    std::string inlined(32, '\0');
    const uint64_t calls[] = {V8Table::place(7), V8Table::place(16, 0)};
    const int32_t functions[] = {1, 0};
    for (size_t i = 0; i < 2; ++i) {
      std::memcpy(inlined.data() + 16 * i, calls + i, 8);
      std::memcpy(inlined.data() + 16 * i + 8, functions + i, 4);
    }
    const auto number = [](int64_t value) { return static_cast<uint64_t>(value) << 32U; };
    deopt = process.array(
        {number(0), number(2), process.array({inner, middle}, Process::literal_type), number(-1),
         number(-1), number(4), outer, process.array_of_bytes(inlined), number(100), number(1),
         number(1), number(0), number(0), number(-1),  // where it is checked
         number(2), number(0), number(40)},
        Process::array_type);
    constexpr uint32_t optimized = 13;  // kind of code
    code = process.code(optimized, deopt, positions, 120, begin);
    process.bytes().resize((process.bytes().size() + 4095) / 4096 * 4096);
    call.layout = process.layout;
    call.key = bpf::v8_key(Process::thread, 81, 1);
    call.info = outer;
    call.site = {.code = code, .pc = begin + 40, .offset = bpf::v8_no_offset, .pad = 0};
  }
  V8Calls read(bool is_file = false) {
    return read_v8_calls(call, V8Process::thread, is_file, process.reader());
  }
};

}  // namespace memflame
