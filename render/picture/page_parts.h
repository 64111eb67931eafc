// SPDX-License-Identifier: BSD-2-Clause
// What pages consist of. Foreign text is always escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/picture/caption.h"
#include "render/picture/legend.h"

namespace memflame {

// Names of assets (render/picture/assets.h), and the class of the body.
struct PageAssets {
  std::string script, style, body;
  bool fetches = false;  // from the server that the page comes from
};

// Everything up to "<body>": the policy that allows the page its own script and style only, the
// title, and the style.
std::string page_begin(std::string_view title, const PageAssets& assets);

// `begin` and `end` are HTML, `text` is any text.
void append_element(std::string& out, std::string_view begin, std::string_view text,
                    std::string_view end);

void append_caption(std::string& out, const Caption& caption);

// A list with a name for readers of the screen; nothing without entries. The entries' texts are
// clean.
void append_legend(std::string& out, std::string_view label,
                   const std::vector<LegendEntry>& entries);

// JSON without "<", ">" and "&": it fits into a script element and into XML.
std::string script_json(std::string_view json);

}  // namespace memflame
