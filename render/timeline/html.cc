// SPDX-License-Identifier: BSD-2-Clause
// The picture in a page with its figures as JSON, and one script that shows those below the
// pointer. The script and the style are the same in every page, so that the page's policy names
// them by their hashes.
#include <sstream>

#include "render/picture/assets.h"
#include "render/picture/page_parts.h"
#include "render/text/clean_text.h"
#include "render/timeline/svg_plots.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

std::string timeline_data(const Timeline& timeline, const TimelineLooks& looks) {
  std::ostringstream json;
  write_timeline_json(json, timeline, looks);
  return script_json(json.str());
}

}  // namespace

void write_timeline_html(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks) {
  uint64_t replaced = 0;
  std::string page =
      page_begin(clean_text(timeline_title(timeline), replaced),
                 {.script = "timeline.js", .style = "timeline_page.css", .body = "mf-timeline"});
  page += "<main>\n";
  append_timeline_svg(page, timeline, looks, false);
  page +=
      "</main>\n<p class=\"mf-help\">Point at a time, or use the arrow keys: the lines show their "
      "values then.</p>\n<script type=\"application/json\" class=\"mf-lines\">" +
      timeline_data(timeline, looks);
  ((page += "</script>\n<script>") += asset("timeline.js")) += "</script>\n</body>\n</html>\n";
  out << page;
}

}  // namespace memflame
