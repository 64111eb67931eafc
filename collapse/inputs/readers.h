// SPDX-License-Identifier: BSD-2-Clause
// What the readers of other tools' stacks are told and promise: bytes in, Profile out. Each format
// is a file in a folder beside this one, and a row in inputs.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/history/views.h"
#include "collapse/select/query.h"
#include "collapse/source/source.h"
#include "core/profile.h"

namespace memflame {

// Which of several states in one file (bcc memleak's intervals, massif's snapshots); each is
// complete, not an increment.
struct WhichSnapshot {
  enum class Kind : uint8_t {
    standard,    // the last, or the peak if the format marks one
    number,      // number `first`, from 0 as massif counts, or from 1 if the tool has no numbers
    difference,  // second - first
  };
  Kind kind = Kind::standard;
  uint64_t first = 0, second = 0;
};

inline constexpr size_t default_max_frames = 1'000'000;

struct ReadOptions {
  // What the numbers of a text are if it does not say; "count" by default.
  std::optional<ValueType> type{};
  size_t columns = 0;  // how many numbers end a folded line; 0 = detect
  unsigned threads = 1;
  // What an input with this beginning seems to be; "" if unknown. Null: not to be asked.
  std::string (*likely)(std::string_view head) = nullptr;
  bool in_order = false;  // keep the order of the input (Profile::keep_order) if it has one

  // Frames at the root of each stack, if the input has them.
  bool comm = true;  // name of the program
  bool pid = false;  // "name-pid" as the tools write it
  bool tid = false;  // "name-pid/tid", whether or not pid is set

  // Parts of frame names, if the input has them.
  bool addresses = false;  // an address in place of "[unknown]"
  bool offsets = false;    // "main+0x2d" instead of "main"
  bool code = false;       // fill Profile::code with the place of each frame: places stay apart
  bool lines = false;      // source file and line; frames of one function then differ by them

  // perf: only these events (all if empty); the field that weighs a stack, "" = the usual one;
  // allocations minus frees.
  std::vector<std::string> events{};
  std::string weight{};
  bool net = false;

  // Frames of a stack that are kept, from its root. The others become one frame, and are counted.
  size_t max_frames = default_max_frames;

  // Addresses: look for names in the files of this machine. If false, no file that the input names
  // is opened.
  bool symbols = true;

  WhichSnapshot snapshot{};
  HistoryRange history{};         // recordings of memflame: which time
  Query selection{};              // and which blocks, if they have events
  bool verdicts = false;          // and whether to judge their stacks: Profile::marks
  bool refuse_truncated = false;  // a last stack that ends in the middle: refuse it, or keep it
  // The exact output of FlameGraph's collapsers, with their losses. The options have their names.
  bool compat = false;
  bool mark_kernel = false, mark_jit = false;  // --kernel, --jit
  bool mark_inlined = false, context = false;  // --inline, --context
};

// Readers throw Error, with the input's name, if nothing in it can be used, if a number does not
// fit in 64 bits, and if it is damaged. They count what they skip (Issues). They accept any bytes:
// no recursion on depth, nothing quadratic, memory in proportion to the distinct stacks unless the
// format must be read whole. Frames' names are as the input has them, without what belongs to the
// format; the writers handle control characters and ';'.
#define INPUT(id, name, help)          \
  bool is_##id(std::string_view head); \
  Profile read_##id(Source& source, const ReadOptions& options);
#include "collapse/inputs/inputs.def"
#undef INPUT

}  // namespace memflame
