// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/settings/options.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "probes/alloc/custom/custom.h"
#include "probes/alloc/settings/rate.h"
#include "probes/options/common_options.h"
#include "probes/run/waste.h"

namespace memflame {
namespace {

// In the order of AllocOptions::Children.
constexpr std::array children_words{
    OptionWord{"follow",
               "probe only the watched processes, a child some ms after its start (default with "
               "-p and --comm)"},
    OptionWord{"exact",
               "from its first instruction, which slows down all processes that use the same "
               "libraries (default with COMMAND)"},
    OptionWord{"none", "as --no-children"}};

// In the order of AllocOptions::usable_size: false, then true.
constexpr std::array size_words{OptionWord{"requested", "default"},
                                OptionWord{"usable", "what the allocator really allots"}};

// In the order of Collect.
constexpr std::array collect_words{
    OptionWord{"auto",
               "inside for COMMAND, and if memflame has no rights for the kernel's probes; else, "
               "and where the other options need it, kernel; default"},
    OptionWord{"kernel", "probes on the allocator"},
    OptionWord{
        "inside",
        "an agent in COMMAND, or in processes that run, and in their children, which needs no "
        "rights but to trace those processes"},
    OptionWord{"go",
               "the runtime of one Go program (-p), which samples its heap for itself; default "
               "for such a process"}};

std::string children_help() {
  std::string text;
  for (const OptionWord& word : children_words)
    text += (text.empty() ? "" : "; ") + std::string(word.name) + ": " + std::string(word.note);
  return text;
}

std::string size_help() {
  const auto& [requested, usable] = size_words;
  return std::string(requested.name) + " (" + std::string(requested.note) + "), or " +
         std::string(usable.name) + ": " + std::string(usable.note);
}

std::string preset_help() {
  std::string names;
  for (const std::string& name : preset_names()) names += (names.empty() ? "" : ", ") + name;
  return "functions of a library: " + names + ", or FILE.json";
}

}  // namespace

std::vector<OptionRow> AllocOptions::rows(ProbeOptions& common) {
  constexpr OptionGroup blocks = OptionGroup::blocks;
  return {
      {"children", "HOW", children_help(), option::choice(children_words, children_),
       OptionGroup::target},
      {"collect", "WHO", "who records: " + words_with_notes(collect_words),
       option::choice(collect_words, collect_)},
      {"inside", "", "as --collect inside", option::Switch{&inside_}},
      {"max-wait", "MS",
       "with --inside: let the threads of a process wait for memflame for MS milliseconds in each "
       "second, then lose allocations (default: wait, and lose nothing)",
       option::Number{&common.max_wait_ms, 1, 1'000'000}},
      {"python-heap", "",
       "with --inside: also count the small blocks of Python's own allocator (3.11 to 3.15), which "
       "never reach malloc, under the Python functions that allocate them",
       option::Switch{&common.python_heap}},
      {"sample", "BYTES",
       "sample one block per BYTES allocated, on average; figures are then estimates",
       option::Bytes{&sample_bytes, 1, largest_sample_bytes}, blocks},
      every_row(every, blocks, "sample one block in N, at random"),
      {"max-overhead", "PERCENT",
       "sample so that memflame costs the target at most PERCENT of its CPU time",
       option::Percent{&max_overhead}, blocks},
      {"size", "WHAT", size_help(), option::choice(size_words, usable_size), blocks},
      {"check", "",
       "report blocks freed twice, never allocated, or by the wrong function; exit with 5 if "
       "there are any",
       option::Switch{&check}, blocks},
      {"alloc", "SPEC", "declare a function that allocates: 'FILE:FUNCTION(size=arg0,ptr=ret)'",
       option::Texts{&alloc_specs}, blocks},
      {"free", "SPEC", "declare a function that frees: 'FILE:FUNCTION(ptr=arg0)'",
       option::Texts{&free_specs}, blocks},
      {"preset", "NAME", preset_help(), option::Texts{&presets, preset_names()}, blocks},
      {"obj", "FILE", "probe only the allocator in FILE (path, name or glob)",
       option::Text{&object}, blocks},
      {"symbols-prefix", "PREFIX", "also probe functions named PREFIXmalloc, PREFIXfree, …",
       option::Text{&symbols_prefix}, blocks},
  };
}

void AllocOptions::settle_children(ProbeOptions& common) {
  Target& target = common.target;
  if (children_ && *children_ != Children::none && !target.follow_children)
    throw Error("--no-children and --children " +
                    std::string(children_words.at(static_cast<size_t>(*children_)).name) +
                    " are mutually exclusive",
                ExitCode::usage);
  // A child runs for a moment before its probes come, so its correct frees would look wrong.
  if (check && children_ == Children::follow)
    throw Error("--check must see everything a child does: use --children exact or none",
                ExitCode::usage);
  if (children_ == Children::none) target.follow_children = false;
  const bool exact =
      children_ == Children::exact || (!children_ && (check || !target.command.empty()));
  common.own_links = !(exact && target.follow_children);
}

void AllocOptions::settle_collector(ProbeOptions& common) const {
  if (inside_ && collect_ && *collect_ != Collect::inside)
    throw Error("--inside and --collect " +
                    std::string(collect_words.at(static_cast<size_t>(*collect_)).name) +
                    " are mutually exclusive",
                ExitCode::usage);
  common.collect = inside_ ? Collect::inside : collect_.value_or(Collect::by_rights);
  if (common.max_wait_ms != 0 && common.collect != Collect::inside)
    throw Error("--max-wait is for --inside: the kernel's probes never wait for memflame",
                ExitCode::usage);
  if (common.python_heap && common.collect != Collect::inside)
    throw Error(
        "--python-heap needs the agent in the program, as the kernel's probes would slow Python "
        "down by hundreds of times: add --inside",
        ExitCode::usage);
}

std::string AllocOptions::only_in_kernel() const {
  const std::pair<bool, const char*> options[] = {
      {check, "--check"},
      {!alloc_specs.empty(), "--alloc"},
      {!free_specs.empty(), "--free"},
      {!presets.empty(), "--preset"},
      {!object.empty(), "--obj"},
      {!symbols_prefix.empty(), "--symbols-prefix"},
      {every != 0, "--every"},
      {usable_size, "--size usable"},
      {children_ == Children::exact, "--children exact"},
  };
  for (const auto& [given, name] : options)
    if (given) return name;
  return "";
}

void AllocOptions::settle(ProbeOptions& common) {
  settle_collector(common);
  settle_children(common);
  if (int{sample_bytes != 0} + int{every != 0} + int{max_overhead > 0} > 1)
    throw Error("--sample, --every and --max-overhead are mutually exclusive", ExitCode::usage);
  // A free of a block that was not sampled is not a wrong free.
  const bool all = !is_sampled(*this) && common.min_size == 0 && common.max_size == UINT64_MAX;
  if (check && !all)
    throw Error(
        "--check must see every block: leave out --sample, --every, --max-overhead, --min-size "
        "and --max-size",
        ExitCode::usage);
  common.waste = shows_waste(common.value);
  common.first_touch = shows_first_touch(common.value);
  if (common.waste && !all)
    throw Error("--value " + common.value +
                    " must know every block: leave out --sample, --every, --max-overhead, "
                    "--min-size and --max-size",
                ExitCode::usage);
  if (common.value == "pinning" && common.target.command.empty())
    throw Error(
        "--value pinning must know all blocks of a heap, also those from before: let "
        "memflame start the program (-- COMMAND)",
        ExitCode::usage);
  if (common.waste && usable_size)
    throw Error(
        "--value " + common.value + " needs the sizes that were asked for: leave out --size",
        ExitCode::usage);
}

std::string AllocOptions::sampling_in_words() const { return memflame::sampling_in_words(*this); }

std::vector<std::string> AllocOptions::filters_in_words() const {
  if (object.empty()) return {};
  return {"filtered: only the allocator in " + object + " (--obj)"};
}

}  // namespace memflame
