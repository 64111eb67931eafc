// SPDX-License-Identifier: BSD-2-Clause
// The picture in a page with its figures as JSON, and one script that shows those below the
// pointer. The script and the style are the same in every page, so that the page's policy names
// them by their hashes.
#include <sstream>

#include "render/picture/assets.h"
#include "render/text/clean_text.h"
#include "render/timeline/svg_plots.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

// JSON that no end of an element can hide in.
std::string timeline_data(const Timeline& timeline, const TimelineLooks& looks) {
  std::ostringstream json;
  write_timeline_json(json, timeline, looks);
  std::string out;
  for (const char c : json.str()) {
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

}  // namespace

void write_timeline_html(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks) {
  uint64_t replaced = 0;
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"generator\" content=\"memflame\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      page_policy("timeline.js", "timeline_page.css") + "\">\n<title>";
  append_xml(page, clean_text(timeline_title(timeline), replaced));
  ((page += "</title>\n<style>") += asset("timeline_page.css")) +=
      "</style>\n</head>\n<body class=\"mf-timeline\">\n<main>\n";
  append_timeline_svg(page, timeline, looks, false);
  page +=
      "</main>\n<p class=\"mf-help\">Point at a time, or use the arrow keys: the lines show their "
      "values then.</p>\n<script type=\"application/json\" class=\"mf-lines\">" +
      timeline_data(timeline, looks);
  ((page += "</script>\n<script>") += asset("timeline.js")) += "</script>\n</body>\n</html>\n";
  out << page;
}

}  // namespace memflame
