// SPDX-License-Identifier: BSD-2-Clause
// SARIF 2.1.0 (OASIS), with what GitHub's code scanning requires of it: a rule, a message, and a
// location with a file and a line. What is suppressed is left out, because code scanning shows all
// results as alerts; run.properties has its sum.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/hex.h"
#include "render/leaks/leak_output.h"

namespace memflame {
namespace {

using Json = nlohmann::ordered_json;

bool is_shared_object(const std::string& module) {
  return module.ends_with(".so") || module.find(".so.") != std::string::npos;
}

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kept = "-._~/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || kept.find(c) != std::string_view::npos);
    if (is_plain)
      uri += c;
    else
      (((uri += '%') += digits[byte >> 4U])) += digits[byte & 15U];
  }
  return uri;
}

class Writer {
 public:
  explicit Writer(const LeakCheck& check) : check_(check) {
    std::error_code error;
    folder_ = std::filesystem::current_path(error).string() + "/";
  }

  Json document() const {
    Json run;
    run["tool"]["driver"] = driver();
    run["invocations"] = Json::array({invocation()});
    run["results"] = Json::array();
    for (const LeakCase& each : check_.cases)
      if (each.outcome == CaseOutcome::failed || each.outcome == CaseOutcome::known)
        run["results"].push_back(result(each));
    for (size_t i = 0; i < check_.sums.size(); ++i)
      run["properties"][std::string(outcome_names.at(i))] = {{"stacks", check_.sums.at(i).stacks},
                                                             {"bytes", check_.sums.at(i).bytes}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({run})}};
  }

 private:
  static std::string rule_id(const std::string& word) { return "leak/" + word; }

  Json driver() const {
    Json driver = {{"name", "memflame"}, {"version", check_.version}};
    driver["rules"] = Json::array();
    for (const LeakCheck::Rule& rule : check_.rules)
      driver["rules"].push_back(
          {{"id", rule_id(rule.word)},
           {"name", rule.word},
           {"shortDescription", {{"text", rule.meaning}}},
           {"fullDescription", {{"text", "Memory of one stack: " + rule.meaning + "."}}},
           {"help", {{"text", "memflame leaks --help and docs/leaks.md explain the verdicts."}}},
           {"defaultConfiguration", {{"level", "error"}}}});
    return driver;
  }

  Json invocation() const {
    Json notes = Json::array();
    const auto note = [&](const char* level, const std::string& text) {
      if (!text.empty()) notes.push_back({{"level", level}, {"message", {{"text", text}}}});
    };
    note("error", sum_in_words(check_));
    note("warning", unsure_in_words(check_));
    for (const std::string& doubt : check_.doubts) note("warning", "not certain: " + doubt);
    Json invocation = {{"executionSuccessful", true}, {"exitCode", check_.has_failed() ? 5 : 0}};
    if (!check_.source.empty()) invocation["commandLine"] = check_.source;
    if (!notes.empty()) invocation["toolExecutionNotifications"] = notes;
    return invocation;
  }

  // Paths below the working folder are relative, as those of a repository are.
  Json artifact(const std::string& path) const {
    if (path.starts_with(folder_) && folder_.size() > 1)
      return {{"uri", percent_encoded(std::string_view(path).substr(folder_.size()))},
              {"uriBaseId", "%SRCROOT%"}};
    return {{"uri", (path.starts_with('/') ? "file://" : "") + percent_encoded(path)}};
  }

  Json location(const LeakFrame& frame) const {
    Json location;
    if (!frame.file.empty())
      location["physicalLocation"] = {{"artifactLocation", artifact(frame.file)},
                                      {"region", {{"startLine", std::max(frame.line, 1U)}}}};
    location["logicalLocations"] =
        Json::array({{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
    return location;
  }

  // The innermost line of the program itself, else of any code. Without lines it is the beginning
  // of the file of code, because code scanning takes no result without a line.
  Json place(const LeakCase& each) const {
    const auto begin = each.frames.begin() +
                       static_cast<std::ptrdiff_t>(std::min(each.caller, each.frames.size()));
    const auto has_line = [](const LeakFrame& frame) { return !frame.file.empty(); };
    auto best = std::find_if(begin, each.frames.end(), [&](const LeakFrame& frame) {
      return has_line(frame) && !is_shared_object(frame.module);
    });
    if (best == each.frames.end()) best = std::find_if(begin, each.frames.end(), has_line);
    if (best != each.frames.end()) return location(*best);
    const auto program = std::find_if(begin, each.frames.end(), [](const LeakFrame& frame) {
      return !frame.module.empty() && !is_shared_object(frame.module);
    });
    const LeakFrame frame = program != each.frames.end() ? *program
                            : begin != each.frames.end() ? *begin
                                                         : LeakFrame{};
    Json location;
    location["physicalLocation"] = {
        {"artifactLocation",
         artifact(frame.module.empty() ? std::string("unknown") : frame.module)},
        {"region", {{"startLine", 1}}}};
    if (!frame.function.empty())
      location["logicalLocations"] =
          Json::array({{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
    return location;
  }

  Json stack(const LeakCase& each) const {
    Json frames = Json::array();
    for (const LeakFrame& frame : each.frames) {
      Json one = {{"location", location(frame)}};
      if (!frame.module.empty()) one["module"] = frame.module;
      frames.push_back(std::move(one));
    }
    return {{"message", {{"text", "where the blocks were allocated"}}}, {"frames", frames}};
  }

  // FNV-1a, which is the same in every run.
  static std::string fingerprint(const LeakCase& each) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&hash](std::string_view text) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      hash = (hash ^ 0xffU) * 0x100000001b3;
    };
    for (const LeakFrame& frame : each.frames) {
      add(frame.function);
      add(std::string_view(frame.module).substr(frame.module.rfind('/') + 1));
    }
    return hex(hash);
  }

  Json result(const LeakCase& each) const {
    Json result;
    result["ruleId"] = rule_id(each.rule);
    for (size_t i = 0; i < check_.rules.size(); ++i)
      if (check_.rules[i].word == each.rule) result["ruleIndex"] = i;
    result["level"] = each.outcome == CaseOutcome::failed ? "error" : "note";
    result["message"]["text"] = amount_in_words(each.live_bytes, each.live_blocks) + " in " +
                                (each.process.empty() ? "the kernel" : each.process) + ". " +
                                headline(each);
    result["locations"] = Json::array({place(each)});
    result["stacks"] = Json::array({stack(each)});
    result["partialFingerprints"]["memflameStack/v1"] = fingerprint(each);
    if (!check_.baseline.empty())
      result["baselineState"] = each.outcome == CaseOutcome::known ? "unchanged"
                                : each.is_worse                    ? "updated"
                                                                   : "new";
    result["properties"] = {{"bytes", each.live_bytes},
                            {"blocks", each.live_blocks},
                            {"leakedBytes", each.leaked_bytes},
                            {"leakedBlocks", each.leaked_blocks}};
    if (each.reach) {
      result["properties"]["lostBytes"] = each.reach->lost().bytes;
      result["properties"]["lostBlocks"] = each.reach->lost().blocks;
    }
    if (each.rate) result["properties"]["bytesPerSecond"] = each.rate->value;
    return result;
  }

  const LeakCheck& check_;
  std::string folder_;
};

}  // namespace

void write_leaks_sarif(std::ostream& out, const LeakCheck& check) {
  out << Writer(check).document().dump(2) << "\n";
}

}  // namespace memflame
