// SPDX-License-Identifier: BSD-2-Clause
#include "render/leaks/leak_output.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/units.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr LeakOutput leak_table[] = {
#define OUTPUT(name, suffix, help) {#name, suffix, help, write_leaks_##name},
#include "render/leaks/leak_outputs.def"
#undef OUTPUT
};

// C++ names may have thousands of letters.
constexpr size_t longest_name = 200;

void clean(std::string& text) {
  uint64_t replaced = 0;
  text = clean_text(text, replaced);
}

std::string short_name(const std::string& name) {
  const std::string_view first = first_letters(name, longest_name);
  return first.size() == name.size() ? name : std::string(first) + "…";
}

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string line_of(const LeakFrame& frame) {
  std::string text = short_name(frame.function);
  if (frame.is_inlined) text += " (inlined)";
  if (!frame.file.empty()) text += "  " + base_of(frame.file) + ":" + std::to_string(frame.line);
  if (!frame.module.empty()) text += " [" + base_of(frame.module) + "]";
  return text;
}

bool fails_as_lost(const LeakCase& each) {
  return each.rule == "lost" && each.reach && each.reach->lost().blocks != 0;
}

}  // namespace

std::span<const LeakOutput> leak_outputs() { return leak_table; }

const LeakOutput& leak_output_for(std::string_view path) {
  std::string known;
  for (const LeakOutput& output : leak_table) {
    if (path.size() > output.suffix.size() && path.ends_with(output.suffix)) return output;
    known += (known.empty() ? "" : ", ") + std::string(output.suffix) + " (" +
             std::string(output.name) + ")";
  }
  throw Error("--report " + std::string(path) + ": the suffix decides the form: " + known,
              ExitCode::usage);
}

LeakCheck cleaned(LeakCheck check) {
  clean(check.source);
  clean(check.baseline);
  for (std::string& text : check.conditions) clean(text);
  for (std::string& text : check.doubts) clean(text);
  for (SuppressionUse& use : check.suppressions) {
    clean(use.pattern);
    clean(use.origin);
  }
  for (LeakCase& each : check.cases) {
    clean(each.process);
    clean(each.reason);
    clean(each.sentence);
    if (each.reach) clean(each.reach->why_unknown);
    for (LeakFrame& frame : each.frames)
      for (std::string* text : {&frame.function, &frame.module, &frame.file}) clean(*text);
  }
  return check;
}

bool is_listed(const LeakCase& each) {
  return each.outcome != CaseOutcome::passed || each.live_bytes != 0 || each.live_blocks != 0;
}

std::string amount_in_words(int64_t bytes, int64_t blocks) {
  return iec_bytes(bytes) + " in " + with_commas(blocks) + (blocks == 1 ? " block" : " blocks");
}

std::vector<std::string> frame_lines(const LeakCase& each) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < each.frames.size(); ++i)
    if (i == 0 || i >= each.caller) lines.push_back(line_of(each.frames[i]));
  return lines;
}

std::vector<std::string> reach_lines(const LeakCase& each) {
  std::vector<std::string> lines;
  if (each.reach) lines = in_words(*each.reach);
  // It is in the headline.
  if (fails_as_lost(each)) lines.erase(lines.begin());
  return lines;
}

std::string headline(const LeakCase& each) {
  std::string text = each.sentence;
  if (fails_as_lost(each)) text = in_words(*each.reach).front() + "; " + text;
  if (each.is_worse) text += "; worse than in the baseline";
  return text;
}

std::string sum_in_words(const LeakCheck& check) {
  if (!check.leaked_too_much()) return "";
  return "leaked in all: " + amount_in_words(check.leaked_bytes, check.leaked_blocks) +
         ", more than the " + iec_bytes(*check.most_leaked) + " of --fail-if-leaked";
}

std::string unsure_in_words(const LeakCheck& check) {
  const LeakCheck::Sum& sum = check.sum(CaseOutcome::unsure);
  if (sum.stacks == 0) return "";
  double wait_s = 0;
  for (const LeakCase& each : check.cases)
    if (each.outcome == CaseOutcome::unsure) wait_s = std::max(wait_s, each.wait_s);
  return "cannot tell yet: " + with_commas(static_cast<int64_t>(sum.stacks)) +
         (sum.stacks == 1 ? " stack, " : " stacks, ") + amount_in_words(sum.bytes, sum.blocks) +
         (wait_s > 0 ? "; watch at least " + with_commas(static_cast<int64_t>(std::ceil(wait_s))) +
                           " s longer"
                     : "");
}

}  // namespace memflame
