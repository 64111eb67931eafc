// SPDX-License-Identifier: BSD-2-Clause
// Readers of other tools' stacks: bytes in, Profile out. Each format is a file in collapse/inputs/
// and a row in inputs.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/source.h"
#include "core/profile.h"

namespace memflame {

// Which of several states in one file (bcc memleak's intervals, massif's snapshots): each is the
// whole, not an increment.
struct Snapshot {
  enum class Kind : uint8_t {
    standard,    // the last, or the peak where the format marks one
    number,      // the first'th, from 0 as massif counts, or from 1 where the tool has no numbers
    difference,  // second - first
  };
  Kind kind = Kind::standard;
  uint64_t first = 0, second = 0;
};

struct ReadOptions {
  // What the numbers of a text are that does not say it; "count" when not given.
  std::optional<ValueType> type{};
  size_t columns = 0;  // how many numbers end a folded line; 0 = as many as they seem to be
  unsigned threads = 1;
  bool in_order = false;  // keep the order of the input (Profile::keep_order) where it has one

  // Frames at the root of each stack, where the input tells them.
  bool comm = true;  // name of the program
  bool pid = false;  // "name-pid" as the tools write it; with tid "name-pid/tid"
  bool tid = false;

  // Parts of frame names, where the input has them.
  bool addresses = false;  // an address in place of "[unknown]"
  bool offsets = false;    // "main+0x2d" instead of "main"
  bool code = false;       // where in which file it is, for Profile::code: places stay apart
  bool lines = false;      // source file and line; frames of one function then differ by them

  // perf: only these events (all when empty); the field that a stack weighs, "" = the usual one;
  // allocations minus frees.
  std::vector<std::string> events{};
  std::string weight{};
  bool net = false;

  // Addresses: look for names in the files of this machine. Without it nothing is opened that the
  // input names.
  bool symbols = true;

  Snapshot snapshot{};
  bool refuse_truncated = false;  // a last stack that ends in the middle: keep it, or refuse
  // The exact output of FlameGraph's collapsers, with what they lose. Options as they have them.
  bool compat = false;
  bool mark_kernel = false, mark_jit = false;  // --kernel, --jit
  bool mark_inlined = false, context = false;  // --inline, --context
};

// Readers throw Error, with the input's name, when nothing in it can be used, when a number leaves
// 64 bits, and when it is damaged. What they skip they count (Issues). They take any bytes: no
// recursion on depth, nothing quadratic, memory in proportion to the distinct stacks unless the
// format has to be read whole. Frames' names are as the input has them, without what belongs
// to the format; control characters and ';' are the writers' business.
#define INPUT(id, name, help)          \
  bool is_##id(std::string_view head); \
  Profile read_##id(Source& source, const ReadOptions& options);
#include "collapse/inputs/inputs.def"
#undef INPUT

struct Input {
  std::string_view name;  // for --from
  std::string_view help;
  // Whether an input that begins so (Source::head()) is of this format. The first of inputs() to
  // say so reads it.
  bool (*matches)(std::string_view head);
  Profile (*read)(Source& source, const ReadOptions& options);
};

std::span<const Input> inputs();

// `from` names the format, or a family of formats (format_names.h); "" finds it out. Throws Error
// when that fails, with what the input is where that is known.
const Input& input_for(const Source& source, std::string_view from);

// What an input that begins so seems to be, completing "it looks like …"; "" when nothing tells.
std::string likely_format(std::string_view head);

// Reads it and refuses what has lost all its stacks, or has a sum that leaves 64 bits.
Profile read_as(const Input& input, Source& source, const ReadOptions& options);
Profile read_profile(Source& source, std::string_view from, const ReadOptions& options);

}  // namespace memflame
