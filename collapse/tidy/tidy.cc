// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/tidy.h"

#include <array>

#include "collapse/tidy/rebuild.h"

namespace memflame {
namespace {

struct Step {
  bool (*wanted)(const TidyOptions& options);
  Profile (*apply)(Profile profile, const TidyOptions& options);
};

const AllocatorList& allocators_of(const TidyOptions& options) {
  return options.allocator_list.empty() ? builtin_allocators() : options.allocator_list;
}

// A step that runs if it has patterns.
template <std::vector<Pattern> TidyOptions::*patterns,
          Profile (*apply)(Profile, const std::vector<Pattern>&)>
constexpr Step by_patterns{
    [](const TidyOptions& o) { return !(o.*patterns).empty(); },
    [](Profile p, const TidyOptions& o) { return apply(std::move(p), o.*patterns); }};

// Names are demangled before any step looks at them, and shortened when all patterns have been
// used.
constexpr std::array tidy_steps{
    Step{[](const TidyOptions& o) { return o.demangle; },
         [](Profile p, const TidyOptions&) { return demangle_names(std::move(p)); }},
    by_patterns<&TidyOptions::include, keep_matching>,
    by_patterns<&TidyOptions::exclude, drop_matching>,
    by_patterns<&TidyOptions::show_from, show_from>,
    by_patterns<&TidyOptions::skip_after, skip_after>,
    by_patterns<&TidyOptions::prune, prune>,
    by_patterns<&TidyOptions::prune_from, prune_from>,
    by_patterns<&TidyOptions::hide, hide_frames>,
    by_patterns<&TidyOptions::show, show_frames>,
    Step{[](const TidyOptions& o) { return o.no_kernel; },
         [](Profile p, const TidyOptions&) { return hide_kernel(std::move(p)); }},
    Step{[](const TidyOptions& o) { return o.only_kernel; },
         [](Profile p, const TidyOptions&) { return show_kernel(std::move(p)); }},
    Step{[](const TidyOptions& o) { return o.hide_runtime; },
         [](Profile p, const TidyOptions&) { return hide_runtime(std::move(p)); }},
    Step{[](const TidyOptions& o) { return o.by_type; },
         [](Profile p, const TidyOptions& o) {
           return group_by_type(std::move(p), allocators_of(o), o.shorten, o.reversed);
         }},
    Step{[](const TidyOptions& o) { return o.allocators != Allocators::keep; },
         [](Profile p, const TidyOptions& o) {
           return tidy_allocators(std::move(p), o.allocators, allocators_of(o));
         }},
    Step{[](const TidyOptions& o) { return !o.rename.empty(); },
         [](Profile p, const TidyOptions& o) { return rename_frames(std::move(p), o.rename); }},
    Step{[](const TidyOptions& o) { return o.shorten.any(); },
         [](Profile p, const TidyOptions& o) { return shorten_names(std::move(p), o.shorten); }},
    Step{[](const TidyOptions& o) { return o.blames_module; },
         [](Profile p, const TidyOptions& o) {
           return blame_caller(std::move(p), allocators_of(o));
         }},
    Step{
        [](const TidyOptions& o) { return o.modules != ModuleFrames::none; },
        [](Profile p, const TidyOptions& o) { return modules_as_frames(std::move(p), o.modules); }},
    Step{[](const TidyOptions& o) { return o.recursion != Recursion::keep; },
         [](Profile p, const TidyOptions& o) {
           return collapse_recursion(std::move(p), o.recursion);
         }},
    Step{[](const TidyOptions& o) { return o.top != 0; },
         [](Profile p, const TidyOptions& o) { return top_stacks(std::move(p), o.top, o.lines); }},
};

}  // namespace

Profile tidy(Profile profile, const TidyOptions& options) {
  bool changed = false;
  for (const Step& step : tidy_steps) {
    if (!step.wanted(options)) continue;
    profile = step.apply(std::move(profile), options);
    changed = true;
  }
  return changed ? compacted(profile) : std::move(profile);
}

}  // namespace memflame
