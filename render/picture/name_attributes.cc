// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/name_attributes.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

std::string_view next_part(std::string_view& rest, char end) {
  const std::string_view part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

// Browsers drop blanks and control characters before they look at the scheme, so the text must not
// contain any.
bool is_web_address(std::string_view text) {
  const bool web = text.starts_with("https://") || text.starts_with("http://");
  return web && std::all_of(text.begin(), text.end(),
                            [](char c) { return static_cast<unsigned char>(c) > ' '; });
}

bool is_target(std::string_view text) {
  constexpr std::array<std::string_view, 4> known{"_blank", "_self", "_top", "_parent"};
  return std::find(known.begin(), known.end(), text) != known.end();
}

bool take(NameAttributes& into, std::string_view key, std::string_view value) {
  uint64_t replaced = 0;
  const std::string text = clean_text(value, replaced);
  if (key == "title") into.title = text;
  if (key == "href" && is_web_address(value)) into.href = text;
  if (key == "target" && is_target(text)) into.target = text;
  return key == "title" || (key == "href" && !into.href.empty()) ||
         (key == "target" && !into.target.empty());
}

}  // namespace

ReadAttributes read_name_attributes(std::string_view text, const std::string& origin) {
  ReadAttributes out;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = next_part(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    NameAttributes& attributes = out.by_name[std::string(next_part(line, '\t'))];
    while (!line.empty()) {
      const std::string_view part = next_part(line, '\t');
      const size_t equals = part.find('=');
      if (equals == std::string_view::npos)
        throw Error(
            origin + ": line " + std::to_string(number) + " needs attribute=value behind each TAB",
            ExitCode::usage);
      if (!take(attributes, part.substr(0, equals), part.substr(equals + 1))) ++out.ignored;
    }
  }
  return out;
}

}  // namespace memflame
