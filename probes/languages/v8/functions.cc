// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/v8/functions.h"

#include <span>
#include <utility>
#include <vector>

namespace memflame {
namespace bpf {
namespace {

thread_local const V8Memory* v8_memory_now = nullptr;

long read_now(void* to, size_t bytes, uint64_t address) {
  return v8_memory_now->read(address, to, bytes) ? 0 : -1;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
#define SCRIPT_READ(to, size, address) read_now(to, size, address)
#define SCRIPT_FUNCTION static inline
#define SCRIPT_LOOP(turns, function, context) \
  for (u32 turn = 0; turn < u32{turns} && !function(turn, context); ++turn)
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/languages/v8/frames.bpf.h"
#undef SCRIPT_READ
#undef SCRIPT_FUNCTION
#undef SCRIPT_LOOP

}  // namespace bpf

namespace {

class Reading {
 public:
  explicit Reading(const V8Memory& memory) : before_(std::exchange(bpf::v8_memory_now, &memory)) {}
  ~Reading() { bpf::v8_memory_now = before_; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  const V8Memory* before_;
};

// As V8 counts: CR LF is one end, and two characters beyond eight bits are ends, too.
uint32_t line_ends(std::span<const uint8_t> text, bool wide) {
  const size_t width = wide ? 2 : 1;
  const auto character = [&](size_t at) {
    return wide ? uint32_t{text[at]} | uint32_t{text[at + 1]} << 8U : uint32_t{text[at]};
  };
  uint32_t ends = 0;
  for (size_t at = 0; at + width <= text.size(); at += width) {
    const uint32_t point = character(at);
    const bool is_pair =
        point == '\r' && at + 2 * width <= text.size() && character(at + width) == '\n';
    ends += point == '\n' || (point == '\r' && !is_pair) || point == 0x2028 || point == 0x2029 ? 1U
                                                                                               : 0U;
  }
  return ends;
}

}  // namespace

bool read_v8_function(const V8Memory& memory, uint64_t info, bpf::script_code_record& record) {
  const Reading reading(memory);
  record.language = bpf::language_javascript;
  record.name = record.file = {};
  if (bpf::read_v8_code(&memory.layout(), info, &record) == 0) return false;
  if (record.first_line != 0) return true;
  // Programs count in the first part of a script only.
  const std::optional<uint32_t> start = v8_start(memory, info);
  const std::optional<uint32_t> lines =
      start ? v8_lines_between(memory, info, 0, *start) : std::nullopt;
  const std::optional<uint32_t> before = V8Memory::number(
      memory.field(memory.field(info, bpf::v8_info_script), bpf::v8_script_line_offset));
  if (lines && before) record.first_line = *lines + 1 + *before;
  return true;
}

std::optional<uint32_t> v8_start(const V8Memory& memory, uint64_t info) {
  const Reading reading(memory);
  const uint64_t object = memory.field(info, bpf::v8_info_name);
  bpf::v8_scope scope{};
  if (!memory.is(object, memory.layout().scope_type) || bpf::read_v8_scope(object, &scope) == 0 ||
      scope.has_position == 0)
    return std::nullopt;
  return static_cast<uint32_t>(scope.position);
}

std::optional<uint32_t> v8_lines_between(const V8Memory& memory, uint64_t info, uint32_t from,
                                         uint32_t to) {
  constexpr uint32_t most = 16U << 20U;
  const Reading reading(memory);
  const uint64_t script = memory.field(info, bpf::v8_info_script);
  bpf::v8_text text{};
  if (to < from || to - from > most || !memory.is(script, memory.layout().script_type) ||
      bpf::find_v8_text(memory.field(script, bpf::v8_script_source), &text) != bpf::v8_text_found ||
      to > text.length)
    return std::nullopt;
  std::vector<uint8_t> source(size_t{to - from} << text.wide);
  if (!source.empty() &&
      !memory.read(text.from + (uint64_t{from} << text.wide), source.data(), source.size()))
    return std::nullopt;
  return line_ends(source, text.wide != 0);
}

}  // namespace memflame
