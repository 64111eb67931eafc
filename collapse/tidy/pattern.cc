// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/pattern.h"

#include "core/error.h"
#include "core/re2_text.h"

namespace memflame {
namespace {

std::shared_ptr<const re2::RE2> compile(std::string_view option, std::string_view text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_shared<const re2::RE2>(re2_text(text), options);
  if (!made->ok())
    throw Error(std::string(option) + ": '" + std::string(text) +
                    "' is not a regular expression: " + made->error(),
                ExitCode::usage);
  return made;
}

bool is_delimiter(char c) {
  constexpr std::string_view delimiters = "/|#!,@%:~";
  return delimiters.find(c) != std::string_view::npos;
}

struct Parts {
  std::string_view expression, text;
  bool everywhere = false;
};

[[noreturn]] void not_understood(std::string_view text) {
  throw Error("--rename takes RE=TEXT or s/RE/TEXT/, not '" + std::string(text) + "'",
              ExitCode::usage);
}

Parts parts_of(std::string_view whole) {
  if (whole.size() > 3 && whole[0] == 's' && is_delimiter(whole[1])) {
    Parts parts;
    std::string_view rest = whole.substr(2);
    const char delimiter = whole[1];
    parts.everywhere = rest.ends_with('g') && rest.size() > 1 && rest[rest.size() - 2] == delimiter;
    if (parts.everywhere) rest.remove_suffix(1);
    const size_t middle = rest.find(delimiter);
    if (middle == std::string_view::npos || middle == 0 ||
        rest.find(delimiter, middle + 1) != rest.size() - 1)
      not_understood(whole);
    parts.expression = rest.substr(0, middle);
    parts.text = rest.substr(middle + 1, rest.size() - middle - 2);
    return parts;
  }
  const size_t equals = whole.find('=');
  if (equals == std::string_view::npos || equals == 0) not_understood(whole);
  return {whole.substr(0, equals), whole.substr(equals + 1)};
}

}  // namespace

Pattern::Pattern(std::string_view option, std::string_view text) : option_(option) {
  constexpr std::string_view prefix = "module:";
  module_ = text.starts_with(prefix);
  expression_ = compile(option, module_ ? text.substr(prefix.size()) : text);
}

bool Pattern::matches(const Profile& profile, const Frame& frame) const {
  const std::string_view text = profile.strings[module_ ? frame.module : frame.function];
  return re2::RE2::PartialMatch(re2_text(text), *expression_);
}

std::vector<bool> matching(const Profile& profile, const std::vector<Pattern>& patterns) {
  std::vector<bool> result(profile.frames.size(), false);
  for (uint32_t i = 1; i < result.size(); ++i)
    for (const Pattern& pattern : patterns)
      if (pattern.matches(profile, profile.frames[FrameId{i}])) {
        result[i] = true;
        break;
      }
  return result;
}

Renaming::Renaming(std::string_view text) {
  const Parts parts = parts_of(text);
  everywhere_ = parts.everywhere;
  text_ = parts.text;
  expression_ = compile("--rename", parts.expression);
  std::string error;
  if (!expression_->CheckRewriteString(text_, &error))
    throw Error("--rename: '" + text_ + "': " + error, ExitCode::usage);
}

std::string Renaming::apply(const std::string& name) const {
  std::string renamed = name;
  if (everywhere_)
    re2::RE2::GlobalReplace(&renamed, *expression_, text_);
  else
    re2::RE2::Replace(&renamed, *expression_, text_);
  return renamed.empty() ? name : renamed;
}

}  // namespace memflame
