// SPDX-License-Identifier: BSD-2-Clause
// The memory of a process with V8, its layout, and the words of frames in it.
#include <cstdlib>
#include <vector>

#include "probes/bpf/shared.h"
#include "probes/languages/scripts/scripts.h"
#include "tests/fuzz/made_memory.h"
#include "tests/probes/languages/python_memory.h"

namespace memflame::bpf {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
#define SCRIPT_FUNCTION static inline
#define SCRIPT_LOOP(turns, function, context) \
  for (u32 turn = 0; turn < u32{turns} && !function(turn, context); ++turn)
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/languages/v8/frames.bpf.h"

}  // namespace memflame::bpf

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t most_frames = 8;
  std::span<const uint8_t> input(data, size);
  const auto choice = take_made<uint8_t>(input);
  auto layout = take_made<bpf::v8_layout>(input);
  struct Frame {
    uint64_t pc;
    uint64_t words[bpf::v8_frame_words];
  };
  Frame frames[most_frames];
  for (Frame& frame : frames) frame = take_made<Frame>(input);
  const MadeMemory made{.bytes = input, .everywhere = (choice & made_everywhere) != 0};
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) {
    return made.read(to, bytes, address);
  };
  // As in BPF programs, what was read of other stacks is still there.
  static bpf::script_memos memos;
  static bpf::script_code_record record;
  ++memos.stack;
  bpf::v8_last_script last{};
  Scripts scripts;
  for (const Frame& frame : frames) {
    uint64_t memory[bpf::v8_memory_words] = {};
    std::memcpy(memory + bpf::v8_memory_offset, frame.words, sizeof(frame.words));
    uint64_t info = 0, key = 0;
    bpf::v8_site site{};
    const uint64_t pc = (choice & 1U) != 0 ? frame.pc : 0;
    const bpf::v8_frame found =
        bpf::read_v8_frame(&layout, pc, 0, memory, &last, &memos, &info, &key, &site);
    // Few inputs have frames with functions, so functions are also read where there is none.
    const bool is_function = found == bpf::v8_function_frame;
    if (is_function && bpf::script_language(key) != bpf::language_javascript) std::abort();
    if (!is_function) info = frame.words[bpf::v8_memory_frame - bpf::v8_memory_offset];
    const int is_read = bpf::read_v8_code(&layout, info, &record);
    if (is_read == 0) continue;
    if (record.name.bytes > bpf::max_script_name || record.file.bytes > bpf::max_script_file)
      std::abort();
    record.language = bpf::language_javascript;
    record.code = is_function ? key : bpf::v8_key(0, 1, info);
    scripts.take(record, sizeof(record));
    std::vector<Pc> places;
    scripts.place({}, record.code, places);
    if (scripts.all().at(script_index(places.at(0))).function.empty()) std::abort();
  }
  return 0;
}
