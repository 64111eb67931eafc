// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/v8/calls.h"

#include <array>
#include <cstring>
#include <span>

#include "probes/languages/v8/functions.h"
#include "probes/languages/v8/memory.h"
#include "probes/languages/v8/tables.h"

namespace memflame {
namespace {

constexpr uint16_t v8_10_2 = 0x0a02, v8_11_3 = 0x0b03, v8_12_4 = 0x0c04;

// Where code has what is read of it, by version. `start`: 0 = the instructions lie in the object,
// behind its head.
struct CodeForm {
  uint16_t version;
  uint8_t deopt, positions, start, size, baseline;
  uint8_t head;       // bytes of the object that holds the instructions, before these
  uint8_t from_code;  // the field of that object with the code; 0 = it is the code
  uint8_t bytecode_positions, bytecode_items;
};
constexpr std::array code_forms{CodeForm{.version = v8_10_2,
                                         .deopt = 16,
                                         .positions = 24,
                                         .start = 0,
                                         .size = 40,
                                         .baseline = 11,
                                         .head = 128,
                                         .from_code = 0,
                                         .bytecode_positions = 32,
                                         .bytecode_items = 56},
                                CodeForm{.version = v8_11_3,
                                         .deopt = 16,
                                         .positions = 24,
                                         .start = 40,
                                         .size = 56,
                                         .baseline = 11,
                                         .head = 16,
                                         .from_code = 8,
                                         .bytecode_positions = 32,
                                         .bytecode_items = 54},
                                CodeForm{.version = v8_12_4,
                                         .deopt = 8,
                                         .positions = 16,
                                         .start = 40,
                                         .size = 52,
                                         .baseline = 10,
                                         .head = 32,
                                         .from_code = 8,
                                         .bytecode_positions = 24,
                                         .bytecode_items = 64}};
enum : uint8_t { code_flags = 48, kind_mask = 15, code_alignment = 64 };

// DeoptimizationData, an array: fixed items, then three for each place where code can be given up.
enum : uint8_t {
  inlined_functions = 1,
  literals = 2,
  own_info = 6,
  inlined_calls = 7,
  exit_jumps = 8
};
enum : uint8_t {
  first_exit = 11,
  exit_items = 3,
  exit_bytecode = 0,
  exit_pc = 2,
  exit_jump_bytes = 4
};
// InliningPosition: where a function was inlined, and which one.
enum : uint8_t { inlined_call_bytes = 16, inlined_call_function = 8 };
constexpr size_t most_inlined = 64;  // within each other

// What is read first of code, and again at the end.
struct Code {
  uint64_t object = 0;
  uint64_t begin = 0, deopt = 0, positions = 0;
  uint32_t bytes = 0, kind = 0;
  friend bool operator==(const Code&, const Code&) = default;
};

// Where code can be given up, as at each call of JavaScript: the functions there are known for
// sure.
struct Exit {
  uint32_t pc = 0;
  std::optional<uint32_t> bytecode;  // of the innermost function
};
std::optional<Exit> exit_of(std::span<const uint64_t> deopt, size_t at) {
  if (at + exit_items > deopt.size()) return std::nullopt;
  const std::optional<uint32_t> pc = V8Memory::number(deopt[at + exit_pc]);
  if (!pc || *pc == 0) return std::nullopt;
  return Exit{.pc = *pc, .bytecode = V8Memory::number(deopt[at + exit_bytecode])};
}
std::optional<Exit> find_exit(std::span<const uint64_t> deopt, uint32_t pc) {
  for (size_t at = first_exit; at + exit_items <= deopt.size(); at += exit_items)
    if (V8Memory::number(deopt[at + exit_pc]) == pc) return exit_of(deopt, at);
  // When code is given up, each frame of it returns to what ends the code: a jump for each exit.
  const std::optional<uint32_t> jumps = V8Memory::number(deopt[exit_jumps]);
  if (!jumps || pc < *jumps || (pc - *jumps) % exit_jump_bytes != 0) return std::nullopt;
  return exit_of(deopt, first_exit + size_t{exit_items} * ((pc - *jumps) / exit_jump_bytes));
}

class CallReader {
 public:
  CallReader(const bpf::v8_call& call, const V8Memory& memory, const CodeForm& form)
      : call_(call), memory_(memory), form_(form) {}

  V8Calls of_file() const;
  V8Calls of_code() const;

