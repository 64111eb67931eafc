// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/options.h"

#include <array>
#include <string>

#include "core/error.h"

namespace memflame {
namespace {

// In the order of KernelKind.
constexpr std::array kernel_kind_words{OptionWord{"slab"}, OptionWord{"pages"},
                                       OptionWord{"percpu"}, OptionWord{"vmalloc"},
                                       OptionWord{"all"}};

}  // namespace

std::vector<OptionRow> KernelOptions::rows(ProbeOptions&) {
  return {{"kind", "WHAT", words_with_notes(kernel_kind_words) + " (default: slab)",
           option::choice(kernel_kind_words, kind_)},
          {"percpu", "", "the same as --kind percpu", option::Switch{&percpu_}},
          {"requested", "", "count requested bytes, not those the allocator allots",
           option::Switch{&requested}}};
}

void KernelOptions::settle(ProbeOptions&) {
  if (!percpu_) return;
  if (kind_ && *kind_ != KernelKind::percpu)
    throw Error("--percpu and --kind " +
                    std::string(kernel_kind_words.at(static_cast<size_t>(*kind_)).name) +
                    " are mutually exclusive",
                ExitCode::usage);
  kind_ = KernelKind::percpu;
}

}  // namespace memflame
