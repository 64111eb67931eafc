// SPDX-License-Identifier: BSD-2-Clause
#include "probes/options/common_options.h"

#include <array>
#include <utility>

#include "core/languages.h"

namespace memflame {
namespace {

// In the order of enum Stacks.
constexpr std::array stacks_words{OptionWord{"dwarf", "unwind tables; default"},
                                  OptionWord{"fp", "frame pointers"},
                                  OptionWord{"copy", "walked in user space: slow"}};

// In the order of false and true.
constexpr std::array languages_words{OptionWord{"off", "native code only"},
                                     OptionWord{"auto", "all that are read; default"}};

}  // namespace

OptionRow every_row(uint32_t& into, OptionGroup group, std::string help) {
  return {"every", "N", std::move(help), option::Number{&into, 1, most_every}, group};
}

OptionRow kernel_stacks_row(ProbeOptions& options) {
  return {"kernel-stacks", "", "also take kernel frames, above the user's",
          option::Switch{&options.kernel_stacks}};
}

std::vector<OptionRow> stack_rows(ProbeOptions& options) {
  return {
      {"stacks", "HOW", "how stacks are taken: " + words_with_notes(stacks_words),
       option::choice(stacks_words, options.stacks)},
      {"languages", "WHICH",
       "functions in stacks, also of " + versions_that_are_read() + ": " +
           words_with_notes(languages_words),
       option::Choice{languages_words,
                      [&options](size_t place) { options.languages = place != 0; }}},
      {"max-depth", "N", "most frames of a stack, up to 1023 (default: 512)",
       option::Number{&options.max_depth, 1, 1023}},
      {"max-table", "MIB", "most kernel memory for unwind tables, in MiB (default: 256)",
       option::Number{&options.max_table_mib, 1, 16384}},
      {"copy-kib", "KIB",
       "how much of a stack to copy if it must be copied, at most 64 KiB (default: 64)",
       option::Number{&options.copy_kib, 1, 64}},
  };
}

std::vector<OptionRow> block_rows(ProbeOptions& options) {
  return {
      {"min-size", "BYTES", "leave out blocks smaller than BYTES (K, M, G)",
       option::Bytes{&options.min_size}, OptionGroup::blocks},
      {"max-size", "BYTES", "leave out blocks larger than BYTES", option::Bytes{&options.max_size},
       OptionGroup::blocks},
      {"max-live", "N", "follow at most N blocks at once (default: by the machine's memory)",
       option::Number{&options.max_live, 1}, OptionGroup::blocks},
  };
}

}  // namespace memflame
