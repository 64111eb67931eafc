// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for tidying: the first line chooses the steps and is a pattern, the rest is folded
// text. Sums stay unless stacks are dropped, and a second run changes nothing.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "collapse/input.h"
#include "collapse/tidy/allocated_type.h"
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/error.h"

namespace memflame {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "tidy_fuzz: " << what << "\n";
  std::abort();
}

// One bit each.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  bool next() {
    const size_t at = at_++;
    if (at / 8 >= bytes_.size()) return false;
    return ((static_cast<uint8_t>(bytes_[at / 8]) >> (at % 8)) & 1U) != 0;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

constexpr size_t choice_bytes = 4;

TidyOptions options_of(std::string_view bytes, std::string_view pattern) {
  Choices choices(bytes);
  TidyOptions options;
  Shortening& s = options.shorten;
  for (bool* choice : {&options.demangle, &options.no_kernel, &s.templates, &s.arguments,
                       &s.namespaces, &s.java, &s.packages, &s.go, &s.rust})
    *choice = choices.next();
  options.allocators = choices.next()   ? Allocators::hide
                       : choices.next() ? Allocators::merge
                                        : Allocators::keep;
  options.recursion = choices.next()   ? Recursion::direct
                      : choices.next() ? Recursion::cycles
                                       : Recursion::keep;
  options.modules = choices.next() ? ModuleFrames::only : ModuleFrames::none;
  options.blames_module = options.modules == ModuleFrames::only && choices.next();
  options.top = choices.next() ? 3 : 0;
  if (choices.next()) options.rename.emplace_back(pattern);
  for (std::vector<Pattern> TidyOptions::*list :
       {&TidyOptions::include, &TidyOptions::exclude, &TidyOptions::show_from,
        &TidyOptions::skip_after, &TidyOptions::prune, &TidyOptions::prune_from, &TidyOptions::hide,
        &TidyOptions::show})
    if (choices.next()) (options.*list).emplace_back("--option", pattern);
  if (choices.next()) options.allocator_list.add(pattern, "list");
  options.by_type = choices.next();
  options.reversed = choices.next();
  return options;
}

bool drops(const TidyOptions& options) {
  return !options.include.empty() || !options.exclude.empty() || !options.show_from.empty() ||
         !options.show.empty();
}

void check_callers(const Profile& profile) {
  for (uint32_t i = 1; i < profile.stacks.size(); ++i)
    require(profile.stacks[StackId{i}].caller.index < i, "a caller behind its callee");
}

void check(const Profile& before, const TidyOptions& options) {
  const Profile after = tidy(before, options);
  check_callers(after);
  if (!drops(options)) {
    require(after.total(0) == before.total(0), "the sum has changed");
    require(after.touched().empty() == before.touched().empty(), "stacks have gone");
  }
  if (options.recursion == Recursion::keep) return;
  const Profile again = collapse_recursion(after, options.recursion);
  if (options.top == 0)
    require(compacted(again).stacks.size() == after.stacks.size(), "recursion was left");
}

void check_name(std::string_view name, const Shortening& what) {
  require(allocated_type(name).type.size() <= 3 * name.size() + 32, "a type has grown");
  const std::string out = shorten(name, what);
  // "<x>" becomes "<…>", which has two bytes more.
  require(out.size() <= name.size() + 2 * (name.size() / 3), "a name has grown");
  require(name.empty() || !out.empty(), "a name has gone");
  if (!what.templates) return;
  require(shorten_templates(shorten_templates(name)) == shorten_templates(name),
          "templates are not shortened at once");
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  if (size < choice_bytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view text = bytes.substr(choice_bytes);
  const std::string_view pattern = text.substr(0, text.find('\n'));
  try {
    const TidyOptions options = options_of(bytes.substr(0, choice_bytes), pattern);
    check_name(pattern, options.shorten);
    if (pattern.size() == text.size()) return 0;
    Source source = Source::of_memory(std::string(text.substr(pattern.size() + 1)));
    check(read_folded(source, {}), options);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
