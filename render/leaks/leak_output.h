// SPDX-License-Identifier: BSD-2-Clause
// The forms that a LeakCheck can be written in. A new one is a file here and a line in
// leak_outputs.def.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "core/leak_check.h"

namespace memflame {

// The names in these checks are clean: see cleaned().
#define OUTPUT(name, suffix, help) \
  void write_leaks_##name(std::ostream& out, const LeakCheck& check);
#include "render/leaks/leak_outputs.def"
#undef OUTPUT

// For people: what failed, at most `most` stacks of it, and what was passed over, and why.
void write_leaks_text(std::ostream& out, const LeakCheck& check, size_t most);

struct LeakOutput {
  std::string_view name, suffix, help;
  void (*write)(std::ostream& out, const LeakCheck& check);
};
std::span<const LeakOutput> leak_outputs();

// By the suffix of the path. Throws Error (usage) that lists the suffixes.
const LeakOutput& leak_output_for(std::string_view path);

// The same with names that every output may hold (render/text/clean_text.h).
LeakCheck cleaned(LeakCheck check);

// Stacks that reports list: not those that pass and hold nothing.
bool is_listed(const LeakCase& each);
// "29.3 KiB in 10 blocks"
std::string amount_in_words(int64_t bytes, int64_t blocks);
// "malloc [libc.so.6]", "main  server.cc:42 [server]": innermost first, without what lies between
// the function that allocated and the code that wanted the memory.
std::vector<std::string> frame_lines(const LeakCase& each);
// To which of its blocks pointers lead, except what the headline says; empty if the run was not
// scanned.
std::vector<std::string> reach_lines(const LeakCase& each);
// What fails, and its amount, in one sentence.
std::string headline(const LeakCase& each);
// If the sum of all leaks fails: why; else "".
std::string sum_in_words(const LeakCheck& check);
// What the run was too short for; "" if there is nothing.
std::string unsure_in_words(const LeakCheck& check);

}  // namespace memflame
