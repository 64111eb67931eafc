// SPDX-License-Identifier: BSD-2-Clause
// Tidying: removes stacks and frames from a profile, and changes frames' names. All of it is
// optional; each step takes a profile and returns one, in time linear in its stacks and in the
// length of its names. Column sums stay as they are, except in the steps that drop stacks, which
// say so in a note. Each option with examples: docs/tidying.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collapse/tidy/names.h"
#include "collapse/tidy/pattern.h"
#include "core/allocator_list.h"
#include "core/profile.h"

namespace memflame {

enum class Recursion : uint8_t {
  keep,
  direct,  // f;f;f -> f
  cycles,  // f;g;f;h -> f;h: each function once, as its first call
};

enum class Allocators : uint8_t {
  keep,
  hide,   // main;parse;operator new;malloc -> main;parse
  merge,  // … -> main;parse;[allocator]
};

struct TidyOptions {
  bool demangle = false;

  // Keep or drop whole stacks that have a matching frame. A note tells what is dropped.
  std::vector<Pattern> include, exclude;
  // Cut callers: the first match from the root becomes the root (stacks without one are dropped),
  // or the last match does (stacks without one stay).
  std::vector<Pattern> show_from, skip_after;
  // Cut callees and give their values to the match: the first from the root, or the last.
  std::vector<Pattern> prune, prune_from;
  // hide: remove matching frames; their callees go to their callers. show: remove all others, and
  // drop stacks without a match.
  std::vector<Pattern> hide, show;
  bool no_kernel = false, only_kernel = false;
  bool hide_runtime = false;  // main;f (a.py:1);loop;call;g (a.py:2) -> main;f …;[native];g …

  // A frame for the type of what was allocated, at the root; `reversed`: at the end, since stacks
  // are turned around later.
  bool by_type = false, reversed = false;

  Allocators allocators = Allocators::keep;
  AllocatorList allocator_list;  // empty: use allocators.txt

  std::vector<Renaming> rename;  // in this order, each applied to the result of the one before
  Shortening shorten;

  ModuleFrames modules = ModuleFrames::none;
  bool blames_module = false;  // memory is that of the module that called the allocator
  Recursion recursion = Recursion::keep;
  size_t top = 0;      // keep the N largest stacks; 0 = all
  bool lines = false;  // for `top`, stacks that differ only in source lines are different stacks

  // Frames stand for something else than functions.
  bool groups() const { return by_type || modules != ModuleFrames::none; }
};

// Runs the steps that are asked for, in the order of the fields above.
Profile tidy(Profile profile, const TidyOptions& options);

Profile demangle_names(Profile profile);

Profile keep_matching(Profile profile, const std::vector<Pattern>& patterns);
Profile drop_matching(Profile profile, const std::vector<Pattern>& patterns);

Profile show_from(Profile profile, const std::vector<Pattern>& patterns);
Profile skip_after(Profile profile, const std::vector<Pattern>& patterns);
Profile prune(Profile profile, const std::vector<Pattern>& patterns);
Profile prune_from(Profile profile, const std::vector<Pattern>& patterns);

// A stack without any frame left becomes "[hidden]".
Profile hide_frames(Profile profile, const std::vector<Pattern>& patterns);
Profile show_frames(Profile profile, const std::vector<Pattern>& patterns);
Profile hide_kernel(Profile profile);
Profile show_kernel(Profile profile);

// Native functions between two functions of interpreted languages become one frame,
// [native].
Profile hide_runtime(Profile profile);

// A stack's group is the type that the names of the allocator's and the standard libraries'
// functions at its end tell, else "[in f]", the function that called the allocator. Stacks without
// code stay as they are. Throws Error if deep stacks would take too much memory.
Profile group_by_type(Profile profile, const AllocatorList& allocators, const Shortening& shorten,
                      bool at_end);

// Hides or merges the run of allocator frames at the end of each stack. A stack of nothing else
// becomes "[allocator]".
Profile tidy_allocators(Profile profile, Allocators what, const AllocatorList& list);

// The same as hiding them, for figures of memory only, and with a note.
Profile blame_caller(Profile profile, const AllocatorList& list);

Profile rename_frames(Profile profile, const std::vector<Renaming>& renamings);
Profile shorten_names(Profile profile, const Shortening& what);

Profile modules_as_frames(Profile profile, ModuleFrames how);

Profile collapse_recursion(Profile profile, Recursion what);

// Keeps the stacks with the largest shown values, by size, not sign; among equals those that came
// first. The others become one, "[other stacks: 1,234]".
Profile top_stacks(Profile profile, size_t count, bool lines = false);

}  // namespace memflame