 private:
  std::optional<Code> code_at(uint64_t object) const;
  bool has_call(const Code& code) const {
    return call_.site.pc > code.begin && call_.site.pc - code.begin <= code.bytes;
  }
  std::optional<Code> find_code() const;
  std::optional<Code> code_around() const;
  uint64_t bytecode_of(uint64_t data) const;
  V8Calls in_bytecode(uint64_t bytecode, uint32_t offset) const;
  V8Calls in_optimized(const Code& code) const;
  std::optional<uint32_t> position_in(uint64_t bytecode, uint32_t offset) const;
  bool settle(V8CallSite& innermost, uint32_t bytecode_offset) const;

  const bpf::v8_call& call_;
  const V8Memory& memory_;
  const CodeForm& form_;
};

std::optional<Code> CallReader::code_at(uint64_t object) const {
  if (!memory_.is(object, memory_.layout().code_type)) return std::nullopt;
  Code code{.object = object};
  std::array<uint32_t, 2> words{};
  code.deopt = memory_.field(object, form_.deopt);
  code.positions = memory_.field(object, form_.positions);
  code.begin = form_.start == 0 ? object - 1 + form_.head : memory_.field(object, form_.start);
  if (!memory_.read(object - 1 + form_.size, words.data(), sizeof(uint32_t)) ||
      !memory_.read(object - 1 + code_flags, words.data() + 1, sizeof(uint32_t)))
    return std::nullopt;
  code.bytes = words[0];
  code.kind = words[1] & kind_mask;
  return code;
}

// A frame may run other code than its function has now: code that begins in a loop, or was given
// up. That is found from the instructions, as the two objects point to each other.
std::optional<Code> CallReader::code_around() const {
  constexpr uint64_t page_bytes = 4096, most_pages = 64;
  std::array<uint8_t, page_bytes> page{};
  const uint64_t last = (call_.site.pc & ~uint64_t{code_alignment - 1}) - form_.head;
  for (uint64_t at = last / page_bytes, looked = 0; looked < most_pages && at > 0; ++looked, --at) {
    if (!memory_.read(at * page_bytes, page.data(), page.size())) return std::nullopt;
    // Heads of objects whose instructions would begin where V8 lets them begin.
    const uint64_t first = (0 - uint64_t{form_.head}) % code_alignment;
    for (uint64_t head = first + page_bytes - code_alignment; head < page_bytes;
         head -= code_alignment) {
      const uint64_t address = at * page_bytes + head;
      if (address > last) continue;
      uint64_t code = 0;
      std::memcpy(&code, page.data() + head + form_.from_code, sizeof(code));
      if (!V8Memory::is_object(code)) continue;  // a map or the code
      const std::optional<Code> found = code_at(form_.from_code != 0 ? code : address + 1);
      if (found && found->begin == address + form_.head) return found;
    }
  }
  return std::nullopt;
}

std::optional<Code> CallReader::find_code() const {
  std::optional<Code> code = code_at(call_.site.code);
  if (code && has_call(*code)) return code;
  code = code_around();
  return code && has_call(*code) ? code : std::nullopt;
}

// The bytecode that a function's information or its code has; 0 = none.
uint64_t CallReader::bytecode_of(uint64_t data) const {
  const uint16_t type = memory_.layout().bytecode_type;
  if (memory_.is(data, type)) return data;
  const std::optional<Code> code = code_at(data);
  return code && code->kind == form_.baseline && memory_.is(code->deopt, type) ? code->deopt : 0;
}

// By the table of places that V8 makes of bytecode when it needs it.
std::optional<uint32_t> CallReader::position_in(uint64_t bytecode, uint32_t offset) const {
  const auto table = memory_.bytes(memory_.field(bytecode, form_.bytecode_positions),
                                   memory_.layout().table_type, bpf::v8_array_items);
  if (!table) return std::nullopt;
  const std::optional<V8Position> position = v8_position_in(*table, offset);
  return position ? std::optional(position->offset) : std::nullopt;
}

V8Calls CallReader::in_bytecode(uint64_t bytecode, uint32_t offset) const {
  return {
      .code = V8Code::bytecode,
      .sites = {{.key = call_.key, .info = call_.info, .position = position_in(bytecode, offset)}}};
}

V8Calls CallReader::of_file() const {
  if (call_.site.offset == bpf::v8_no_offset || memory_.key_of(call_.info) != call_.key) return {};
  const uint64_t bytecode = bytecode_of(memory_.field(call_.info, bpf::v8_info_data));
  // The frame has the offset from the object's address.
  const uint32_t before = form_.bytecode_items - 1U;
  if (bytecode == 0 || call_.site.offset < before) return {};
  V8Calls calls = in_bytecode(bytecode, call_.site.offset - before);
  return memory_.key_of(call_.info) == call_.key ? calls : V8Calls{};
}

// The place of the innermost call is also known by its bytecode. If the function's own table has
// that, it must say the same, or the compiler did not have the table yet. False if it says another.
bool CallReader::settle(V8CallSite& innermost, uint32_t bytecode_offset) const {
  const uint64_t bytecode = bytecode_of(memory_.field(innermost.info, bpf::v8_info_data));
  const auto length = V8Memory::number(memory_.field(bytecode, bpf::v8_array_length));
  // Otherwise it is a part of V8 that goes on there.
  if (!length || bytecode_offset >= *length) return true;
  const std::optional<uint32_t> position = position_in(bytecode, bytecode_offset);
  if (!position || position == innermost.position) return true;
  if (innermost.position != v8_start(memory_, innermost.info)) return false;
  innermost.position = position;
  return true;
}

V8Calls CallReader::in_optimized(const Code& code) const {
  const bpf::v8_layout& layout = memory_.layout();
  const auto deopt = memory_.words(code.deopt, layout.deopt_type);
  if (!deopt || deopt->size() < first_exit) return {};
  if (memory_.key_of(deopt->at(own_info)) != call_.key) return {};
  const std::optional<Exit> exit =
      find_exit(*deopt, static_cast<uint32_t>(call_.site.pc - code.begin));
  if (!exit) return {};
  const auto table = memory_.bytes(code.positions, layout.table_type, bpf::v8_array_items);
  const auto functions = memory_.words(deopt->at(literals), layout.literal_type);
  const auto inlined =
      memory_.bytes(deopt->at(inlined_calls), layout.bytes_type, bpf::v8_array_items);
  const auto count = V8Memory::number(deopt->at(inlined_functions));
  if (!table || !functions || !inlined || !count) return {};
  V8Calls calls{.code = V8Code::optimized, .sites = {}};
  std::optional<V8Position> position = v8_position_in(*table, exit->pc - 1);
  while (position && position->inlined) {
    const size_t at = size_t{*position->inlined} * inlined_call_bytes;
    if (calls.sites.size() == most_inlined || at + inlined_call_bytes > inlined->size()) return {};
    uint64_t where = 0;
    int32_t function = 0;
    std::memcpy(&where, inlined->data() + at, sizeof(where));
    std::memcpy(&function, inlined->data() + at + inlined_call_function, sizeof(function));
    if (function < 0 || static_cast<uint32_t>(function) >= *count ||
        static_cast<size_t>(function) >= functions->size())
      return {};
    constexpr uint64_t weak = 2;
    const uint64_t info = functions->at(static_cast<size_t>(function)) & ~weak;
    const uint64_t key = memory_.key_of(info);
    if (key == 0) return {};
    calls.sites.push_back({.key = key, .info = info, .position = position->offset});
    position = v8_position(where);
  }
  if (!position) return {};
  calls.sites.push_back(
      {.key = call_.key, .info = deopt->at(own_info), .position = position->offset});
  if (exit->bytecode && !settle(calls.sites.front(), *exit->bytecode)) return {};
  return calls;
}

V8Calls CallReader::of_code() const {
  const std::optional<Code> code = find_code();
  if (!code) return {};
  V8Calls calls;
  if (code->kind == form_.baseline) {
    const uint64_t bytecode = bytecode_of(code->object);
    const auto ends =
        memory_.bytes(code->positions, memory_.layout().table_type, bpf::v8_array_items);
    const auto all = memory_.bytes(bytecode, memory_.layout().bytecode_type, form_.bytecode_items);
    // The code does not say whose it is, but the bytecode is that of one function.
    if (!ends || !all || memory_.key_of(call_.info) != call_.key ||
        bytecode_of(memory_.field(call_.info, bpf::v8_info_data)) != bytecode)
      return {};
    const auto offset = v8_baseline_bytecode(*ends, *all, form_.version,
                                             static_cast<uint32_t>(call_.site.pc - code->begin));
    if (!offset) return {};
    calls = in_bytecode(bytecode, *offset);
  } else if (code->kind > form_.baseline) {
    calls = in_optimized(*code);
  }
  return code_at(code->object) == code ? calls : V8Calls{};
}

}  // namespace

V8Calls read_v8_calls(const bpf::v8_call& call, uint32_t thread, bool is_file,
                      const ReadV8Memory& read) {
  const V8Memory memory(call.layout, thread, read);
  for (const CodeForm& form : code_forms)
    if (form.version == call.layout.version) {
      const CallReader reader(call, memory, form);
      return is_file ? reader.of_file() : reader.of_code();
    }
  return {};
}

}  // namespace memflame
