// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/python/memray_frame.h"

#include <array>
#include <utility>

namespace memflame {

Frame memray_frame(StringId function, StringId file, int64_t line, const ReadOptions& options) {
  const bool known = options.lines && line > 0 && line <= INT32_MAX;
  return {.function = function,
          .module = file,
          .file = options.lines ? file : StringId{},
          .line = known ? static_cast<uint32_t>(line) : 0};
}

std::string without_html(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 7> entities{{{"&amp;", '&'},
                                                                       {"&lt;", '<'},
                                                                       {"&gt;", '>'},
                                                                       {"&quot;", '"'},
                                                                       {"&#34;", '"'},
                                                                       {"&#39;", '\''},
                                                                       {"&#x27;", '\''}}};
  std::string result;
  while (!text.empty()) {
    char next = text.front();
    size_t length = 1;
    for (const auto& [entity, character] : entities)
      if (text.starts_with(entity)) {
        next = character;
        length = entity.size();
      }
    result += next;
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace memflame
