// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/page_parts.h"

#include "render/picture/assets.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr std::string_view paragraph(Tone tone) {
  switch (tone) {
    case Tone::figure:
      return "<p>";
    case Tone::warning:
      return "<p class=\"warning\">";
    case Tone::leak:
      return "<p class=\"leak\">";
    case Tone::detail:
      break;
  }
  return "<p class=\"detail\">";
}

}  // namespace

std::string page_begin(std::string_view title, const PageAssets& assets) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"generator\" content=\"memflame\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      page_policy(assets.script, assets.style, assets.fetches) + "\">\n";
  append_element(page, "<title>", title, "</title>");
  ((page += "<style>") += asset(assets.style)) += "</style>\n</head>\n<body class=\"";
  (page += assets.body) += "\">\n";
  return page;
}

void append_element(std::string& out, std::string_view begin, std::string_view text,
                    std::string_view end) {
  uint64_t replaced = 0;
  out += begin;
  append_xml(out, clean_text(text, replaced));
  (out += end) += '\n';
}

void append_caption(std::string& out, const Caption& caption) {
  append_element(out, paragraph(caption.tone), caption.text, "</p>");
}

// Colours are attributes, not styles, because a strict policy forbids inline styles.
void append_legend(std::string& out, std::string_view label,
                   const std::vector<LegendEntry>& entries) {
  if (entries.empty()) return;
  ((out += "<ul class=\"mf-legend\" aria-label=\"") += label) += "\">\n";
  for (const LegendEntry& entry : entries) {
    out += "<li";
    if (!entry.tooltip.empty()) {
      out += " title=\"";
      append_xml(out, entry.tooltip);
      out += '"';
    }
    out += '>';
    if (entry.colour)
      out += "<svg aria-hidden=\"true\"><rect width=\"11\" height=\"11\" rx=\"2.5\" fill=\"" +
             hex(*entry.colour) + "\"/></svg>";
    append_xml(out, entry.label);
    out += "</li>\n";
  }
  out += "</ul>\n";
}

std::string script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

}  // namespace memflame
