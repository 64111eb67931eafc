// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_lines.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/hex.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Amount& amount) {
  Json json = {{"bytes", amount.bytes}, {"blocks", amount.blocks}};
  if (amount.bytes_variance > 0) json["bytes_error"] = std::sqrt(amount.bytes_variance);
  if (amount.blocks_variance > 0) json["blocks_error"] = std::sqrt(amount.blocks_variance);
  return json;
}

// Without enough looks an interval is as wide as numbers are, which says nothing.
Json json_of(const Interval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

Json json_of(const Verdict& verdict) {
  Json json = {{"kind", name(verdict.kind)},
               {"growth", name(verdict.growth)},
               {"sentence", in_words(verdict)},
               {"bytes_per_second", json_of(verdict.rate)},
               {"live_growth_per_second", json_of(verdict.live_growth)},
               {"steady", verdict.is_steady},
               {"process_ended", verdict.ended},
               {"survivors", verdict.survivors},
               {"survivor_bytes", verdict.survivor_bytes},
               {"survivor_share", verdict.leaked_share},
               {"oldest_s", verdict.oldest_s},
               {"watched_s", verdict.watched_s}};
  // By growth alone, nobody knows which blocks stay, and how old they are.
  if (verdict.is_collected)
    for (const char* field :
         {"steady", "survivors", "survivor_bytes", "survivor_share", "oldest_s"})
      json.erase(field);
  if (verdict.kind == VerdictKind::cannot_tell) json["watch_longer_s"] = verdict.wait_s;
  return json;
}

Json json_of(const ReachSums& sums) {
  const auto count = [](const ReachCount& sum) {
    return Json{{"bytes", sum.bytes}, {"blocks", sum.blocks}};
  };
  Json json = {{"lost", count(sums.lost())},
               {"indirect", count(sums.indirect)},
               {"reachable", count(sums.reachable)},
               {"cannot_tell", count(sums.unknown)},
               {"exact", sums.is_exact}};
  if (!sums.why_unknown.empty()) json["cannot_tell"]["reason"] = clean_text(sums.why_unknown);
  return json;
}

Json json_of(const FleetGrowth& figures) {
  return {{"verdict", figures.verdict},
          {"version", clean_text(figures.version)},
          {"hosts", figures.hosts},
          {"growing_hosts", figures.growing_hosts},
          {"bytes_per_hour", figures.bytes_per_hour}};
}

Json json_of(const ReportedReach& reach) {
  Json json = json_of(reach.sums);
  json["scanned"] = Json::array();
  for (const ScanFacts& scan : reach.scanned) {
    Json one = {{"pid", scan.pid},
                {"stopped_s", scan.stopped_s},
                {"exact", scan.is_exact},
                {"bytes_read", scan.bytes_read},
                {"bytes_unread", scan.bytes_unread}};
    if (!scan.why_not.empty()) one["not_scanned"] = clean_text(scan.why_not);
    json["scanned"].push_back(std::move(one));
  }
  return json;
}

std::string_view name_of(Reach reach) {
  constexpr std::array names{"cannot tell", "lost", "indirect", "reachable"};
  return names.at(static_cast<size_t>(reach));
}

Json json_of(const ReportedStack& stack) {
  Json json = json_of(stack.amount);
  if (stack.before) {
    json["bytes_before"] = stack.before->bytes;
    json["blocks_before"] = stack.before->blocks;
  }
  json["process"] = clean_text(stack.process);
  if (stack.judged) json["verdict"] = json_of(*stack.judged);
  if (stack.fleet) json["fleet"] = json_of(*stack.fleet);
  if (stack.reach) json["reach"] = json_of(*stack.reach);
  json["frames"] = Json::array();
  for (const std::string& frame : stack.frames) json["frames"].push_back(clean_text(frame));
  if (!stack.blocks.empty()) {
    json["shown"] = Json::array();
    for (const SnapshotBlock& block : stack.blocks) {
      json["shown"].push_back({{"address", hex(block.address)},
                               {"bytes", block.size},
                               {"age_s", static_cast<double>(block.age_ns) / 1e9}});
      if (stack.reach) json["shown"].back()["reach"] = name_of(block.reach);
    }
    json["not_shown"] = stack.blocks_left_out;
  }
  return json;
}

Json json_of(const Losses& losses) {
  Json json = Json::object();
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    if (count.events == 0 && count.bytes == 0) continue;
    const LossKind kind = loss_info[i].kind;
    json[std::string(loss_info[i].name)] = {{"kind", kind == LossKind::missing ? "lost"
                                                     : kind == LossKind::cut   ? "cut"
                                                                               : "news"},
                                            {"events", count.events},
                                            {"bytes", count.bytes}};
  }
  return json;
}

}  // namespace

bool is_json_lines(std::string_view format, std::string_view output) {
  return format == "jsonl" || (format.empty() && output.ends_with(".jsonl"));
}

std::string report_line(const LeaksReport& report) {
  Json json = {{"format", "memflame-leaks"},
               {"version", 1},
               {"clock", clean_text(report.clock)},
               {"seconds", report.seconds},
               {"live", json_of(report.live)},
               {"older_than_s", static_cast<double>(report.older_ns) / 1e9},
               {"old", json_of(report.old)},
               {"stacks", report.stacks},
               {"order", report.order},
               {"verdicts", report.verdicts},
               {"sampling", clean_text(report.sampling)},
               {"lost_events", report.losses.lost_events()},
               {"losses", json_of(report.losses)},
               {"unseen_frees", report.unseen_frees}};
  if (report.reach) json["reach"] = json_of(*report.reach);
  json["notes"] = Json::array();
  for (const std::string& note : report.notes) json["notes"].push_back(clean_text(note));
  json["top"] = Json::array();
  for (const ReportedStack& stack : report.top) json["top"].push_back(json_of(stack));
  return json.dump() + "\n";
}

}  // namespace memflame
