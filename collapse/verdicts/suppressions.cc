// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/suppressions.h"

#include <algorithm>
#include <array>

#include "collapse/verdicts/leak_patterns.h"
#include "core/error.h"

namespace memflame {
namespace {

struct OneTime {
  std::string_view name, what;
};
constexpr OneTime one_time_blocks[] = {
#define ONE_TIME(name, what) {name, what},
#include "collapse/verdicts/one_time.def"
#undef ONE_TIME
};

std::string_view base_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_loader(std::string_view module) { return base_of(module).starts_with("ld-linux"); }

bool is_cpp_runtime(std::string_view module) { return base_of(module).starts_with("libstdc++.so"); }

bool is_runtime(std::string_view module) {
  constexpr std::array<std::string_view, 6> names{"libc.so.",       "libc-2.",   "libm.so.",
                                                  "libpthread.so.", "libdl.so.", "libresolv.so."};
  const std::string_view file = base_of(module);
  return is_loader(module) || is_cpp_runtime(module) ||
         std::any_of(names.begin(), names.end(),
                     [file](std::string_view name) { return file.starts_with(name); });
}

// The C++ library allocates memory for exceptions in a constructor, which only the loader calls. In
// the library its functions have no names.
bool is_emergency_pool(const NamedVerdict& stack) {
  const auto begin = stack.frames.begin() + static_cast<std::ptrdiff_t>(stack.caller);
  if (begin == stack.frames.end()) return false;
  if (begin->function == "_GLOBAL__sub_I_eh_alloc.cc" ||
      begin->function == "(anonymous namespace)::pool::pool()")
    return true;
  return is_cpp_runtime(begin->module) && begin + 1 != stack.frames.end() &&
         std::all_of(begin + 1, stack.frames.end(), [](const LeakFrame& frame) {
           return is_loader(frame.module) || is_cpp_runtime(frame.module);
         });
}

// In a static program nothing but the name tells the libraries' functions from the program's: C and
// C++ reserve names with a leading underscore for them.
bool is_reserved(std::string_view function) { return function.starts_with('_'); }

// Compared are the frames from the one that wanted the memory on, as long as they are in the
// libraries themselves, and for a static program their first caller. Otherwise a constructor that
// the loader calls would be suppressed, too.
std::string_view one_time_of(const NamedVerdict& stack) {
  if (stack.verdict.live_blocks >
      Suppressions::most_one_time_blocks * static_cast<int64_t>(stack.tracks))
    return "";
  if (is_emergency_pool(stack)) return "memory for exceptions";
  bool is_static = true;
  for (size_t i = stack.caller; i < stack.frames.size(); ++i) {
    const LeakFrame& frame = stack.frames[i];
    const bool in_runtime = is_runtime(frame.module);
    is_static &= !in_runtime;
    if (!in_runtime && !is_static) return "";
    for (const auto& [pattern, what] : one_time_blocks)
      if (matches_leak_pattern(pattern, frame.function) ||
          (in_runtime && matches_leak_pattern(pattern, base_of(frame.module))))
        return what;
    if (!in_runtime && !is_reserved(frame.function)) return "";
  }
  return "";
}

}  // namespace

std::string_view one_time_blocks_of(const Profile& profile, StackId stack) {
  return one_time_of(named_stack(profile, stack));
}

void excuse(Verdict& verdict, std::string_view what) {
  if (verdict.kind != VerdictKind::leak || !verdict.ended || what.empty() ||
      verdict.live_blocks > Suppressions::most_one_time_blocks)
    return;
  verdict.kind = VerdictKind::kept;
  verdict.one_time_blocks = what;
  verdict.is_steady = false;
  verdict.rate = verdict.live_growth;
}

void Suppressions::add_file(const std::string& name, std::string_view text) {
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string place = name + ":" + std::to_string(++number);
    std::string_view pattern;
    switch (read_leak_line(line, pattern)) {
      case LeakLine::empty:
        continue;
      case LeakLine::other:
        throw Error(place + ": expected leak:PATTERN, an empty line or a comment (#)");
      case LeakLine::pattern:
        break;
    }
    if (pattern.size() > max_length || lines_.size() >= max_patterns)
      throw Error(place + ": at most " + std::to_string(max_patterns) + " patterns of " +
                  std::to_string(max_length) + " letters are taken");
    Line& added = lines_.emplace_back();
    added.pattern = pattern;
    added.use = {.pattern = "leak:" + added.pattern, .origin = place};
  }
}

size_t Suppressions::line_for(const std::string& text) {
  if (text.empty()) return none;
  const auto [found, is_new] = known_.try_emplace(text, none);
  if (is_new)
    for (size_t i = 0; i < lines_.size() && found->second == none; ++i)
      if (matches_leak_pattern(lines_[i].pattern, text)) found->second = i;
  return found->second;
}

SuppressionUse* Suppressions::use_for(const NamedVerdict& stack) {
  for (const LeakFrame& frame : stack.frames)
    for (const std::string* text : {&frame.function, &frame.module, &frame.file})
      if (const size_t line = line_for(*text); line != none) return &lines_[line].use;
  if (!has_one_time_) return nullptr;
  const std::string_view what = one_time_of(stack);
  if (what.empty()) return nullptr;
  const auto known =
      std::find_if(one_time_.begin(), one_time_.end(),
                   [what](const SuppressionUse& use) { return use.pattern == what; });
  if (known != one_time_.end()) return &*known;
  return &one_time_.emplace_back(SuppressionUse{.pattern = std::string(what), .origin = ""});
}

std::optional<std::string> Suppressions::match(const NamedVerdict& stack) {
  SuppressionUse* use = use_for(stack);
  if (use == nullptr) return std::nullopt;
  ++use->stacks;
  use->bytes += stack.verdict.live_bytes;
  use->blocks += stack.verdict.live_blocks;
  if (use->origin.empty()) return "one-time blocks of a library: " + use->pattern;
  return use->pattern + " (" + use->origin + ")";
}

std::vector<SuppressionUse> Suppressions::uses() const {
  std::vector<SuppressionUse> all;
  for (const Line& line : lines_) all.push_back(line.use);
  all.insert(all.end(), one_time_.begin(), one_time_.end());
  return all;
}

}  // namespace memflame
