// SPDX-License-Identifier: BSD-2-Clause
// The page holds the tree of all stacks, as pages of profiles do, and the report's rows. Its script
// adds up the rows of what is selected and shows the tree with these figures.
#include "render/report/report_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "render/picture/assets.h"
#include "render/picture/caption.h"
#include "render/picture/data_block.h"
#include "render/picture/folded_runtime.h"
#include "render/picture/leak_paths.h"
#include "render/picture/legend.h"
#include "render/picture/packed.h"
#include "render/picture/page_parts.h"
#include "render/report/report_block.h"

namespace memflame {
namespace {

using Json = nlohmann::ordered_json;

std::string plain_text(const std::string& text) {
  uint64_t replaced = 0;
  return clean_text(text, replaced);
}

// What is known of the run beside rows; their numbers are in the block.
std::string report_facts(const Report& report, const FrameTree& sizes, const ReportLooks& looks) {
  Json facts{{"kind", report.kind == Report::Kind::blocks ? "blocks" : "changes"},
             {"file", plain_text(report.file)},
             {"icicle", looks.icicle},
             {"options", Json::array()},
             {"peak", report.peak},
             {"marks", Json::array()},
             {"gaps", Json::array()},
             {"lines", Json::array()},
             {"sums", Json::array()}};
  for (const std::string& word : looks.options) facts["options"].push_back(plain_text(word));
  for (const Report::Moment& mark : report.marks)
    facts["marks"].push_back({{"edge", mark.edge}, {"name", plain_text(mark.name)}});
  for (const Report::Gap& gap : report.gaps)
    facts["gaps"].push_back({{"from", gap.from}, {"until", gap.until}, {"events", gap.events}});
  const auto add_line = [&](const TimeLine& line, bool is_gauge) {
    Json one{{"name", plain_text(line.name)}, {"unit", name(line.type.unit)}, {"gauge", is_gauge}};
    if (line.type.decimals != 0) one["decimals"] = line.type.decimals;
    facts["lines"].push_back(std::move(one));
  };
  for (const TimeLine& line : report.lines.gauges) add_line(line, true);
  for (const TimeLine& line : report.lines.totals) add_line(line, false);
  for (const ReportSum& sum : report.sums) {
    Json one{
        {"name", plain_text(sum.name)}, {"bytes", std::to_string(sum.bytes)}, {"level", sum.level}};
    if (!sum.note.empty()) one["note"] = plain_text(sum.note);
    facts["sums"].push_back(std::move(one));
  }
  if (looks.live)
    facts["live"] = {{"version", looks.live->version}, {"ended", looks.live->has_ended}};
  // Whether some sum of rows may need more than 53 bits.
  constexpr double exact_doubles = 9007199254740992.0;
  std::vector<double> most(sizes.columns, 0);
  for (size_t i = 0; i < sizes.own.size(); ++i)
    most[i % sizes.columns] += static_cast<double>(sizes.own[i]);
  facts["big"] = std::ranges::any_of(most, [](double sum) { return sum >= exact_doubles; });
  return script_json(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The lines of a picture that are true of the whole run: what was watched, and what must be known
// to trust the figures, come first; the others have a section at the end. The figures of the
// selection are the script's.
struct RunLines {
  std::vector<Caption> head, notes;
};

RunLines lines_of_run(const Report& report, const CleanStrings& names) {
  Losses losses = report.profile.losses;
  losses.add(Loss::replaced_bytes, names.replaced);
  RunLines lines;
  std::vector<Caption> all = run_captions(report.profile.meta, {}, losses);
  for (size_t i = 0; i < all.size(); ++i)
    (i == 0 || all[i].tone == Tone::warning ? lines.head : lines.notes).push_back(all[i]);
  for (const std::string& note : report.profile.meta.notes) lines.notes.push_back({note});
  const auto is_empty = [](const Caption& line) { return line.text.empty(); };
  std::erase_if(lines.head, is_empty);
  std::erase_if(lines.notes, is_empty);
  return lines;
}

void append_head(std::string& page, const std::vector<Caption>& lines, const std::string& title) {
  page += "<header class=\"mf-head\">\n";
  append_element(page, "<h1>", title, "</h1>");
  for (const Caption& line : lines) append_caption(page, line);
  page += "</header>\n";
}

void append_legends(std::string& page, const DataSource& source, const FrameTree& tree) {
  // The shares of code depend on what is chosen, so they cannot explain its colours.
  std::vector<LegendEntry> colours = code_colours(source.palette);
  for (LegendEntry& entry : legend(source.profile, source.palette, tree.frame, false))
    colours.push_back(std::move(entry));
  for (LegendEntry& entry : leak_legend(source.profile)) colours.push_back(std::move(entry));
  append_legend(page, "colours", colours);
}

void append_notes(std::string& page, const std::vector<Caption>& lines) {
  if (lines.empty()) return;
  page += "<section class=\"mf-notes\">\n<h2>About this recording</h2>\n";
  for (const Caption& line : lines) append_caption(page, line);
  page += "</section>\n";
}

}  // namespace

std::string live_state(const LivePage& live) {
  return "{\"version\":" + std::to_string(live.version) +
         ",\"ended\":" + (live.has_ended ? "true" : "false") + "}\n";
}

std::string waiting_page(std::string_view why, bool has_ended) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">\n";
  if (!has_ended) page += "<meta http-equiv=\"refresh\" content=\"1\">\n";
  page += "<title>memflame</title>\n</head>\n<body>\n";
  append_element(page, "<p>", why, "</p>");
  return page + "</body>\n</html>\n";
}

void write_report(std::ostream& out, const Report& report, const ReportLooks& looks) {
  check_report(report);
  const RenderOptions options =
      resolved({.icicle = looks.icicle, .diff_width = WidthOf::shown}, report.profile);
  const Palette palette = palette_of(options);
  const Profile sizes = profile_of_sizes(report);
  RenderOptions with_all = options;
  with_all.runtime = Runtime::shown;  // the script folds
  const FoldedRuntime runtime(sizes, with_all);
  const Profile& profile = runtime.whole();
  const CleanStrings names = clean_strings(profile);
  const DataSource source{profile, options, palette, names};
  FrameTree tree =
      frame_tree(profile, Neighbours::by_name, width_of(profile, WidthOf::shown), LineNodes::apart);
  const std::string facts = report_facts(report, tree, looks);
  set_sums(tree, report);
  const std::vector<uint32_t> node_of_stack = std::move(tree.of_stack);
  const std::string title = !report.profile.meta.title.empty() ? report.profile.meta.title
                            : report.file.empty()              ? "Memory of this run"
                                                               : "Memory of " + report.file;

  const RunLines lines = lines_of_run(report, names);

  std::string page = page_begin(title, {.script = "report.js",
                                        .style = "report_page.css",
                                        .body = "mf-report-page",
                                        .fetches = looks.live.has_value()});
  page += "<main class=\"memflame mf-report\" data-alone=\"1\">\n";
  append_head(page, lines.head, title);
  page += "<section class=\"mf-ask\" aria-label=\"memory over time\"></section>\n";
  append_legends(page, source, tree);
  DataNodes nodes = data_nodes(std::move(tree), profile);
  nodes.native = runtime.native();
  page += "<div class=\"mf-app\"></div>\n<div class=\"mf-rest\"></div>\n";
  append_notes(page, lines.notes);
  page += "<noscript>The report is drawn by the script in this file.</noscript>\n";
  page += "<script type=\"application/json\" class=\"mf-about\">" + about_json(source, nodes);
  page += "</script>\n<script type=\"application/json\" class=\"mf-facts\">" + facts;
  page += "</script>\n<script type=\"text/plain\" class=\"mf-data\">\n";
  append_data(page, source, nodes);
  if (!nodes.lines.empty()) {
    page += "</script>\n<script type=\"text/plain\" class=\"mf-lines\">\n";
    append_lines(page, source, nodes);
  }
  page += "</script>\n<script type=\"text/plain\" class=\"mf-rows\">\n";
  append_packed(page, report_block(report, node_of_stack), options.threads);
  ((page += "</script>\n<script>") += asset("report.js")) +=
      "</script>\n</main>\n</body>\n</html>\n";
  out << page;
}

}  // namespace memflame
